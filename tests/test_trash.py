"""The trash as a user meets it: `kill`, `trash`, `undo`, `doctor` and `list --repair` on a real fleet."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.commands import Cli, cli, project

__all__ = ["cli", "project"]


def killed(fleet: Fleet, name: str) -> Agent:
    """An agent that was killed with uncommitted work."""
    agent = fleet.create(name)
    (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.kill([agent], grace=0.2)
    return fleet.store.agent(agent.id)


@pytest.fixture
def other_project(project: Path, tmp_path: Path) -> Path:
    """A second repository beside the one that the test is in."""
    other = tmp_path / "elsewhere"
    subprocess.run(["git", "clone", "-q", str(project), str(other)], check=True)
    return other


# ── whose agents undo brings back ──


@pytest.mark.slow
def test_undo_by_name_leaves_the_agents_of_other_projects_alone(cli: Cli, other_project: Path) -> None:
    theirs = killed(Fleet(other_project), "fix")

    ran = cli("undo", "fix")

    assert ran.code == 3
    assert f"belongs to {other_project}: go there, or run: fleet undo -a fix" in ran.complaint
    assert Path(theirs.trash).is_dir()


@pytest.mark.slow
def test_undo_prefers_this_project_and_names_another_one_when_told_to_go_there(
    cli: Cli, fleet: Fleet, other_project: Path
) -> None:
    ours, theirs = killed(fleet, "fix"), killed(Fleet(other_project), "fix")

    assert ours.worktree in cli.ok("undo", "fix")
    assert Path(theirs.trash).is_dir()

    assert f"project {other_project}" in cli.ok("undo", "-a", "fix")
    assert Path(theirs.worktree).is_dir()


@pytest.mark.slow
def test_undo_of_a_name_that_several_projects_have_asks_which(
    cli: Cli, fleet: Fleet, other_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = killed(fleet, "fix"), killed(Fleet(other_project), "fix")

    refused = cli("undo", "--all", "fix")
    assert (refused.code, "several projects" in refused.complaint) == (2, True)
    monkeypatch.chdir(tmp_path)
    refused = cli("undo", "fix")
    assert (refused.code, "several projects" in refused.complaint) == (2, True)
    assert Path(ours.trash).is_dir()

    assert f"project {other_project}" in cli.ok("undo", theirs.id)
