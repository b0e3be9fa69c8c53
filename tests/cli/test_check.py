"""`fleet check`: what it prints, its exit codes, and when it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.cli.commands import Cli, cli, project
from tests.holder.holders import wait_until

__all__ = ["cli", "project"]


@pytest.fixture
def agents(fleet: Fleet, project: Path) -> list[Agent]:
    return fleet.multi([("one", "exec cat"), ("two", "exec cat")], profile="shell")


def set_check(cli: Cli, command: str) -> None:
    cli.ok("config", "set", "land.check", command)


def test_checks_are_green_or_red_and_the_exit_code_says_whether_all_are_green(
    cli: Cli, agents: list[Agent]
) -> None:
    (Path(agents[1].worktree) / "broken").write_text("x\n")
    set_check(cli, "echo tested; test ! -e broken")

    ran = cli("check", "*")

    assert ran.code == 1
    first, second = (line.split() for line in ran.out.splitlines())
    assert (first[:3], second[:3]) == (["✓", "one", "passed"], ["✗", "two", "failed"])
    assert cli("check", "one").code == 0
    assert cli.ok("check", "one", "--output") == "tested\n"
    assert cli("check", "two", "--show").code == 1


def test_a_check_without_a_command_says_how_to_set_one(cli: Cli, agents: list[Agent]) -> None:
    ran = cli("check", "one")

    assert ran.code == 4
    assert ran.complaint == (
        'fleet: this project has no check command (set one: fleet config set land.check "make test")'
    )


def test_an_untrusted_command_is_refused_without_a_terminal(
    cli: Cli, agents: list[Agent], project: Path
) -> None:
    file = paths.project_config(project)
    file.parent.mkdir(exist_ok=True)
    file.write_text('[land]\ncheck = "true"\n')

    ran = cli("check", "one")

    assert ran.code == 4
    assert "land.check" in ran.complaint


def test_detached_checks_go_on_and_can_be_cancelled(cli: Cli, fleet: Fleet, agents: list[Agent]) -> None:
    set_check(cli, "echo begun; exec sleep 1000")

    assert "waiting" in cli.ok("check", "one", "--detach")
    wait_until(lambda: "begun" in cli.ok("check", "one", "--output"), "output")

    assert "running" in cli("check", "one", "--show").out
    assert "cancelled" in cli.ok("check", "*", "--cancel")
    assert cli.ok("check", "one", "--cancel") == ""
