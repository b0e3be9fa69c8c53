"""`fleet compare`: its table, its reasons, when it runs checks, and keeping one agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from tests.cli.commands import Cli, cli, project

__all__ = ["cli", "project"]


@pytest.fixture
def batch(fleet: Fleet, project: Path) -> list[Agent]:
    made = fleet.fanout(3, "auth", prompt="exec cat", profile="shell")
    for agent, lines in zip(made, (3, 1, 2), strict=True):
        (Path(agent.worktree) / "work.txt").write_text("x\n" * lines)
    return made


def places(text: str) -> list[str]:
    """Place and name of each row of the table."""
    return [" ".join(line.split()[:2]) for line in text.splitlines() if line[:1].isdigit()]


def test_a_batch_is_listed_best_first_with_reasons(cli: Cli, batch: list[Agent]) -> None:
    out = cli.ok("compare", "auth", "--no-check")

    assert out.startswith(
        "auth: 3 agents, one prompt, onto main\norder: checks, then conflicts, then size, then cost\n"
    )
    assert places(out) == ["1 auth-B", "2 auth-C", "3 auth-A"]
    assert "smallest diff, merges clean" in out
    assert "B leads:\n" in out
    assert "- all change work.txt\n" in out
    assert "- A and B conflict in work.txt\n" in out
    assert places(cli.ok("compare", "auth-C", "--no-check", "--sort", "name")) == [
        "3 auth-A",
        "1 auth-B",
        "2 auth-C",
    ]
    assert places(cli.ok("compare", "auth-A", "auth-C", "--no-check")) == ["1 auth-C", "2 auth-A"]


@pytest.mark.slow
def test_only_work_that_changed_since_its_check_is_checked_again(
    cli: Cli, fleet: Fleet, batch: list[Agent], tmp_path: Path
) -> None:
    cli.ok("config", "set", "land.check", f"pwd >>{tmp_path}/ran; test $(wc -l <work.txt) -gt 1")

    first = cli.ok("compare", "auth")
    (Path(batch[1].worktree) / "work.txt").write_text("x\n" * 9)
    second = cli.ok("compare", "auth")

    assert places(first) == ["1 auth-C", "2 auth-A", "3 auth-B"]
    assert places(second) == ["1 auth-C", "2 auth-A", "3 auth-B"]
    assert "the check fails" in first
    assert "the check fails" not in second
    assert len((tmp_path / "ran").read_text().splitlines()) == 4
    cli.ok("compare", "auth", "--check")
    assert len((tmp_path / "ran").read_text().splitlines()) == 7


def test_without_a_check_command_agents_are_compared_and_the_reason_is_named(
    cli: Cli, batch: list[Agent]
) -> None:
    ran = cli("compare", "auth")

    assert ran.code == 0
    assert ran.complaint.startswith("fleet: not checked: this project has no check command")
    assert cli("compare", "auth", "--check").code == 4


def test_keeping_one_needs_a_yes_and_can_be_undone(cli: Cli, fleet: Fleet, batch: list[Agent]) -> None:
    assert cli("compare", "auth", "--keep", "auth-B").complaint.endswith("(confirm with -f)")

    out = cli.ok("compare", "auth", "--keep", "auth-B", "-f")

    assert [line.split()[0] for line in out.splitlines()] == ["auth-A", "auth-C"]
    assert [fleet.current(agent).status is Status.KILLED for agent in batch] == [True, False, True]
    cli.ok("undo")
    assert not any(fleet.current(agent).status is Status.KILLED for agent in batch)


def test_what_cannot_be_compared_says_why(cli: Cli, fleet: Fleet, batch: list[Agent]) -> None:
    alone = fleet.create("alone", prompt="exec cat", profile="shell")

    assert "nobody to be compared with" in cli("compare", alone.name).complaint
    assert cli("compare", "nothing").code == 3
    assert cli("compare", "auth", "--keep", "alone", "-f").code == 3
