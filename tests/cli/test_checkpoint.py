"""`fleet checkpoint`: what it prints, and what it refuses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.cli.commands import Cli, cli, project

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    found = pool.take("shell", "exec sleep 1000")
    pool.fleet.stop([found])
    return found


def test_checkpoints_are_made_listed_compared_and_restored(cli: Cli, agent: Agent) -> None:
    file = Path(agent.worktree, "new")
    file.write_text("1\n")
    made = cli.ok("checkpoint", agent.name, "-m", "before\nthe rename")
    assert made.split() == f"{agent.name}: checkpoint 1 +1 -0 before the rename".split()
    file.write_text("2\n")

    listed = cli.ok("checkpoint", agent.name, "--list").splitlines()
    assert [line.split()[0] for line in listed[:2]] == ["1", "0"]
    assert "you: before the rename" in listed[0]
    assert listed[0].rstrip().endswith("new")
    assert "+2\n" in cli.ok("checkpoint", agent.name, "--diff", "1", "--against", "now")
    ran = cli("checkpoint", agent.name, "--restore", "1")
    assert (ran.code, file.read_text()) == (0, "1\n")
    assert "--restore 2" in ran.err
    assert "already" in cli.ok("checkpoint", agent.name, "--restore", "1")
    assert "nothing has changed since checkpoint 3" in cli.ok("checkpoint", agent.name)


def test_a_diff_of_a_checkpoint_can_be_applied(cli: Cli, agent: Agent, tmp_path: Path) -> None:
    Path(agent.worktree, "new").write_bytes(b"\0\1\xff" * 100)
    Path(agent.worktree, "text\u00e9").write_text("x\r\n")
    cli.ok("checkpoint", agent.name)
    patch = cli.script("checkpoint", agent.name, "--diff", "1").out

    subprocess.run(["git", "init", "-q", str(tmp_path / "r")], check=True)
    subprocess.run(["git", "-C", str(tmp_path / "r"), "apply"], input=patch, text=True, check=True)

    assert (tmp_path / "r/new").read_bytes() == b"\0\1\xff" * 100


def test_a_restore_that_did_not_finish_is_named(cli: Cli, agent: Agent, fleet: Fleet) -> None:
    file = Path(agent.worktree, "new")
    file.write_text("1\n")
    cli.ok("checkpoint", agent.name)
    file.write_text("2\n")
    cli.ok("checkpoint", agent.name, "--restore", "1")
    assert "did not finish" not in cli.ok("checkpoint", agent.name, "--list")

    # As after a kill between the files and the row.
    with fleet.store.transaction():
        fleet.store.checkpoints.remove(agent.id, [3], 0.0)

    assert f"do it again: fleet checkpoint {agent.name} --restore 1" in cli.ok(
        "checkpoint", agent.name, "--list"
    )


@pytest.mark.parametrize(
    "options",
    [
        ["--list", "--restore", "1"],
        ["--rename", "1"],
        ["--restore", "1", "-m", "x"],
        ["--restore", "7"],
        ["--diff", "1"],
        ["-m", ""],
        ["--restore", "-1"],
        ["--rename", "3", "-m", "x"],
    ],
)
def test_bad_input_is_one_line(cli: Cli, agent: Agent, fleet: Fleet, options: list[str]) -> None:
    ran = cli("checkpoint", agent.name, *options)

    assert ran.code != 0
    assert ran.complaint.startswith("fleet: ")
    assert fleet.checkpoints.all(agent) == []
