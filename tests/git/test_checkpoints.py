"""Checkpoints of worktrees: what they hold, what they leave alone, and bringing files back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.git.untracked import LARGE
from fleet_tui.work import CheckpointKind
from tests.git.repositories import call, commit

AGENT = "0a1b2c"


class Saver:
    """Makes and restores checkpoints of one worktree."""

    def __init__(self, place: Path) -> None:
        self.folder = place
        self.place = git.place_at(place)
        self.git_dir = self.place.git_dir
        self.count = 0

    def tree(self) -> git.Snapshot:
        with git.scratch_objects(self.git_dir) as scratch:
            return git.files_tree(self.place, scratch, AGENT)

    def save(self) -> git.CheckpointCommit:
        self.count += 1
        return git.save_checkpoint(
            self.place, AGENT, number=self.count, tree=self.tree().tree, kind=CheckpointKind.NAMED
        )

    def bring(self, tree: str) -> git.BroughtFiles:
        with git.scratch_objects(self.git_dir) as scratch:
            now = git.files_tree(self.place, scratch, AGENT).tree
            return git.bring_files(self.place, scratch, AGENT, now, tree)

    def in_the_way(self, tree: str) -> list[str]:
        now = self.tree()
        return git.in_the_way(self.place, now.tree, tree, now.left_out)


@pytest.fixture
def saver(place: Path) -> Saver:
    return Saver(place)


def files_of(folder: Path) -> dict[str, object]:
    """Every file outside of .git: its content, or where a link leads, and whether it can be executed."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.startswith(".git") and not name.startswith(".gitignore"):
            continue
        if path.is_symlink():
            found[name] = ("link", str(path.readlink()))
        elif path.is_file():
            found[name] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def own_state(place: Path) -> tuple[object, ...]:
    """What a checkpoint must not change."""
    index = Path(call(place, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    return (
        index.read_bytes(),
        call(place, "rev-parse", "HEAD"),
        call(place, "symbolic-ref", "HEAD"),
        call(place, "status", "--porcelain"),
        files_of(place),
    )


def make_changes(place: Path) -> None:
    """One of each kind of change."""
    commit(place, {"gone.txt": "x\n", "old.txt": "a\nb\nc\n", "run.sh": "x\n", "dir/deep/file": "1\n"})
    (place / "gone.txt").unlink()
    (place / "old.txt").rename(place / "new.txt")
    (place / "run.sh").chmod(0o755)
    (place / "a.txt").unlink()
    (place / "a.txt").symlink_to("new.txt")
    (place / "dir/deep/file").unlink()
    (place / "dir/deep").rmdir()
    (place / "dir/deep").write_text("now a file\n")
    (place / "odd \n\u00e9").write_bytes(b"\0\1\xff")
    (place / "staged").write_text("staged\n")
    call(place, "add", "staged")
    (place / "staged").write_text("later\n")
    (place / "keep.secret").write_text("ignored\n")


def test_a_checkpoint_holds_all_but_ignored_files_and_changes_nothing(saver: Saver) -> None:
    make_changes(saver.folder)
    before = own_state(saver.folder)

    made = saver.save()

    assert own_state(saver.folder) == before
    listed = call(saver.folder, "ls-tree", "-r", "-z", "--name-only", made.tree).split("\0")
    assert sorted(filter(None, listed)) == sorted(set(files_of(saver.folder)) - {"keep.secret"})
    assert call(saver.folder, "rev-parse", f"{made.commit}^") == call(saver.folder, "rev-parse", "HEAD")
    assert git.checkpoint_commits(saver.git_dir, AGENT) == [made]


def test_garbage_collection_keeps_checkpoints_and_what_they_need(saver: Saver) -> None:
    (saver.folder / "new").write_text("only in the checkpoint\n")
    commit(saver.folder, {"b": "x"}, "a commit that is dropped")
    made = saver.save()
    call(saver.folder, "reset", "--quiet", "--hard", "HEAD~1")
    call(saver.folder, "reflog", "expire", "--expire=now", "--all")

    call(saver.folder, "gc", "--quiet", "--prune=now")

    assert call(saver.folder, "show", f"{made.commit}:new") == "only in the checkpoint"
    assert call(saver.folder, "log", "-1", "--format=%s", f"{made.commit}^") == "a commit that is dropped"


def test_a_checkpoint_is_on_no_branch(saver: Saver) -> None:
    saver.save()

    assert "checkpoint" not in call(saver.folder, "branch", "--all").lower()
    assert "heckpoint" not in call(saver.folder, "log", "--branches", "--remotes", "--tags")


def test_bringing_files_back_restores_all_but_ignored_files(saver: Saver) -> None:
    start = saver.save()
    first = files_of(saver.folder)
    make_changes(saver.folder)
    changed = saver.save()
    second = files_of(saver.folder)
    before = own_state(saver.folder)[:3]

    done = saver.bring(start.tree)

    assert files_of(saver.folder) == first | {"keep.secret": second["keep.secret"]}
    assert own_state(saver.folder)[:3] == before, "index and HEAD stay"
    assert {"gone.txt", "new.txt"} & set(done.changed) == {"new.txt"}
    assert saver.tree().tree == start.tree

    saver.bring(changed.tree)
    assert files_of(saver.folder) == second
    assert call(saver.folder, "diff", "--cached", "--name-only") == "staged"


def test_a_number_is_given_once(saver: Saver) -> None:
    saver.save()
    saver.count = 0

    with pytest.raises(git.GitFailed):
        saver.save()


@pytest.mark.parametrize("path", ["hidden.secret", "build/x/y", "build"])
def test_an_ignored_file_in_the_way_is_named(saver: Saver, path: str) -> None:
    (saver.folder / ".gitignore").write_text("")
    (saver.folder / path).parent.mkdir(parents=True, exist_ok=True)
    (saver.folder / path).write_text("once tracked\n")
    made = saver.save()
    (saver.folder / path).unlink()
    (saver.folder / ".gitignore").write_text("*.secret\nbuild\n")
    assert saver.in_the_way(made.tree) == []
    if path == "hidden.secret":
        (saver.folder / path).write_text("mine\n")
        way = [path]
    elif path == "build":
        (saver.folder / "build").mkdir()
        (saver.folder / "build/other").write_text("mine\n")
        way = ["build/other"]
    else:
        (saver.folder / "build/x").rmdir()
        (saver.folder / "build").rmdir()
        (saver.folder / "build").write_text("mine\n")
        way = ["build"]

    assert saver.in_the_way(made.tree) == way


def test_a_file_that_becomes_a_folder_is_in_nobodys_way(saver: Saver) -> None:
    (saver.folder / "thing/x").parent.mkdir()
    (saver.folder / "thing/x").write_text("1\n")
    folder = saver.save()
    (saver.folder / "thing/x").unlink()
    (saver.folder / "thing").rmdir()
    (saver.folder / "thing").write_text("2\n")
    file = saver.save()

    assert saver.in_the_way(folder.tree) == []
    saver.bring(folder.tree)
    assert saver.in_the_way(file.tree) == []
    saver.bring(file.tree)
    assert (saver.folder / "thing").read_text() == "2\n"


def test_what_a_checkpoint_leaves_out_is_named_and_never_touched(saver: Saver) -> None:
    start = saver.save()
    with (saver.folder / "huge").open("wb") as file:
        file.truncate(LARGE + 1)
    call(saver.folder.parent, "init", "--quiet", str(saver.folder / "nested"))
    (saver.folder / "nested/file").write_text("x")
    os.mkfifo(saver.folder / "pipe")

    found = saver.tree()

    assert sorted(found.left_out) == ["huge", "nested/"]
    assert found.tree == start.tree
    (saver.folder / "new").write_text("x")
    saver.save()
    saver.bring(start.tree)
    assert not (saver.folder / "new").exists()
    assert (saver.folder / "huge").stat().st_size > LARGE
    assert (saver.folder / "nested/file").read_text() == "x"
    assert (saver.folder / "pipe").is_fifo()


def test_a_pipe_in_place_of_a_file_is_left_out(saver: Saver) -> None:
    (saver.folder / "a.txt").unlink()
    os.mkfifo(saver.folder / "a.txt")

    found = saver.tree()

    assert found.left_out == ("a.txt",)
    assert call(saver.folder, "ls-tree", "--name-only", found.tree, "a.txt") == "a.txt"


def test_files_that_git_is_told_to_overlook_are_saved(saver: Saver) -> None:
    call(saver.folder, "update-index", "--assume-unchanged", "a.txt")
    (saver.folder / "a.txt").write_text("changed in secret\n")

    made = saver.save()

    assert call(saver.folder, "show", f"{made.commit}:a.txt") == "changed in secret"


def test_a_sparse_worktree_loses_nothing(saver: Saver) -> None:
    commit(saver.folder, {"in/a": "1\n", "out/b": "1\n"})
    full = saver.save()
    call(saver.folder, "sparse-checkout", "set", "in")
    assert not (saver.folder / "out").exists()
    assert saver.tree().tree == full.tree, "what is not checked out is not deleted"
    (saver.folder / "in/a").write_text("2\n")
    changed = saver.save()

    saver.bring(full.tree)

    assert (saver.folder / "in/a").read_text() == "1\n"
    assert not (saver.folder / "out").exists()
    assert call(saver.folder, "ls-tree", "-r", "--name-only", changed.tree, "out") == "out/b"


def test_a_conflict_is_saved_as_the_files_are(saver: Saver) -> None:
    commit(saver.folder, {"a.txt": "mine\n"})
    call(saver.folder, "branch", "other", "HEAD~1")
    call(saver.folder, "stash", "list")
    other = call(saver.folder, "commit-tree", "-p", "HEAD~1", "-m", "o", _tree_with(saver.folder, "theirs\n"))
    subprocess.run(["git", "-C", str(saver.folder), "merge", other], capture_output=True, check=False)
    assert git.operation_in_progress(saver.place) == "merge"

    made = saver.save()

    assert "<<<<<<<" in call(saver.folder, "show", f"{made.commit}:a.txt")
    assert call(saver.folder, "diff", "--name-only", "--diff-filter=U") == "a.txt"


def _tree_with(folder: Path, text: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), "hash-object", "-w", "--stdin"], input=text, capture_output=True, text=True, check=True,
    )  # fmt: skip
    listed = call(folder, "ls-tree", "HEAD~1").replace(
        call(folder, "rev-parse", "HEAD~1:a.txt"), done.stdout.strip()
    )
    made = subprocess.run(
        ["git", "-C", str(folder), "mktree"], input=listed + "\n", capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


def test_a_submodule_stays_at_its_commit_and_is_named(saver: Saver, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    call(tmp_path, "init", "--quiet", str(inner))
    commit(inner, {"x": "1"})
    call(saver.folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    call(saver.folder, "commit", "--quiet", "-m", "sub")
    start = saver.save()
    commit(saver.folder / "sub", {"x": "2"})
    moved = saver.save()
    assert moved.tree != start.tree
    (saver.folder / "sub/x").write_text("uncommitted")

    done = saver.bring(start.tree)

    assert done.submodules == ("sub",)
    assert (saver.folder / "sub/x").read_text() == "uncommitted"
    assert call(saver.folder / "sub", "log", "--format=%s") == "a change\na change"


def test_no_filter_is_run_and_pointers_are_named(saver: Saver, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for name in ("clean", "smudge"):
        call(saver.folder, "config", f"filter.lfs.{name}", f"touch {ran}; cat")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n"
    (saver.folder / "big.bin").write_text(pointer)
    (saver.folder / ".gitattributes").write_text("*.bin filter=lfs\n")
    start = saver.save()
    (saver.folder / "big.bin").write_text("the content itself\n")
    changed = saver.save()

    done = saver.bring(start.tree)

    assert done.pointers == ("big.bin",)
    saver.bring(changed.tree)
    assert (saver.folder / "big.bin").read_text() == "the content itself\n"
    assert not ran.exists()


def test_files_that_change_meanwhile_are_not_overwritten(saver: Saver) -> None:
    start = saver.save()
    (saver.folder / "a.txt").write_text("second\n")
    second = saver.save()
    with git.scratch_objects(saver.git_dir) as scratch:
        now = git.files_tree(saver.place, scratch, AGENT)
        (saver.folder / "a.txt").write_text("written by the agent just now\n")
        (saver.folder / "src/b.py").write_text("this, too\n")

        with pytest.raises(git.GitFailed, match=r"a\.txt"):
            git.bring_files(saver.place, scratch, AGENT, now.tree, start.tree)

    assert now.tree == second.tree
    assert (saver.folder / "a.txt").read_text() == "written by the agent just now\n"


def test_checkpoints_are_dropped_one_by_one(saver: Saver) -> None:
    for number in range(4):
        (saver.folder / "f").write_text(str(number))
        saver.save()

    git.drop_checkpoints(saver.git_dir, AGENT, [1, 3])

    assert [one.number for one in git.checkpoint_commits(saver.git_dir, AGENT)] == [2, 4]


def test_a_file_that_is_ignored_by_now_is_no_longer_saved_nor_removed(saver: Saver) -> None:
    start = saver.save()
    (saver.folder / "settings").write_text("1")
    saver.save()
    (saver.folder / ".gitignore").write_text("settings\n")

    made = saver.save()

    assert call(saver.folder, "ls-tree", "--name-only", made.tree, "settings") == ""
    saver.bring(start.tree)
    assert (saver.folder / "settings").read_text() == "1"
