"""What the dashboard's watch gathers of agents that are in no store: last lines, and how much they print."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from fleet_tui import wire
from fleet_tui.errors import Refused
from fleet_tui.fleet import Fleet
from fleet_tui.session import Session
from fleet_tui.tui.lookout import Outputs, Tails
from tests.holders import wait_until


def test_the_last_line_of_a_quiet_agent_is_known_as_soon_as_one_listens(fleet: Fleet) -> None:
    agent = fleet.create("quiet", profile="shell", prompt="echo all is said; exec sleep 1000")
    wait_until(lambda: "all is said" in "\n".join(fleet.peek(agent.id)))
    tails = Tails()

    def is_known() -> bool:
        tails.connect([fleet.find("quiet")], time.monotonic())
        tails.is_stirred = False
        tails.listen(time.monotonic() + 0.1)
        return tails.lines.get(agent.id) == "all is said"

    try:
        wait_until(is_known)
    finally:
        tails.connect([], time.monotonic())


def test_what_comes_together_with_the_welcome_is_not_lost() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(wire.pack("welcome", v=wire.VERSION) + wire.pack("tail", lines=["all is said"]))
        session = Session(ours, "quiet")._greeted("reader", 0, 0, 0.0, time.monotonic() + 5.0)

        assert [message["lines"] for message in session.arrived()] == [["all is said"]]
        assert session.arrived() == []


def test_a_holder_of_an_earlier_version_is_not_asked_what_it_does_not_know() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(wire.pack("welcome", v=1))
        session = Session(ours, "old")._greeted("reader", 0, 0, 0.0, time.monotonic() + 5.0)

        with pytest.raises(Refused, match="earlier"):
            session.ask("respond", choice="1")


def test_what_an_agent_prints_is_counted_a_second_and_silence_is_nothing(tmp_path: Path) -> None:
    outputs = Outputs(lambda _agent: tmp_path)
    log = tmp_path / f"out.{0:020d}.log"
    log.write_bytes(b"x" * 1000)
    outputs.sample(["a"], {"a": 1.0}, 10.0)
    log.write_bytes(b"x" * 5000)
    outputs.sample(["a"], {"a": 2.0}, 12.0)
    outputs.sample(["a"], {"a": 2.0}, 13.0)

    assert outputs.past("a") == pytest.approx((2000.0, 0.0))
    assert outputs.past("somebody else") == ()


def test_an_agent_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    outputs = Outputs(lambda _agent: tmp_path)
    outputs.sample(["a"], {"a": 1.0}, 10.0)
    outputs.sample(["a"], {"a": 2.0}, 11.0)
    outputs.sample([], {}, 12.0)

    assert outputs.past("a") == ()
