"""Whether a branch's work is in another one, however it got there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import git
from tests.git.repositories import call, commit


@pytest.fixture
def side(repo: Path, place: Path) -> Path:
    """A branch with two commits, beside one on main."""
    commit(place, {"a.txt": "one\nTWO\n"}, "first of side")
    commit(place, {"new.txt": "x\n"}, "second of side")
    commit(repo, {"other.txt": "x\n"}, "on main")
    return place


def found(repo: Path, place: Path) -> str:
    start = call(repo, "rev-list", "--max-parents=0", "HEAD")
    tip, target = call(place, "rev-parse", "HEAD"), call(repo, "rev-parse", "HEAD")
    return git.containment(git.discover(repo).git_dir, start=start, tip=tip, target=target)


def test_a_merge_contains_the_branch_until_it_goes_on(repo: Path, side: Path) -> None:
    assert found(repo, side) == ""
    call(repo, "merge", "--quiet", "--no-edit", "side")
    assert found(repo, side) == "merged"
    commit(side, {"more.txt": "x\n"})
    assert found(repo, side) == ""


def test_rebased_commits_are_recognized(repo: Path, side: Path) -> None:
    call(repo, "cherry-pick", "HEAD..side")
    commit(repo, {"a.txt": "changed again\n"})
    assert found(repo, side) == "rebased"


@pytest.mark.parametrize(
    "later", [{"later.txt": "x\n"}, {"a.txt": "changed again\n"}], ids=["elsewhere", "there"]
)
def test_a_squashed_branch_is_recognized_also_after_later_changes(
    repo: Path, side: Path, later: dict[str, str]
) -> None:
    call(repo, "merge", "--quiet", "--squash", "side")
    call(repo, "commit", "--quiet", "-m", "all of side")
    commit(repo, later)
    assert found(repo, side) == "squashed"


def test_what_was_taken_back_is_not_contained(repo: Path, side: Path) -> None:
    call(repo, "merge", "--quiet", "--squash", "side")
    call(repo, "commit", "--quiet", "-m", "all of side")
    assert found(repo, side) == "squashed"
    call(repo, "revert", "--no-edit", "HEAD")
    assert found(repo, side) == ""


def test_a_branch_without_commits_or_with_half_of_them_there_is_not_contained(
    repo: Path, place: Path
) -> None:
    commit(repo, {"other.txt": "x\n"})
    assert found(repo, place) == ""
    first = commit(place, {"a.txt": "one\nTWO\n"})
    commit(place, {"new.txt": "x\n"})
    call(repo, "cherry-pick", first)
    assert found(repo, place) == ""


def test_looking_writes_nothing_to_the_repository(repo: Path, side: Path) -> None:
    call(repo, "merge", "--quiet", "--squash", "side")
    call(repo, "commit", "--quiet", "-m", "all of side")
    before = call(repo, "count-objects", "-v")
    assert found(repo, side) == "squashed"
    assert call(repo, "count-objects", "-v") == before
