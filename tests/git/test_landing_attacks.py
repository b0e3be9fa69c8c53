"""Landing in a repository whose files an agent has written: nothing outside the repository's work trees is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleet_tui.errors import Refused
from fleet_tui.git.landing import move_branch
from fleet_tui.git.landing_commits import has_commit
from fleet_tui.git.landing_heal import heal
from fleet_tui.git.landing_hooks import commit_everything
from fleet_tui.git.landing_note import MARK, NOTE
from fleet_tui.git.plain import place_at
from fleet_tui.git.repository import discover
from fleet_tui.git.scratch_worktrees import scratch_worktree
from tests.git.landing_cases import landed, repo
from tests.git.repositories import call, commit

__all__ = ["repo"]


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    folder = tmp_path / "victim"
    folder.mkdir()
    (folder / "mine").write_text("mine\n")
    return folder


def test_a_configured_work_tree_that_does_not_lead_back_is_not_written_to(
    repo: Path, place: Path, victim: Path
) -> None:
    old, new = landed(repo, place, {"rc": "payload\n"})
    call(repo, "config", "core.worktree", str(victim))

    with pytest.raises(Refused, match="leads back"):
        move_branch(repo / ".git", "main", old, new, why="x", root=victim)

    assert [one.name for one in victim.iterdir()] == ["mine"]
    assert call(repo, "rev-parse", "main") == old


def test_an_entry_that_names_a_folder_which_does_not_lead_back_is_not_used(
    repo: Path, place: Path, victim: Path, tmp_path: Path
) -> None:
    old, new = landed(repo, place, {"rc": "payload\n"})
    call(repo, "worktree", "add", "-q", "-b", "release", str(tmp_path / "release"))
    (repo / ".git/worktrees/release/gitdir").write_text(f"{victim}/.git\n")

    with pytest.raises(Refused, match="leads back"):
        move_branch(repo / ".git", "release", old, new, why="x")

    assert [one.name for one in victim.iterdir()] == ["mine"]


@pytest.mark.parametrize("own", ["another folder", "the repository"])
def test_a_planted_note_changes_nothing_elsewhere(repo: Path, victim: Path, tmp_path: Path, own: str) -> None:
    old = commit(repo, {"rc": "payload\n"})
    new = commit(repo, {"rc": "payload\nmore\n"})
    call(repo, "branch", "planted", old)
    planted = repo / ".git"
    if own == "another folder":
        planted = tmp_path / "planted"
        planted.mkdir()
        (planted / "HEAD").write_text("ref: refs/heads/planted\n")
    (planted / "index.lock").write_bytes(MARK)
    note = {"branch": "planted", "old": old, "new": new, "own": str(planted), "folder": str(victim)}
    (repo / ".git" / NOTE).write_text(json.dumps(note))

    assert heal(repo / ".git") == ""

    assert [one.name for one in victim.iterdir()] == ["mine"]
    assert not (repo / ".git" / NOTE).exists()


@pytest.mark.parametrize(
    "planted", [{"old": "--output=written"}, {"branch": "../../../victim/x"}], ids=["option", "path"]
)
def test_a_planted_note_names_neither_options_nor_paths(
    repo: Path, victim: Path, planted: dict[str, str]
) -> None:
    tip = call(repo, "rev-parse", "main")
    (victim / "x.lock").touch()
    note = {"branch": "main", "old": tip, "new": tip, "own": str(repo / ".git"), "folder": str(repo)}
    (repo / ".git" / NOTE).write_text(json.dumps(note | planted))
    (repo / ".git/index.lock").write_bytes(MARK)

    assert heal(repo / ".git") == ""

    assert (victim / "x.lock").exists()
    assert not (repo / ".git/written").exists()


def test_committing_everything_writes_through_no_planted_link(repo: Path, place: Path, victim: Path) -> None:
    found = place_at(place)
    (place / "a.txt").write_text("agent\n")
    (found.own / "fleet-commit.index").symlink_to(victim / "mine")

    done = commit_everything(found, "Work")

    assert call(place, "show", f"{done}:a.txt") == "agent"
    assert (victim / "mine").read_text() == "mine\n"


def test_a_check_gets_the_files_that_land_and_not_what_replaces_them(
    repo: Path, place: Path, tmp_path: Path
) -> None:
    _, new = landed(repo, place, {"a.txt": "bad\n"})
    call(repo, "replace", f"{new}:a.txt", "main:a.txt")

    with scratch_worktree(discover(repo), tmp_path / "worktrees", new) as folder:
        assert (folder / "a.txt").read_text() == "bad\n"


def test_a_graft_does_not_make_work_look_merged(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "work\n"})
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/grafts").write_text(f"{old} {new}\n")

    assert not has_commit(repo / ".git", new, old)
