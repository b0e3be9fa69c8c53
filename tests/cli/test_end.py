"""Agents are stopped, killed and restored."""

from __future__ import annotations

import json

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.cli.commands import FLEET, Cli, cli, project
from tests.conftest import processes_of
from tests.terminal.host_terminal import Host

__all__ = ["cli", "project"]


def test_stop_kill_trash_undo_and_revive_report_what_they_did(cli: Cli, fleet: Fleet) -> None:
    cli.ok("fanout", "2", "x", "-p", "hello")
    batch = fleet.find("x-A").batch

    assert cli.ok("stop", "-b", batch).split() == ["x-A", "stopped", "x-B", "stopped"]
    assert cli.ok("kill", "-f", "-b", batch).splitlines() == [
        "x-A  killed, worktree in the trash, branch x-A kept",
        "x-B  killed, worktree in the trash, branch x-B kept",
    ]
    ran = cli("undo")
    assert [line.split()[:2] for line in ran.out.splitlines()] == [["x-A", "stopped"], ["x-B", "stopped"]]
    assert "fleet revive x-A" in ran.err
    assert "fleet revive x-B" in ran.err
    cli.ok("kill", "-f", "-b", batch)
    assert "2 in the trash" in cli.ok("trash")
    again = cli("kill", "-f", "x-A")
    assert (again.code, "fleet undo x-A" in again.complaint) == (3, True)
    assert [one["name"] for one in json.loads(cli.ok("trash", "--json"))] == ["x-A", "x-B"]
    ran = cli("undo", "x-A")
    assert ran.out.split()[:2] == ["x-A", "stopped"]
    assert "fleet revive x-A" in ran.err
    assert cli.ok("revive", "x-A").split()[0] == "x-A"
    assert processes_of(fleet.find("x-A"))

    refused = cli("trash", "--empty")
    assert (refused.code, "--force" in refused.complaint) == (2, True)
    assert "x-B  deleted" in cli.ok("trash", "--empty", "--force")
    assert cli.ok("trash", "--empty") == "The trash is empty\n"
    assert cli("undo").code == 3
    cli.ok("kill", "-f", "x-A")
    assert "fleet undo" in cli.ok("list")


@pytest.mark.slow
def test_kill_asks_on_a_terminal_and_respects_a_no(
    cli: Cli, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8:strict")
    cli.ok("multi", "a:x", "b:x")

    with Host([FLEET, "kill", "*"]) as host:
        host.pump(host.shows("Kill 2 agents (a, b)?"))
        host.type(b"n\n")
        host.pump(host.shows("fleet: cancelled, nothing changed"))
        assert host.pump_until_ended() == 1
    assert all(processes_of(agent) for agent in fleet.agents())
    with Host([FLEET, "kill", "a"]) as host:
        host.pump(host.shows("Kill a?"))
        host.type(b"\xff what\n")
        host.pump(host.shows("fleet: that is no answer (answer y or n)"))
        host.type(b"\n")
        host.pump(host.shows("a  killed"))
    assert fleet.find("a").status is Status.KILLED
