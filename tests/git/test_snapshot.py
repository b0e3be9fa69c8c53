"""Snapshots of worktrees, and what differs between two of them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.git import untracked
from fleet_tui.git.plain import place_at
from fleet_tui.git.program import GitFailed
from fleet_tui.git.snapshot import exclusive
from fleet_tui.git.untracked import LARGE
from fleet_tui.work import ChangedFile
from tests.git.repositories import call, commit
from tests.system.small_disks import fill, small_disk


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


# ── odd indexes and files ──


def tree_of(place: Path) -> str:
    where = git.place_at(place)
    with git.scratch_objects(where.git_dir) as scratch:
        return git.take_snapshot(where, scratch, "key").tree


def has(place: Path, tree: str, path: str) -> bool:
    where = git.place_at(place)
    with git.scratch_objects(where.git_dir) as scratch:
        return git.file_text(where.git_dir, tree, path, objects=scratch.variables) is not None


@pytest.mark.parametrize("content", [None, b"no index"], ids=["lost", "damaged"])
def test_a_lost_or_damaged_index_hides_nothing(place: Path, content: bytes | None) -> None:
    index = Path(call(place, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    index.unlink()
    if content is not None:
        index.write_bytes(content)
    (place / "a.txt").write_text("changed\n")
    (place / "new").write_text("x\n")

    found = names(place)

    assert {path: one.kind for path, one in found.items()} == {"a.txt": "modified", "new": "added"}


def test_a_worktree_without_a_commit_has_files_all_the_same(tmp_path: Path) -> None:
    call(tmp_path, "init", "--quiet", "empty")
    place = tmp_path / "empty"
    (place / "f").write_text("x\n")

    assert has(place, tree_of(place), "f")


def test_what_git_is_told_to_overlook_is_seen(place: Path) -> None:
    call(place, "update-index", "--assume-unchanged", "a.txt")
    (place / "a.txt").write_text("changed\n")
    assert set(names(place)) == {"a.txt"}

    call(place, "update-index", "--skip-worktree", "src/b.py")
    (place / "src/b.py").unlink()
    assert set(names(place)) == {"a.txt", "src/b.py"}, "the index of ours knows it already"


def test_a_name_that_changes_only_its_case_is_renamed(place: Path) -> None:
    (place / "a.txt").rename(place / "A.txt")

    assert {path: (one.kind, one.old_path) for path, one in names(place).items()} == {"A.txt": ("renamed", "a.txt")}  # fmt: skip


def test_a_folder_that_became_a_link_has_lost_its_files(place: Path) -> None:
    assert names(place) == {}
    (place / "src/b.py").unlink()
    (place / "src").rmdir()
    (place / "src").symlink_to(place.parent)

    assert {path: one.kind for path, one in names(place).items()} == {"src": "added", "src/b.py": "deleted"}


def test_what_becomes_ignored_is_left_out_and_comes_back(place: Path) -> None:
    (place / "log").write_text("x\n")
    assert set(names(place)) == {"log"}
    (place / ".gitignore").write_text("log\n")
    assert set(names(place)) == {".gitignore"}
    (place / ".gitignore").write_text("other\n")
    assert set(names(place)) == {".gitignore", "log"}


def test_commits_do_not_change_the_files(place: Path) -> None:
    (place / "f").write_text("x\n")
    before = tree_of(place)
    commit(place, {})
    assert tree_of(place) == before
    call(place, "reset", "-q", "--soft", "HEAD~1")
    assert tree_of(place) == before
    call(place, "rm", "-q", "--cached", "-f", "f")
    assert tree_of(place) == before
    call(place, "stash", "--include-untracked", "--quiet")
    assert not has(place, tree_of(place), "f")


def test_too_many_untracked_files_are_left_out_by_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untracked, "MOST_FILES", 20)
    for number in range(40):
        for path in (f"web/modules/pack{number % 5}/{number}.js", f"logs/{number}.log", f"top{number}"):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(f"{number}\n")
    (place / "web/new.js").write_text("x\n")
    where = git.place_at(place)

    with git.scratch_objects(where.git_dir) as scratch:
        found = git.take_snapshot(where, scratch, "key")

    assert sorted(found.left_out) == ["./", "logs/", "web/modules/"]
    assert has(place, found.tree, "web/new.js")
    assert set(names(place)) == {"web/new.js"}


def test_of_many_bytes_the_largest_files_are_left_out(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An index of an earlier test at the same path would know the files.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(untracked, "MOST_BYTES", 1000)
    for number, size in enumerate((500, 300, 600, 100)):
        (place / f"f{number}").write_bytes(b"x" * size)
    where = git.place_at(place)

    with git.scratch_objects(where.git_dir) as scratch:
        found = git.take_snapshot(where, scratch, "key")

    assert found.left_out == ("f2",)


def test_a_full_disk_is_one_clear_error(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small_disk(tmp_path / "disk", size="1m") as disk:
        monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
        names(place)
        (place / "f").write_bytes(os.urandom(100_000))
        fill(disk)
        with pytest.raises(GitFailed, match=r"no space left in|cannot write to .*: No space left") as failed:
            names(place)
        assert failed.value.hint.startswith("free some space")

        monkeypatch.setenv("XDG_CACHE_HOME", str(disk / "other"))
        with pytest.raises(GitFailed, match=r"cannot write to .*: No space left"):
            names(place)


def test_snapshots_while_an_agent_commits_are_of_whole_files(place: Path) -> None:
    script = """
    for number in 1 2 3 4 5 6 7 8 9 10 11 12; do
        for name in a b c d; do echo $number > $name; done
        rm -rf folder; mkdir folder; echo $number > folder/inner
        git add --all && git commit --quiet -m $number
        rm -rf folder; echo $number > folder
        git add --all && git commit --quiet -m $number
    done
    """
    where = git.place_at(place)
    with subprocess.Popen(["sh", "-ec", script], cwd=place) as agent:
        taken = 0
        while agent.poll() is None:
            tree_of(place)
            taken += 1

    assert agent.returncode == 0, "nothing of ours was in its way"
    assert taken
    assert tree_of(place) == call(place, "rev-parse", "HEAD^{tree}")
    assert not list(where.own.glob("*.lock"))


def test_a_git_that_is_blocked_in_a_worktree_does_not_block_others_forever(place: Path) -> None:
    found = place_at(place)
    with git.scratch_objects(found.git_dir) as scratch:
        # The lock is held by the blocked git's own descriptor, whatever became of the process that started it.
        with exclusive(scratch.index("x")), pytest.raises(GitFailed, match="blocked there"):
            git.take_snapshot(found, scratch, "x", seconds=0.1)
        assert git.take_snapshot(found, scratch, "x").tree
