"""Snapshots of worktrees, and what differs between two of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.git.snapshot import LARGE
from fleet_tui.work import ChangedFile
from tests.git.repositories import call, commit


def names(place: Path) -> dict[str, ChangedFile]:
    where = git.place_at(place)
    with git.scratch_objects(where.git_dir) as scratch:
        tree = git.take_snapshot(where, scratch, "key").tree
        found = git.changed_files(
            where.git_dir, call(place, "rev-parse", "HEAD"), tree, objects=scratch.variables
        )
    return {one.path: one for one in found}


def test_a_snapshot_has_every_file_and_changes_nothing(place: Path) -> None:
    commit(place, {"gone.txt": "x\n", "old.txt": "a\nb\nc\n", "run.sh": "x\n", "a b\n.txt": "x\n"})
    (place / "gone.txt").unlink()
    (place / "old.txt").rename(place / "new.txt")
    (place / "run.sh").chmod(0o755)
    (place / "a b\n.txt").write_text("y\nz\n")
    (place / "blob").write_bytes(b"\0\1")
    (place / "staged").write_text("staged\n")
    call(place, "add", "staged")
    (place / "staged").write_text("later\n")
    before = (call(place, "status", "--porcelain"), call(place, "rev-parse", "HEAD"))
    index = Path(call(place, "rev-parse", "--path-format=absolute", "--git-path", "index")).read_bytes()

    found = names(place)

    assert {path: one.kind for path, one in found.items()} == {
        "gone.txt": "deleted", "new.txt": "renamed", "run.sh": "mode changed", "a b\n.txt": "modified", "blob": "added",
        "staged": "added",
    }  # fmt: skip
    assert found["new.txt"].old_path == "old.txt"
    assert (found["a b\n.txt"].added, found["a b\n.txt"].removed) == (2, 1)
    assert found["blob"].is_binary
    assert before == (call(place, "status", "--porcelain"), call(place, "rev-parse", "HEAD"))
    assert (
        index == Path(call(place, "rev-parse", "--path-format=absolute", "--git-path", "index")).read_bytes()
    )


def test_a_snapshot_follows_the_files_and_the_repository_does_not_grow(repo: Path, place: Path) -> None:
    objects = sorted(repo.joinpath(".git/objects").rglob("*"))

    for number in range(3):
        (place / "file").write_text(f"{number}\n" * (number + 1))
        assert names(place)["file"].added == number + 1
    (place / "file").unlink()
    assert names(place) == {}
    assert sorted(repo.joinpath(".git/objects").rglob("*")) == objects


def test_a_snapshot_survives_a_lost_scratch_folder_and_the_lock_of_a_killed_git(place: Path) -> None:
    (place / "file").write_text("x\n")
    assert set(names(place)) == {"file"}
    where = git.place_at(place)
    with git.scratch_objects(where.git_dir) as scratch:
        for one in (scratch.folder / "objects").rglob("*"):
            if one.is_file():
                one.unlink()
        Path(f"{scratch.index('key')}.lock").touch()

    assert set(names(place)) == {"file"}


def test_other_repositories_and_large_untracked_files_are_left_out_and_named(place: Path) -> None:
    (place / "inner").mkdir()
    call(place / "inner", "init", "--quiet")
    commit(place / "inner", {"x": "x"})
    with (place / "large").open("wb") as file:
        file.truncate(LARGE + 1)
    os.mkfifo(place / "pipe")
    where = git.place_at(place)

    with git.scratch_objects(where.git_dir) as scratch:
        found = git.take_snapshot(where, scratch, "key")

    assert sorted(found.left_out) == ["inner/", "large"]
    assert found.tree == call(place, "rev-parse", "HEAD^{tree}")


@pytest.mark.parametrize(
    ("ours", "theirs", "paths"),
    [("a\n", "b\n", ["f.txt"]), ("a\n", "a\n", []), ("", "b\n", ["f.txt"])],
    ids=["both changed", "the same", "deleted and changed"],
)
def test_merging_in_memory_says_what_conflicts(
    repo: Path, place: Path, ours: str, theirs: str, paths: list[str]
) -> None:
    base = commit(repo, {"f.txt": "x\n", "g.txt": "x\n"})
    call(place, "reset", "-q", "--hard", base)
    one = commit(place, {"f.txt": ours, "h.txt": "other\n"})
    if not ours:
        call(place, "rm", "-q", "f.txt")
        one = commit(place, {})
    other = commit(repo, {"f.txt": theirs})

    [found] = git.merge_pairs(repo / ".git", [(one, other)], base=base)

    assert list(found.paths) == paths
    assert found.is_clean == (not paths)
