"""What the dashboard's watch gathers of agents that are in no store: last lines, and how much they print."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from fleet_tui.errors import Refused
from fleet_tui.faces.observer.diff_counts import DIFF_SECONDS, STILL_DIFF_SECONDS, UNASKED_SHARE, DiffCounts
from fleet_tui.faces.observer.holder_lines import HolderLines
from fleet_tui.faces.observer.output_rates import OutputRates
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.holder import wire
from fleet_tui.holder.session import Session
from fleet_tui.models import Agent, Status
from tests.holder.holders import wait_until
from tests.tui import fleet_states


def test_the_last_line_of_a_quiet_agent_is_known_as_soon_as_one_listens(fleet: Fleet) -> None:
    agent = fleet.create("quiet", profile="shell", prompt="echo all is said; exec sleep 1000")
    wait_until(lambda: "all is said" in "\n".join(fleet.peek(agent)))
    listened = HolderLines()

    def is_known() -> bool:
        listened.connect([fleet.find("quiet")], time.monotonic())
        listened.has_news = False
        listened.wait(time.monotonic() + 0.1)
        return listened.lines.get(agent.id) == "all is said"

    try:
        wait_until(is_known)
    finally:
        listened.connect([], time.monotonic())


def test_a_line_that_the_terminal_wrapped_is_whole_in_the_row_and_in_the_log(fleet: Fleet) -> None:
    said = " ".join(["a line wider than the terminal, its end is mod"] * 8)
    agent = fleet.create("wide", profile="shell", prompt=f"echo {said}; exec sleep 1000")
    wait_until(lambda: "is mod" in "".join(fleet.peek(agent)))
    assert max(map(len, fleet.peek(agent))) < len(said), "the terminal wraps it"
    listened = HolderLines()

    def is_known() -> bool:
        listened.connect([fleet.find("wide")], time.monotonic())
        listened.has_news = False
        listened.wait(time.monotonic() + 0.1)
        return listened.lines.get(agent.id) == said

    try:
        wait_until(is_known)
    finally:
        listened.connect([], time.monotonic())
    assert fleet.logs(agent, 5)[-1] == said


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
    outputs = OutputRates(lambda _agent: tmp_path)
    log = tmp_path / f"out.{0:020d}.log"
    log.write_bytes(b"x" * 1000)
    outputs.sample(["a"], {"a": 1.0}, 10.0)
    log.write_bytes(b"x" * 5000)
    outputs.sample(["a"], {"a": 2.0}, 12.0)
    outputs.sample(["a"], {"a": 2.0}, 13.0)

    assert outputs.history("a") == pytest.approx((2000.0, 0.0))
    assert outputs.history("another agent") == ()


def test_an_agent_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    outputs = OutputRates(lambda _agent: tmp_path)
    outputs.sample(["a"], {"a": 1.0}, 10.0)
    outputs.sample(["a"], {"a": 2.0}, 11.0)
    outputs.sample([], {}, 12.0)

    assert outputs.history("a") == ()


# ── lines added and removed ─────────────────────────────────────────────────────────────────────────────────────


def asked(
    diffs: DiffCounts, now: float, *agents: Agent, selected: str = "", printed: float = 0.0
) -> list[str]:
    """The names of the agents to count; empties the queue."""
    found = diffs.ask(agents, {agent.id: printed for agent in agents}, now, selected)
    diffs._waiting.clear()
    return [agent.name for agent in found]


ONE = fleet_states.agent("one", Status.WORKING, batch="b")
OTHER = fleet_states.agent("other", Status.WORKING, batch="b")
MADE = replace(ONE, status=Status.SETUP, started_at=None)


def test_an_agent_is_not_counted_before_it_is_made(tmp_path: Path) -> None:
    diffs = DiffCounts(lambda: Fleet(tmp_path))

    assert asked(diffs, 0.0, MADE) == []
    assert asked(diffs, 9.0, replace(MADE, started_at=1.0)) == [], "its setup may still write files"
    assert asked(diffs, 9.0, replace(MADE, status=Status.FAILED)) == [], "it never was"
    assert asked(diffs, 10.0, replace(ONE, status=Status.STARTING)) == ["one"]


def test_an_agent_is_counted_again_when_it_prints_or_changes_its_status(tmp_path: Path) -> None:
    diffs = DiffCounts(lambda: Fleet(tmp_path))

    assert asked(diffs, 0.0, ONE) == ["one"]
    assert asked(diffs, 1.0, ONE, printed=1.0) == [], "not so soon"
    assert asked(diffs, DIFF_SECONDS, ONE, printed=1.0) == ["one"]
    assert asked(diffs, 3 * DIFF_SECONDS, ONE, printed=1.0) == []
    done = replace(ONE, status=Status.DONE)
    assert asked(diffs, 3 * DIFF_SECONDS, done, printed=1.0) == ["one"]


def test_silent_changes_are_noticed_sooner_in_the_selected_agent(tmp_path: Path) -> None:
    diffs = DiffCounts(lambda: Fleet(tmp_path))
    assert asked(diffs, 0.0, ONE, OTHER) == ["one", "other"]

    assert asked(diffs, DIFF_SECONDS, ONE, OTHER, selected=OTHER.id) == ["other"]
    ended = replace(ONE, status=Status.EXITED)
    assert asked(diffs, DIFF_SECONDS, ended, selected=OTHER.id) == ["one"]
    later = DIFF_SECONDS + STILL_DIFF_SECONDS
    assert asked(diffs, later, ended) == [], "an ended agent changes nothing"
    assert asked(diffs, later, OTHER) == ["other"]


def test_no_agent_is_queued_twice_and_one_without_news_waits_for_its_rest(tmp_path: Path) -> None:
    diffs = DiffCounts(lambda: Fleet(tmp_path))

    assert diffs.ask([ONE], {}, 0.0) == [ONE]
    assert diffs.ask([ONE], {ONE.id: 9.0}, 2 * STILL_DIFF_SECONDS) == [], "it still waits"
    assert diffs.ask([OTHER], {}, 2 * STILL_DIFF_SECONDS) == [OTHER]


@pytest.mark.slow
def test_counting_agents_without_news_takes_little_of_the_time(fleet: Fleet, tmp_path: Path) -> None:
    agent = fleet.create("quiet", profile="shell", prompt="exec sleep 1000")
    diffs = DiffCounts(lambda: Fleet(tmp_path))
    begin = time.monotonic()
    diffs.ask([agent], {}, begin - STILL_DIFF_SECONDS)
    diffs.count(fleet, agent)
    took = time.monotonic() - begin

    assert diffs.counts == {agent.id: (0, 0)}
    assert diffs.ask([agent], {}, time.monotonic()) == []
    assert diffs.ask([agent], {}, time.monotonic() + took / UNASKED_SHARE) == [agent]
