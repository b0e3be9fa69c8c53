"""Worktrees are trashed, restored and emptied without losing any work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import asdict
from tests.git import repositories
from tests.git.repositories import attempt, branches, call, commit, entries, make, worktree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repositories.isolate(tmp_path / "home", monkeypatch)


@pytest.fixture
def trash(tmp_path: Path) -> Path:
    return tmp_path / "trees" / ".trash"


def discard(place: Path, trash: Path, *, delete_branch: bool = False) -> git.TrashedWorktree:
    return git.to_trash(place, trash, stamp="20260101-120000", delete_branch=delete_branch)


def collect_garbage(repo: Path) -> None:
    call(repo, "reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all")
    call(repo, "worktree", "prune")
    call(repo, "gc", "--quiet", "--prune=now")


def work_in(place: Path) -> None:
    """Create everything that a worktree can hold besides commits."""
    (place / "a.txt").write_text("staged\n")
    call(place, "add", "a.txt")
    (place / "a.txt").write_text("unstaged\n")
    (place / "added.txt").write_text("only staged\n")
    call(place, "add", "added.txt")
    (place / "added.txt").unlink()
    (place / "new file").write_text("untracked\n")
    (place / "run.sh").write_text("#!/bin/sh\n")
    (place / "run.sh").chmod(0o755)
    (place / "link").symlink_to("nowhere")
    (place / "key.secret").write_text("password\n")
    (place / "build").mkdir()
    (place / "build" / "out").write_text("large\n")
    (place / "empty folder").mkdir()


def picture(place: Path) -> dict[str, object]:
    """Everything that a round trip must preserve."""
    files = {}
    for path in sorted(place.rglob("*")):
        if path.name == ".git":
            continue
        content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        files[str(path.relative_to(place))] = (path.lstat().st_mode, content)
    return {
        "files": files,
        "status": call(place, "status", "--porcelain=v2", "--branch", "--ignored"),
        "index": call(place, "ls-files", "--stage"),
        "staged": call(place, "diff", "--cached"),
    }


# ── round trips ──


def test_a_worktree_comes_back_exactly_as_it_was(repo: Path, place: Path, trash: Path) -> None:
    commit(place, {"c.txt": "c\n"})
    work_in(place)
    before = picture(place)

    moved = discard(place, trash)
    assert not place.exists()
    assert moved.path.parent == trash
    assert (moved.path / "key.secret").read_text() == "password\n"
    restored = git.from_trash(moved.path)

    assert restored == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before
    assert git.worktrees(git.discover(repo))[1].is_locked is False
    assert list(trash.iterdir()) == []


def test_the_record_says_what_was_trashed(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})

    moved = discard(place, trash)

    assert git.trashed(trash) == [moved]
    assert (moved.original, moved.branch, moved.head) == (place, "side", head)
    assert (moved.repo, moved.admin_name, moved.stamp) == (repo / ".git", "side", "20260101-120000")
    assert moved.has_folder
    assert not moved.branch_deleted
    assert git.trashed(trash / "nowhere") == []


def test_the_branch_of_a_trashed_worktree_is_free(repo: Path, place: Path, trash: Path) -> None:
    discard(place, trash)

    call(repo, "checkout", "--quiet", "side")


def test_git_knows_where_a_trashed_worktree_is(repo: Path, place: Path, trash: Path) -> None:
    work_in(place)
    head = call(place, "rev-parse", "HEAD")

    moved = discard(place, trash)

    listed = git.worktrees(git.discover(repo))[1]
    assert listed == git.Worktree(moved.path, "side", head, "", True, "in the fleet's trash")
    assert " M a.txt" not in call(moved.path, "status", "--porcelain")
    assert "MM a.txt" in call(moved.path, "status", "--porcelain")


def test_garbage_collection_loses_nothing_of_the_trash(repo: Path, place: Path, trash: Path) -> None:
    commit(place, {"c.txt": "c\n"})
    work_in(place)
    before = picture(place)
    moved = discard(place, trash, delete_branch=True)
    assert branches(repo) == {"main"}

    collect_garbage(repo)
    restored = git.from_trash(moved.path)

    assert restored == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before
    assert call(place, "show", ":a.txt") == "staged"
    assert call(place, "show", ":added.txt") == "only staged"


def test_a_deleted_branch_comes_back_with_its_commits(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})
    moved = discard(place, trash, delete_branch=True)
    assert moved.branch_deleted
    assert branches(repo) == {"main"}

    git.from_trash(moved.path)

    assert call(repo, "rev-parse", "side") == head
    assert call(place, "symbolic-ref", "--short", "HEAD") == "side"


def test_packed_branches_are_found_and_deleted(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})
    call(repo, "pack-refs", "--all")

    moved = discard(place, trash, delete_branch=True)

    assert moved.head == head
    assert branches(repo) == {"main"}
    assert git.from_trash(moved.path).branch == "side"


def test_only_the_branch_that_the_worktree_was_made_for_is_deleted(
    repo: Path, place: Path, trash: Path
) -> None:
    call(place, "checkout", "--quiet", "-b", "precious")

    moved = git.to_trash(place, trash, stamp="s", delete_branch=True, branch="side")

    assert branches(repo) == {"main", "side", "precious"}
    assert (moved.branch, moved.branch_deleted) == ("precious", False)
    assert git.from_trash(moved.path).branch == "precious"


def test_a_branch_that_another_worktree_uses_is_not_deleted(repo: Path, place: Path, trash: Path) -> None:
    call(repo, "checkout", "--quiet", "--ignore-other-worktrees", "side")

    moved = discard(place, trash, delete_branch=True)

    assert not moved.branch_deleted
    assert not git.trashed(trash)[0].branch_deleted
    assert branches(repo) == {"main", "side"}


def test_a_detached_worktree_comes_back_detached(repo: Path, place: Path, trash: Path) -> None:
    call(place, "checkout", "--quiet", "--detach")
    head = commit(place, {"c.txt": "c\n"})
    moved = discard(place, trash, delete_branch=True)
    assert (moved.branch, moved.head) == ("", head)

    collect_garbage(repo)

    assert git.from_trash(moved.path) == git.RestoredWorktree(place, "", "")
    assert call(place, "rev-parse", "HEAD") == head
    assert branches(repo) == {"main", "side"}


def test_a_branch_without_a_commit_goes_and_comes_back(place: Path, trash: Path) -> None:
    call(place, "checkout", "--quiet", "--orphan", "fresh")
    before = picture(place)

    moved = discard(place, trash, delete_branch=True)
    assert (moved.branch, moved.head, moved.branch_deleted) == ("fresh", "", False)
    git.from_trash(moved.path)

    assert picture(place) == before


@pytest.mark.parametrize("how", ["merge", "rebase"])
def test_a_merge_or_rebase_in_the_middle_goes_on_after_the_return(
    repo: Path, place: Path, trash: Path, how: str
) -> None:
    commit(repo, {"a.txt": "theirs\n"})
    commit(place, {"a.txt": "ours\n"})
    assert not attempt(place, how, "main")
    before = picture(place)

    git.from_trash(discard(place, trash).path)

    assert picture(place) == before
    (place / "a.txt").write_text("both\n")
    call(place, "add", "a.txt")
    call(place, "-c", "core.editor=true", how, "--continue")
    assert call(place, "symbolic-ref", "--short", "HEAD") == "side"
    assert attempt(place, "merge-base", "--is-ancestor", "main", "HEAD")


def test_a_worktree_with_submodules_goes_and_comes_back(tmp_path: Path, repo: Path, trash: Path) -> None:
    place = with_submodule(tmp_path, repo)
    (place / "part" / "a.txt").write_text("changed\n")
    before = picture(place)

    git.from_trash(discard(place, trash).path)

    assert picture(place) == before
    assert call(place / "part", "status", "--porcelain").strip() == "M a.txt"


def test_the_links_may_be_relative(repo: Path, place: Path, trash: Path) -> None:
    entry = repo / ".git" / "worktrees" / "side"
    (entry / "gitdir").write_text(os.path.relpath(place / ".git", entry) + "\n")
    (place / ".git").write_text(f"gitdir: {os.path.relpath(entry, place)}\n")
    work_in(place)
    before = picture(place)

    moved = discard(place, trash)
    assert call(moved.path, "rev-parse", "--absolute-git-dir") == str(entry)
    git.from_trash(moved.path)

    assert picture(place) == before
    assert not (entry / "gitdir").read_text().startswith("/")


def test_a_sha256_repository_has_a_trash_too(tmp_path: Path, trash: Path) -> None:
    repo = make(tmp_path / "modern", "--object-format=sha256")
    place = worktree(repo, "side", tmp_path / "trees" / "side")
    work_in(place)
    before = picture(place)

    git.from_trash(discard(place, trash, delete_branch=True).path)
    assert picture(place) == before
    ref = git.empty_trashed(discard(place, trash))

    assert call(repo, "show", f"{ref}:new file") == "untracked"


# ── when something changed meanwhile ──


def test_a_branch_that_moved_meanwhile_is_left_alone(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})
    moved = discard(place, trash)
    call(repo, "branch", "--force", "side", "main")

    restored = git.from_trash(moved.path)

    assert restored.branch == ""
    assert "has moved" in restored.note
    assert call(place, "rev-parse", "HEAD") == head
    assert call(repo, "rev-parse", "side") == call(repo, "rev-parse", "main")


def test_a_branch_that_is_used_meanwhile_is_left_alone(repo: Path, place: Path, trash: Path) -> None:
    moved = discard(place, trash)
    call(repo, "checkout", "--quiet", "side")

    restored = git.from_trash(moved.path)

    assert restored.branch == ""
    assert f"checked out in {repo}" in restored.note


def test_a_branch_that_cannot_be_made_again_leaves_head_detached(
    repo: Path, place: Path, trash: Path
) -> None:
    moved = discard(place, trash, delete_branch=True)
    call(repo, "branch", "side/way")

    restored = git.from_trash(moved.path)

    assert restored.branch == ""
    assert "cannot be created again" in restored.note
    assert not git.status(git.place_at(place))


def test_a_place_that_is_taken_meanwhile_is_refused_and_the_trash_keeps_it(place: Path, trash: Path) -> None:
    moved = discard(place, trash)
    place.mkdir()

    with pytest.raises(Refused, match="is taken"):
        git.from_trash(moved.path)

    assert git.trashed(trash) == [moved]
    place.rmdir()
    assert git.from_trash(moved.path).branch == "side"


def test_a_folder_that_the_user_removed_leaves_a_record_and_comes_back_from_the_index(
    repo: Path, place: Path, trash: Path
) -> None:
    work_in(place)
    shutil.rmtree(place)

    moved = git.to_trash(place, trash, stamp="s", delete_branch=True, repo_root=repo)
    assert not moved.has_folder
    assert git.trashed(trash) == [moved]
    collect_garbage(repo)
    restored = git.from_trash(moved.path)

    assert restored.branch == "side"
    assert "folder was gone" in restored.note
    assert (place / "a.txt").read_text() == "staged\n"
    assert (place / "added.txt").read_text() == "only staged\n"
    assert call(place, "diff", "--name-only") == ""


def test_a_folder_that_was_never_there_is_not_found(place: Path, trash: Path, repo: Path) -> None:
    for root in (None, repo):
        with pytest.raises(NotFound):
            git.to_trash(place.parent / "nobody", trash, stamp="s", delete_branch=False, repo_root=root)


def test_a_missing_entry_is_made_again(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})
    (place / "c.txt").write_text("work\n")
    shutil.rmtree(repo / ".git" / "worktrees" / "side")

    moved = git.to_trash(place, trash, stamp="s", delete_branch=False, branch="side")
    restored = git.from_trash(moved.path)

    assert restored.branch == "side"
    assert call(place, "rev-parse", "HEAD") == head
    assert call(place, "diff", "--name-only") == "c.txt"


def test_an_entry_that_vanishes_while_in_the_trash_is_made_again(
    repo: Path, place: Path, trash: Path
) -> None:
    (place / "new.txt").write_text("x")
    moved = discard(place, trash)
    shutil.rmtree(repo / ".git" / "worktrees" / "side")

    assert git.from_trash(moved.path).branch == "side"
    assert git.status(git.place_at(place)) == [git.FileChange("new.txt", "untracked")]


def test_a_worktree_that_lost_its_link_is_found_through_the_repository(
    repo: Path, place: Path, trash: Path
) -> None:
    (place / ".git").unlink()

    moved = git.to_trash(place, trash, stamp="s", delete_branch=False, repo_root=repo)

    assert git.from_trash(moved.path).branch == "side"
    assert not git.status(git.place_at(place))


def test_a_repository_that_is_gone_is_a_reason_to_keep_everything(
    repo: Path, place: Path, trash: Path, tmp_path: Path
) -> None:
    other = worktree(repo, "other", tmp_path / "trees" / "other")
    moved = discard(place, trash)
    away = repo.rename(tmp_path / "away")

    for action in (
        lambda: git.from_trash(moved.path),
        lambda: git.empty_trashed(moved),
        lambda: discard(other, trash),
    ):
        with pytest.raises(Refused, match="is gone"):
            action()
    assert (moved.path / "a.txt").exists()
    assert (other / "a.txt").exists()

    git.repair(git.discover(away), [moved.path])
    assert git.from_trash(moved.path).branch == "side"
    assert not git.status(git.place_at(place))


def test_the_main_tree_and_foreign_folders_are_never_trashed(repo: Path, trash: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()

    with pytest.raises(Refused):
        discard(repo, trash)
    with pytest.raises(NotFound):
        discard(tmp_path / "plain", trash)

    assert (repo / "a.txt").exists()
    assert (tmp_path / "plain").exists()


def test_a_copy_of_a_worktree_does_not_take_the_originals_entry(place: Path, trash: Path) -> None:
    shutil.copytree(place, place.parent / "copy")

    with pytest.raises(Refused, match="is a copy"):
        discard(place.parent / "copy", trash)

    assert call(place, "symbolic-ref", "--short", "HEAD") == "side"


def test_another_filesystem_is_refused_and_nothing_has_changed(repo: Path, place: Path) -> None:
    here = place.stat().st_dev
    folders = [Path("/dev/shm"), Path("/var/tmp"), Path("/tmp")]
    elsewhere = next((one for one in folders if one.is_dir() and one.stat().st_dev != here), None)
    if elsewhere is None:
        pytest.skip("there is no second filesystem here")
    git.lock(repo / ".git", place, "alive")
    with tempfile.TemporaryDirectory(dir=elsewhere) as other:
        with pytest.raises(Refused, match="different filesystems"):
            discard(place, Path(other))
        assert list(Path(other).iterdir()) == []

    assert call(place, "symbolic-ref", "--short", "HEAD") == "side"
    assert git.worktrees(git.discover(repo))[1].lock_reason == "alive"


@pytest.mark.parametrize(
    "damage", ["{", None, *(pytest.param(text, marks=pytest.mark.slow) for text in ("[]", '{"original": 5}'))]
)
def test_a_worktree_whose_record_is_damaged_or_lost_comes_back_and_hides_no_other(
    repo: Path, place: Path, trash: Path, damage: str | None
) -> None:
    other = discard(worktree(repo, "other", place.with_name("other")), trash)
    work_in(place)
    before = picture(place)
    moved = discard(place, trash)
    record = moved.path.with_name(f"{moved.path.name}.json")
    record.unlink() if damage is None else record.write_text(damage)

    assert {item.path for item in git.trashed(trash)} == {moved.path, other.path}
    assert git.find_trashed(trash / "nothing", original=place, branch="side") is None
    found = git.find_trashed(moved.path, original=place, branch="side")
    assert found is not None
    git.restore_record(found)
    assert git.from_trash(found.path) == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before


def test_a_damaged_record_does_not_keep_a_worktree_of_that_name_from_being_trashed(
    place: Path, trash: Path
) -> None:
    trash.mkdir()
    (trash / "side.earlier.json").write_text("{")

    assert discard(place, trash).path.is_dir()


# ── killed at any step ──


@pytest.mark.parametrize("step", ["rename_folder", "connect", "set_head", "_delete_branch"])
def test_a_move_that_was_killed_is_finished_by_the_next(
    repo: Path, place: Path, trash: Path, step: str
) -> None:
    work_in(place)
    before = picture(place)
    die_at("to_trash", step, place, trash)

    moved = git.to_trash(place, trash, stamp="again", delete_branch=True)

    assert branches(repo) == {"main"}
    assert git.trashed(trash) == [moved]
    assert git.from_trash(moved.path) == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before


@pytest.mark.parametrize("step", ["rename_folder", "connect", "_attach", "set_head"])
def test_a_return_that_was_killed_is_finished_by_the_next(place: Path, trash: Path, step: str) -> None:
    work_in(place)
    before = picture(place)
    moved = discard(place, trash, delete_branch=True)
    die_at("from_trash", step, moved.path)

    assert git.from_trash(moved.path) == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before


EMPTYING = ["save", "pack", "write_record", "rename_folder", "remove_tree"]
"""The steps of emptying, in order; it may be killed at each."""


@pytest.mark.parametrize("step", EMPTYING)
def test_an_emptying_that_was_killed_is_finished_by_the_next(
    repo: Path, place: Path, trash: Path, step: str
) -> None:
    work_in(place)
    moved = discard(place, trash)
    die_at("empty", step, trash)

    ref = git.empty_trashed(moved)

    assert call(repo, "show", f"{ref}:new file") == "untracked"
    assert list(trash.iterdir()) == [git.archive_of(moved.path)]
    assert entries(repo) == []


@pytest.mark.parametrize("step", EMPTYING)
def test_an_emptying_that_was_killed_is_undone_whole_or_has_saved_everything(
    repo: Path, place: Path, trash: Path, step: str
) -> None:
    work_in(place)
    before = picture(place)
    moved = discard(place, trash)
    die_at("empty", step, trash)

    if step != "remove_tree":
        assert git.from_trash(moved.path) == git.RestoredWorktree(place, "side", "")
        assert picture(place) == before
        assert list(trash.iterdir()) == []
    else:
        with pytest.raises(Refused, match="was being emptied") as refused:
            git.from_trash(moved.path)
        assert f"git worktree add {place} refs/fleet/trash/side/" in refused.value.hint
        call(repo, "worktree", "add", "--quiet", "--detach", str(place), refused.value.hint.split()[-1])
        with tarfile.open(git.archive_of(moved.path)) as archive:
            archive.extractall(place, filter="data")
        assert (place / "new file").read_text() == "untracked\n"
        assert (place / "key.secret").read_text() == "password\n"
        assert (place / "build" / "out").read_text() == "large\n"


@pytest.mark.parametrize(
    "step",
    ["connect", *(pytest.param(step, marks=pytest.mark.slow) for step in ("_attach", "set_head"))],
)
def test_a_killed_restore_is_not_emptied_as_trash(repo: Path, place: Path, trash: Path, step: str) -> None:
    work_in(place)
    before = picture(place)
    moved = discard(place, trash, delete_branch=True)
    die_at("from_trash", step, moved.path)

    with pytest.raises(Refused, match="was being restored"):
        git.empty_trashed(moved)

    assert entries(repo) == ["side"]
    assert git.from_trash(moved.path) == git.RestoredWorktree(place, "side", "")
    assert picture(place) == before


def test_a_copy_of_a_worktree_in_the_trash_is_not_mistaken_for_the_original(
    repo: Path, place: Path, trash: Path
) -> None:
    shutil.copytree(place, trash / "side.20260101-120000", symlinks=True)

    assert git.trashed(trash) == []
    with pytest.raises(Refused, match="no longer a worktree"):
        git.find_trashed(trash / "side.20260101-120000", original=place, branch="side")
    assert entries(repo) == ["side"]


def die_at(verb: str, step: str, *paths: Path) -> None:
    """Run a verb in a process that kills itself right before a step."""
    script = (
        "import os, signal, sys; from pathlib import Path; from fleet_tui.git import emptying, trash, trash_records\n"
        "for module in (emptying, trash):\n"
        "    if hasattr(module, sys.argv[2]):\n"
        "        setattr(module, sys.argv[2], lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))\n"
        "paths = [Path(path) for path in sys.argv[3:]]\n"
        "if sys.argv[1] == 'to_trash': trash.to_trash(*paths, stamp='first', delete_branch=True)\n"
        "if sys.argv[1] == 'from_trash': trash.from_trash(*paths)\n"
        "if sys.argv[1] == 'empty': emptying.empty_trashed(trash_records.trashed(*paths)[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, verb, step, *map(str, paths)], capture_output=True, check=False
    )
    assert done.returncode == -9, done.stderr


# ── emptying ──


def test_emptying_keeps_tracked_and_untracked_work_under_a_ref(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})
    work_in(place)
    (place / "src" / "b.py").unlink()

    ref = git.empty_trashed(discard(place, trash, delete_branch=True))
    collect_garbage(repo)

    assert ref == "refs/fleet/trash/side/20260101-120000"
    assert call(repo, "rev-parse", f"{ref}^1") == head
    saved = worktree(repo, "saved", place, base=ref)
    assert (saved / "a.txt").read_text() == "unstaged\n"
    assert (saved / "new file").read_text() == "untracked\n"
    assert (saved / "link").readlink() == Path("nowhere")
    assert os.access(saved / "run.sh", os.X_OK)
    assert not (saved / "src" / "b.py").exists()
    assert call(repo, "show", f"{ref}^2:a.txt") == "staged"
    assert call(repo, "show", f"{ref}^2:added.txt") == "only staged"


def test_no_ignored_file_ever_becomes_an_object(repo: Path, place: Path, trash: Path) -> None:
    work_in(place)
    secret = call(place, "hash-object", "key.secret")
    built = call(place, "hash-object", "build/out")

    git.empty_trashed(discard(place, trash))

    assert not attempt(repo, "cat-file", "-e", secret)
    assert not attempt(repo, "cat-file", "-e", built)


def test_emptying_leaves_no_folder_entry_or_record(repo: Path, place: Path, trash: Path) -> None:
    call(repo, "config", "branch.side.remote", "origin")
    read_only = place / "build"
    read_only.mkdir()
    (read_only / "x").write_text("x")
    read_only.chmod(0o500)

    moved = discard(place, trash, delete_branch=True)
    git.empty_trashed(moved)

    assert list(trash.iterdir()) == [git.archive_of(moved.path)]
    assert entries(repo) == []
    assert not attempt(repo, "config", "--get-regexp", "^branch\\.side")
    worktree(repo, "side", place)


def test_a_clean_worktree_is_saved_as_its_commit(repo: Path, place: Path, trash: Path) -> None:
    head = commit(place, {"c.txt": "c\n"})

    ref = git.empty_trashed(discard(place, trash))

    assert call(repo, "rev-parse", ref) == head


def test_a_conflict_is_saved_as_the_files_show_it(repo: Path, place: Path, trash: Path) -> None:
    commit(repo, {"a.txt": "theirs\n"})
    commit(place, {"a.txt": "ours\n"})
    assert not attempt(place, "merge", "main")

    ref = git.empty_trashed(discard(place, trash))

    assert "<<<<<<<" in call(repo, "show", f"{ref}:a.txt")


def test_files_marked_assume_unchanged_or_skip_worktree_are_saved(
    repo: Path, place: Path, trash: Path
) -> None:
    call(place, "update-index", "--assume-unchanged", "a.txt")
    call(place, "update-index", "--skip-worktree", "src/b.py")
    (place / "a.txt").write_text("overlooked\n")
    (place / "src" / "b.py").write_text("skipped\n")

    ref = git.empty_trashed(discard(place, trash))

    assert call(repo, "show", f"{ref}:a.txt") == "overlooked"
    assert call(repo, "show", f"{ref}:src/b.py") == "skipped"


def test_a_change_within_the_second_of_the_last_commit_is_saved(repo: Path, place: Path, trash: Path) -> None:
    # Most builds of git compare whole seconds, and read a file again only if the index is not newer.
    call(repo, "config", "core.trustctime", "false")
    file, moment = place / "src" / "b.py", (1_000_000_000, 1_000_000_000)
    os.utime(file, moment)
    call(place, "update-index", "--refresh")
    file.write_text("other()\n"[: file.stat().st_size])
    os.utime(file, moment)
    os.utime(repo / ".git" / "worktrees" / "side" / "index", moment)
    assert call(place, "--no-optional-locks", "status", "--porcelain") == "M src/b.py"
    moved = discard(place, trash)

    assert git.trash_contents(moved).uncommitted == ("src/b.py",)
    ref = git.empty_trashed(moved)

    assert call(repo, "show", f"{ref}:src/b.py") == "other()"


def test_a_sparse_worktree_is_saved_without_deleting_what_it_left_out(
    repo: Path, place: Path, trash: Path
) -> None:
    commit(place, {"big/one": "1"})
    call(place, "sparse-checkout", "set", "src")
    assert not (place / "big").exists()
    (place / "big").mkdir()
    (place / "big" / "two").write_text("outside the cone")
    (place / "src" / "new.py").write_text("new")

    ref = git.empty_trashed(discard(place, trash))

    names = call(repo, "ls-tree", "-r", "--name-only", ref).splitlines()
    assert {"big/one", "big/two", "src/new.py", "src/b.py"} <= set(names)


def test_hooks_and_the_lack_of_an_identity_do_not_matter(
    repo: Path, place: Path, trash: Path, tmp_path: Path
) -> None:
    work_in(place)
    (tmp_path / "home" / ".gitconfig").write_text(
        "[commit]\n\tgpgSign = true\n[user]\n\tuseConfigOnly = true\n"
    )
    for name in ("reference-transaction", "pre-commit", "post-index-change"):
        hook = repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hooked\nexit 1\n")
        hook.chmod(0o755)

    ref = git.empty_trashed(discard(place, trash))

    assert call(repo, "show", f"{ref}:a.txt") == "unstaged"
    assert not (tmp_path / "hooked").exists()


@pytest.mark.parametrize("has_commit", [True, False])
def test_a_repository_inside_a_worktree_is_not_deleted(place: Path, trash: Path, has_commit: bool) -> None:
    if has_commit:
        make(place / "inner")
    else:
        (place / "inner").mkdir()
        call(place / "inner", "init", "--quiet")
        (place / "inner" / "x").write_text("x")
    moved = discard(place, trash)

    with pytest.raises(FleetError, match="inner"):
        git.empty_trashed(moved)

    assert git.trashed(trash) == [moved]
    assert (moved.path / "inner" / ".git").is_dir()
    assert git.from_trash(moved.path).branch == "side"


def with_submodule(tmp_path: Path, repo: Path) -> Path:
    outer = make(tmp_path / "outer")
    call(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repo), "part")
    commit(outer, {})
    place = worktree(outer, "side", tmp_path / "trees" / "outer-side")
    assert list((place / "part").iterdir()) == []
    call(place, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    return place


@pytest.mark.slow
def test_a_clean_submodule_does_not_keep_a_worktree_from_being_emptied(
    tmp_path: Path, repo: Path, trash: Path
) -> None:
    place = with_submodule(tmp_path, repo)
    (place / "a.txt").write_text("work\n")

    ref = git.empty_trashed(discard(place, trash))

    assert call(tmp_path / "outer", "show", f"{ref}:a.txt") == "work"
    assert "160000 commit" in call(tmp_path / "outer", "ls-tree", ref, "part")


@pytest.mark.parametrize("work", ["uncommitted", pytest.param("committed", marks=pytest.mark.slow)])
def test_work_that_only_a_submodule_holds_is_not_deleted(
    tmp_path: Path, repo: Path, trash: Path, work: str
) -> None:
    place = with_submodule(tmp_path, repo)
    (place / "part" / "a.txt").write_text("work\n")
    if work == "committed":
        commit(place / "part", {})
    moved = discard(place, trash)

    with pytest.raises(Refused, match="submodule part"):
        git.empty_trashed(moved)

    assert git.from_trash(moved.path).path == place
    assert (place / "part" / "a.txt").read_text() == "work\n"


@pytest.mark.parametrize("work", ["stash", "tag", "overlooked"])
def test_work_that_only_a_staged_clone_holds_is_not_deleted(
    repo: Path, place: Path, trash: Path, work: str
) -> None:
    """`git add` of a clone turns it into a submodule whose repository is inside the worktree."""
    call(place, "clone", "--quiet", str(repo), "part")
    call(place, "-c", "advice.addEmbeddedRepo=false", "add", "part")
    part = place / "part"
    if work == "tag":
        call(part, "checkout", "--quiet", "--detach")
        commit(part, {"a.txt": "work\n"})
        call(part, "tag", "kept")
        call(part, "checkout", "--quiet", "main")
    else:
        if work == "overlooked":
            call(part, "update-index", "--assume-unchanged", "a.txt")
        (part / "a.txt").write_text("work\n")
    if work == "stash":
        call(part, "-c", "user.name=x", "-c", "user.email=x@x", "stash", "--quiet")
    moved = discard(place, trash)

    with pytest.raises(Refused, match="submodule part"):
        git.empty_trashed(moved)

    assert git.from_trash(moved.path).path == place
    assert (part / ".git").is_dir()


def test_what_was_written_after_an_emptying_was_killed_is_saved_too(
    repo: Path, place: Path, trash: Path
) -> None:
    (place / "new.txt").write_text("early\n")
    moved = discard(place, trash)
    record = moved.path.with_name(f"{moved.path.name}.json")
    whole = trash / "whole"
    shutil.copytree(moved.path, whole)
    entry = repo / ".git" / "worktrees" / moved.admin_name
    shutil.copytree(entry, trash / "entry")
    ref = git.empty_trashed(moved)
    # As after an emptying that was killed right before it renamed the folder.
    whole.rename(moved.path)
    (trash / "entry").rename(entry)
    facts = asdict(moved) | {"original": str(moved.original), "repo": str(moved.repo), "saved": ref}
    del facts["path"]
    record.write_text(json.dumps(facts))
    (moved.path / "new.txt").write_text("late\n")

    again = git.empty_trashed(moved)

    assert call(repo, "show", f"{again}:new.txt") == "late"
    assert not moved.path.exists()


def test_if_saving_fails_nothing_is_deleted(repo: Path, place: Path, trash: Path) -> None:
    work_in(place)
    moved = discard(place, trash)
    (repo / ".git" / "refs" / "fleet").write_text("in the way")

    with pytest.raises(git.GitFailed):
        git.empty_trashed(moved)

    assert (moved.path / "key.secret").exists()
    assert entries(repo) == ["side"]
    (repo / ".git" / "refs" / "fleet").unlink()
    assert git.from_trash(moved.path).branch == "side"


def test_a_folder_that_was_gone_is_emptied_to_its_index(repo: Path, place: Path, trash: Path) -> None:
    work_in(place)
    shutil.rmtree(place)

    ref = git.empty_trashed(git.to_trash(place, trash, stamp="s", delete_branch=False, repo_root=repo))

    assert call(repo, "show", f"{ref}:added.txt") == "only staged"
    assert entries(repo) == []


def test_moving_starts_no_process_unless_a_branch_is_deleted(
    place: Path, trash: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert discard(place, trash).path.is_dir()
