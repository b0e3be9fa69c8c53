"""Agents that replace their `.git`: no command runs what they planted, each names the problem, and no work is lost."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fleet_tui.errors import NoRepository
from fleet_tui.fleet import Fleet
from tests.cli.commands import Cli, cli, project
from tests.conftest import git
from tests.git import traps
from tests.git.planted import planted, planter
from tests.git.traps import Trap
from tests.watched_fleet import WatchedFleet

__all__ = ["cli", "project"]


@pytest.fixture
def trap(tmp_path: Path, project: Path) -> Trap:
    trap = traps.lay(tmp_path / "trap")
    planter(trap.program.parent, trap)
    return trap


def springs(trap: Trap, worktree: Path) -> bool:
    """Whether git runs the program where the agent has planted it."""
    where = ("--git-dir", str(worktree / "planted.git"), "--work-tree", str(worktree))
    subprocess.run(["git", *where, "status"], capture_output=True, check=False)
    return trap.has_sprung


def test_no_command_runs_what_an_agent_planted_behind_its_git_file(
    cli: Cli, fleet: Fleet, trap: Trap
) -> None:
    agent = planted(fleet, "fix")
    worktree = Path(agent.worktree)

    assert "! its .git was changed (fleet list --repair)" in cli.ok("list")
    assert [one["worktree_problem"] for one in cli.listed()] == ["its .git was changed"]
    assert fleet.worktrees.diff_stats([agent]) == {}
    doctor = cli("doctor")
    assert f"✗ fix: its .git was changed, so fleet does not run git in {worktree}" in doctor.out
    assert "! its .git was changed" in cli.script("list", cwd=worktree).out
    inside = cli.script("create", "next", cwd=worktree)
    assert (inside.code, "no longer leads to" in inside.complaint) == (5, True)
    assert (
        "fix may have uncommitted changes, which are not copied: its .git was changed"
        in cli("fork", "fix", "other").err
    )

    cli.ok("stop", "fix")
    refused = cli("revive", "fix")
    assert (refused.code, "fix is not started: its .git was changed" in refused.complaint) == (4, True)

    cli.ok("kill", "fix", "--force")
    cli.ok("undo", "fix")
    assert [one["worktree_problem"] for one in cli.listed() if one["name"] == "fix"] == [""]
    assert (git(worktree, "branch", "--show-current").strip(), (worktree / "work.txt").read_text()) == (
        "fix",
        "precious\n",
    )
    cli.ok("revive", "fix")

    cli.ok("kill", "fix", "--force")
    assert "saved as" in cli.ok("trash", "--empty", "--force")
    [ref] = git(cli.project, "for-each-ref", "--format=%(refname)", "refs/fleet/trash").split()
    assert git(cli.project, "show", f"{ref}:work.txt") == "precious\n"
    assert not trap.has_sprung


@pytest.mark.slow
def test_a_planted_repository_does_not_pass_for_the_agents_project(
    cli: Cli, fleet: Fleet, trap: Trap, tmp_path: Path
) -> None:
    worktree = Path(planted(fleet, "fix").worktree)
    git(worktree, "config", "core.worktree", str(cli.project))
    (tmp_path / "shortcut").symlink_to(worktree.parent)

    for start in (worktree, tmp_path / "shortcut" / worktree.name / "planted.git"):
        with closing(WatchedFleet(start)) as found, pytest.raises(NoRepository, match="no longer leads to"):
            _ = found.repository

    assert not trap.has_sprung


def test_repair_reconnects_a_worktree_whose_git_file_was_replaced(cli: Cli, fleet: Fleet, trap: Trap) -> None:
    agent = planted(fleet, "fix")

    ran = cli("list", "--repair")

    assert "fix: its .git was changed; repaired" in ran.err
    assert [one["worktree_problem"] for one in cli.listed()] == [""]
    assert fleet.worktrees.diff_stats([agent])[agent.id][0] > 0
    assert not trap.has_sprung
    assert springs(trap, Path(agent.worktree))


@pytest.mark.slow
def test_repair_does_not_write_through_a_git_file_that_is_a_link(
    cli: Cli, fleet: Fleet, tmp_path: Path
) -> None:
    agent = fleet.create("fix")
    link, letter = Path(agent.worktree) / ".git", tmp_path / "letter"
    letter.write_text("dear diary\n")
    link.unlink()
    link.symlink_to(letter)

    cli.ok("list", "--repair")

    assert letter.read_text() == "dear diary\n"
    assert [one["worktree_problem"] for one in cli.listed()] == [""]


@pytest.mark.slow
def test_a_git_folder_in_place_of_the_link_stays_and_the_remedy_is_named(cli: Cli, fleet: Fleet) -> None:
    agent = fleet.create("fix")
    link = Path(agent.worktree) / ".git"
    link.unlink()
    git(Path(agent.worktree), "init", "-q")

    assert "its .git was replaced by a folder" in cli.ok("list")
    assert f"move {link} away" in cli("list", "--repair").err
    killed = cli("kill", "fix", "--force")
    assert (killed.code, "move its .git away, then: fleet list --repair" in killed.err) == (4, True)
    assert link.is_dir()

    link.rename(link.with_name("own-git"))
    cli.ok("kill", "fix", "--force")


def test_nothing_is_written_through_a_link_in_place_of_a_worktree(
    cli: Cli, fleet: Fleet, project: Path, tmp_path: Path
) -> None:
    """The link may lead to a worktree of the user's, whose commits would then go to the agent's branch."""
    git(project, "worktree", "add", "--quiet", str(tmp_path / "mine"))
    (tmp_path / "folder").mkdir()
    before = (tmp_path / "mine/.git").read_text()
    for name in ("mine", "folder"):
        agent = fleet.create(f"to-{name}")
        fleet.stop([agent], grace=0.2)
        worktree = Path(agent.worktree)
        worktree.rename(tmp_path / f"aside-{name}")
        worktree.symlink_to(tmp_path / name)

    repaired = cli("list", "--repair").err
    assert repaired.count("was replaced by a link") == 2
    cli("kill", "--force", "to-mine")
    cli("kill", "--force", "to-folder")

    assert (tmp_path / "mine/.git").read_text() == before
    assert list((tmp_path / "folder").iterdir()) == []
