"""Moving a branch together with the worktree that has it checked out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fleet_tui.errors import FleetError, Refused
from fleet_tui.git.landing import STEPS, move_branch
from fleet_tui.git.landing_checks import InTheWay, checkout_of, dirty_files
from fleet_tui.git.plain import GitPlaces
from tests.git.landing_cases import landed, locks, repo, state
from tests.git.repositories import call, commit, make, worktree

__all__ = ["repo"]


def move(repo: Path, old: str, new: str, branch: str = "main") -> None:
    move_branch(repo / ".git", branch, old, new, why="fleet: land")


def test_the_worktree_of_the_branch_comes_along_and_other_changes_stay(repo: Path, place: Path) -> None:
    commit(repo, {"mine.txt": "x\n", "staged.txt": "x\n", "dir/file": "x\n", "old name": "x\n" * 9})
    old, new = landed(
        repo, place, {"a.txt": "new\n", "src/new.py": "x\n", "dir": "now a file\n", "new name": "x\n" * 9},
        gone=("dir", "old name"),
    )  # fmt: skip
    (repo / "mine.txt").write_text("changed\n")
    (repo / "staged.txt").write_text("staged\n")
    call(repo, "add", "staged.txt")
    (repo / "untracked").write_text("x")
    (repo / "my.secret").write_text("x")
    steps: list[str] = []

    move_branch(repo / ".git", "main", old, new, why="fleet: land", step=steps.append)

    head, status, files = state(repo)
    assert head == new
    assert status.splitlines() == ["M mine.txt", "M  staged.txt", "?? untracked", "!! my.secret"]
    assert files["dir"] == b"now a file\n"
    assert (files["a.txt"], files["mine.txt"]) == (b"new\n", b"changed\n")
    assert tuple(steps) == STEPS
    assert locks(repo) == []
    assert call(repo, "reflog", "-1", "--format=%gs", "main") == "fleet: land"


@pytest.mark.parametrize("stages", [False, True], ids=["changed", "staged"])
def test_a_changed_file_that_the_landing_touches_stops_it(repo: Path, place: Path, stages: bool) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n", "other": "x"})
    (repo / "a.txt").write_text("mine\n")
    if stages:
        call(repo, "add", "a.txt")
    before = state(repo)

    with pytest.raises(InTheWay, match=r"uncommitted changes in a\.txt; nothing was changed") as caught:
        move(repo, old, new)

    assert caught.value.files == ("a.txt",)
    assert state(repo) == before
    assert locks(repo) == []
    assert dirty_files(GitPlaces(repo / ".git", repo / ".git", repo), old) == {"a.txt"}


def test_a_deleted_file_that_the_landing_touches_stops_it(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    (repo / "a.txt").unlink()

    with pytest.raises(InTheWay):
        move(repo, old, new)

    assert not (repo / "a.txt").exists()


@pytest.mark.parametrize(
    ("there", "added"),
    [("new.txt", "new.txt"), ("new.secret", "new.secret"), ("build", "build/x"), ("build/x", "build")],
    ids=["untracked", "ignored", "a file in the place of a folder", "a folder in the place of a file"],
)
def test_what_lies_in_the_place_of_a_new_file_stops_it(
    repo: Path, place: Path, there: str, added: str
) -> None:
    old = call(repo, "rev-parse", "main")
    (place / added).parent.mkdir(exist_ok=True)
    (place / added).write_text("theirs\n")
    call(place, "add", "--force", added)
    call(place, "commit", "-q", "-m", "x")
    new = call(place, "rev-parse", "HEAD")
    (repo / there).parent.mkdir(exist_ok=True)
    (repo / there).write_text("mine\n")
    before = state(repo)

    with pytest.raises(InTheWay, match="would be overwritten") as caught:
        move(repo, old, new)

    assert caught.value.files == (there,)
    assert state(repo) == before
    assert locks(repo) == []


def test_an_ignored_link_in_the_place_of_a_folder_stops_it(repo: Path, place: Path, tmp_path: Path) -> None:
    old, _ = landed(repo, place, {})
    (place / "build").mkdir()
    (place / "build/x").write_text("theirs\n")
    call(place, "add", "--force", "build/x")
    call(place, "commit", "-q", "-m", "x")
    (repo / ".git/info/exclude").write_text("build\n")
    (repo / "build").symlink_to(tmp_path)

    with pytest.raises(InTheWay):
        move(repo, old, call(place, "rev-parse", "HEAD"))

    assert (repo / "build").is_symlink()


def test_a_branch_in_a_linked_worktree_a_bare_repository_and_nowhere_is_moved(
    repo: Path, place: Path, tmp_path: Path
) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    linked = worktree(repo, "linked", tmp_path / "trees" / "linked", base=old)
    call(repo, "branch", "nowhere", old)
    bare = tmp_path / "bare.git"
    call(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))

    move(repo, old, new, "linked")
    move(repo, old, new, "nowhere")
    move_branch(bare, "main", old, new, why="x")

    assert (linked / "a.txt").read_text() == "new\n"
    assert call(linked, "status", "--porcelain") == ""
    assert call(repo, "rev-parse", "linked", "nowhere", "main").split() == [new, new, old]
    assert call(bare, "rev-parse", "main") == new
    assert (repo / "a.txt").read_text() == "one\ntwo\n"


def test_a_detached_head_leaves_the_files_alone(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    call(repo, "checkout", "-q", "--detach")

    move(repo, old, new)

    assert call(repo, "rev-parse", "HEAD", "main").split() == [old, new]
    assert (repo / "a.txt").read_text() == "one\ntwo\n"


def test_a_branch_that_moved_meanwhile_stops_it(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    moved = commit(repo, {"other": "x"})

    with pytest.raises(Refused, match=f"has moved to {moved[:10]}"):
        move(repo, old, new)

    assert locks(repo) == []


def test_a_foreign_lock_stops_it_and_stays(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    (repo / ".git/index.lock").write_text("another git")

    with pytest.raises(Refused, match="another git is at work"):
        move(repo, old, new)

    assert locks(repo) == [".git/index.lock"]
    assert call(repo, "rev-parse", "main") == old


def test_a_merge_in_progress_stops_it(repo: Path, place: Path) -> None:
    commit(repo, {"a.txt": "main\n"})
    old, new = landed(repo, place, {"new": "x"})
    call(repo, "checkout", "-q", "-b", "other", "HEAD~1")
    commit(repo, {"a.txt": "other\n"})
    call(repo, "checkout", "-q", "main")
    subprocess.run(["git", "-C", str(repo), "merge", "-q", "other"], capture_output=True, check=False)

    with pytest.raises(Refused, match="in the middle of a merge"):
        move(repo, old, new)

    assert locks(repo) == []


def test_a_hook_that_refuses_stops_it_with_its_words(repo: Path, place: Path) -> None:
    old, new = landed(repo, place, {"a.txt": "new\n"})
    hook = repo / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" = prepared ] && { echo "not on a Friday" >&2; exit 1; }\nexit 0\n')
    hook.chmod(0o755)
    before = state(repo)

    with pytest.raises(FleetError, match="not on a Friday"):
        move(repo, old, new)

    assert state(repo) == before
    assert locks(repo) == []


def test_filters_of_the_users_clone_write_the_files(repo: Path, place: Path) -> None:
    call(repo, "config", "filter.up.smudge", "tr a-z A-Z")
    call(repo, "config", "filter.up.clean", "tr A-Z a-z")
    old, new = landed(repo, place, {".gitattributes": "*.up filter=up\n", "x.up": "loud\n"})

    move(repo, old, new)

    assert (repo / "x.up").read_text() == "LOUD\n"
    assert call(repo, "status", "--porcelain") == ""


def test_a_submodule_is_only_noted(repo: Path, place: Path, tmp_path: Path) -> None:
    module = make(tmp_path / "module")
    call(place, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(module), "sub")
    old = call(repo, "rev-parse", "main")
    new = commit(place, {})

    move(repo, old, new)

    assert call(repo, "ls-files", "-s", "sub").startswith("160000")
    assert call(repo, "status", "--porcelain") == ""


def test_a_branch_that_is_checked_out_twice_or_rebased_is_refused(repo: Path, place: Path) -> None:
    call(place, "checkout", "-q", "--ignore-other-worktrees", "main")
    with pytest.raises(Refused, match="is checked out in"):
        checkout_of(repo / ".git", "main")
