"""Automatic checkpoints of real agents: made when a turn has changed files, whoever watches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.holder.holders import wait_until
from tests.reporting_agents import COMMAND, exit_with, report

__all__ = ["fleet", "module_pool", "pool"]


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    """An agent whose turns make checkpoints."""
    text = paths.user_config().read_text()
    paths.user_config().write_text(text.replace("automatic = false", "automatic = true"))
    [made] = pool.fleet.multi([(pool.name(), COMMAND)], profile="shell")
    return made


def turns(fleet: Fleet, agent: Agent) -> list[tuple[int, tuple[str, ...]]]:
    return [(one.turn, one.files) for one in fleet.checkpoints.all(agent) if one.kind == "turn"]


def test_a_turn_that_changed_files_makes_a_checkpoint(fleet: Fleet, agent: Agent) -> None:
    report(agent, "working")
    wait_until(lambda: fleet.find(agent.id).status == "working")
    Path(agent.worktree, "made").write_text("by a turn")

    report(agent, "idle")

    wait_until(lambda: bool(turns(fleet, agent)), "a checkpoint")
    [(turn, files)] = turns(fleet, agent)
    assert turn == 1
    assert "made" in files
    assert not (paths.log() / "checkpoint.log").exists()


def test_an_end_within_a_turn_makes_a_checkpoint(fleet: Fleet, agent: Agent) -> None:
    report(agent, "working")
    wait_until(lambda: fleet.find(agent.id).status == "working")
    Path(agent.worktree, "made").write_text("by a turn")

    exit_with(agent, 0)

    wait_until(lambda: any("made" in files for _, files in turns(fleet, agent)), "a checkpoint")


def test_a_checkpoint_that_cannot_be_made_leaves_one_line(fleet: Fleet, agent: Agent) -> None:
    fleet.kill([agent])
    paths.log().joinpath("checkpoint.log").unlink(missing_ok=True)

    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "fleet_tui.fleet.turn_end", agent.id, str(paths.store())], capture_output=True, check=False
        )  # fmt: skip
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    [line] = (paths.log() / "checkpoint.log").read_text().splitlines()
    assert f"{agent.id}: {agent.name} has no worktree" in line


def test_nothing_is_made_where_the_store_is_gone(home: Path) -> None:
    gone = home / "gone" / "fleet.db"

    subprocess.run([sys.executable, "-P", "-m", "fleet_tui.fleet.turn_end", "a1", str(gone)], check=True)

    assert not gone.parent.exists()
    assert not (home / ".local/state/fleet-tui").exists()
