"""Agents are stopped and started again from their first prompts."""

from __future__ import annotations

import shutil

import pytest

from fleet_tui.fleet import Fleet
from tests.cli.commands import FLEET, Cli, cli, prints, project
from tests.conftest import processes_of
from tests.terminal.host_terminal import Host

__all__ = ["cli", "project"]


def test_restart_begins_anew_from_the_first_prompt_in_the_same_worktree(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "fix:first", "other:second")
    before = fleet.find("fix")
    prints(fleet, before, "argument: first")

    ran = cli("restart", "fix")
    assert (ran.code, ran.complaint.endswith("(confirm with -f)")) == (2, True)
    assert cli.ok("restart", "-f", "fix", "o*").split()[0] == "fix"

    after = fleet.find("fix")
    assert (after.run, after.worktree, after.id) == (2, before.worktree, before.id)
    assert after.pid != before.pid
    prints(fleet, after, "argument: first")
    prints(fleet, fleet.find("other"), "argument: second")
    cli.ok("stop", "fix")
    cli.ok("restart", "-f", "fix")
    assert processes_of(fleet.find("fix")), "an ended one is started again, too"
    assert (cli("restart", "-f", "nobody").code, cli("restart").code) == (3, 2)
    cli.ok("kill", "-f", "fix")
    assert cli("restart", "-f", "fix").code == 3


@pytest.mark.slow
def test_an_agent_that_cannot_be_restarted_does_not_keep_others_from_it(cli: Cli, fleet: Fleet) -> None:
    cli.ok("multi", "gone:x", "other:x")
    shutil.rmtree(fleet.find("gone").worktree)

    ran = cli("restart", "-f", "gone", "other")

    assert ran.code != 0
    assert "gone" in ran.complaint
    assert "; restarted: other" in ran.complaint
    assert fleet.find("other").run == 2


def test_restart_of_an_untrusted_project_stops_nothing(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")
    agent = fleet.find("fix")
    (cli.project / ".aifleet").mkdir()
    (cli.project / ".aifleet" / "config.toml").write_text("[setup]\ncommands = ['true']\n[env]\nA = 'b'\n")

    ran = cli("restart", "-f", "fix")

    assert ran.code == 4, ran
    assert fleet.find("fix").run == 1
    assert processes_of(agent)
    cli.ok("restart", "-f", "fix", "--ignore-project-config")
    assert fleet.find("fix").run == 2


@pytest.mark.slow
def test_on_a_terminal_restart_asks_and_respects_a_no(cli: Cli, fleet: Fleet) -> None:
    cli.ok("create", "fix")

    with Host([FLEET, "restart", "fix"], cols=120) as host:
        host.pump(host.shows("Restart fix from its first prompt? (worktrees stay)"))
        host.type(b"n\n")
        host.pump(host.shows("fleet: cancelled, nothing changed"))
        assert host.pump_until_ended() == 1
    assert fleet.find("fix").run == 1
