"""What a landing looks at before it changes anything: where a branch is checked out, and what of the user is in the way.

Only reads. Nothing is looked at through files in a worktree: git is given each place by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.checkpoints import operation_in_progress
from fleet_tui.git.entries import WorktreeEntry, admins, is_work_tree_of, read_line
from fleet_tui.git.head import read_head
from fleet_tui.git.plain import GitPlaces, plain_output
from fleet_tui.git.program import ask, output
from fleet_tui.git.repository import main_work_tree

MOST_NAMED = 8
"""Files that an error names; the others are counted."""


class InTheWay(Refused):
    """Files of the user that a landing would overwrite; nothing was changed."""

    def __init__(self, message: str, files: Iterable[str], *, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.files = tuple(files)


@dataclass(frozen=True, slots=True)
class LandingFiles:
    """What differs between two commits, as git's raw diff has it."""

    modes: Mapping[str, tuple[str, str]]
    """By path, the modes before and after; 000000 for none."""
    blobs: Mapping[str, tuple[str, str]]

    @property
    def added(self) -> list[str]:
        return [path for path, (old, _) in self.modes.items() if old == "000000"]

    @property
    def removed(self) -> set[str]:
        return {path for path, (_, new) in self.modes.items() if new == "000000"}


def landing_files(
    git_dir: Path, old: str, new: str, *, objects: Mapping[str, str] | None = None
) -> LandingFiles:
    """The files that differ between two commits or trees, renames taken apart."""
    command = ("--git-dir", str(git_dir), "diff-tree", "-r", "-z", "--no-renames", old, new)
    fields = output(git_dir, *command, variables=objects).split("\0")
    modes, blobs = {}, {}
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old_blob, new_blob, _ = head[1:].split(" ")
        modes[path], blobs[path] = (old_mode, new_mode), (old_blob, new_blob)
    return LandingFiles(modes, blobs)


def checkout_of(git_dir: Path, branch: str, root: Path | None = None) -> GitPlaces | None:
    """The worktree that has a branch checked out; None if none has.

    `root` is the main work tree by our own records, which git does not know if the git folder is kept elsewhere. Raises
    Refused if several worktrees have it, if a rebase holds it, or if its worktree is not known or does not lead back.
    """
    main, is_bare = main_work_tree(git_dir)
    if root is not None and root != git_dir and (root / ".git").exists():
        main = root
    places = [GitPlaces(git_dir, git_dir, main)] if main is not None else []
    if main is None and not is_bare and head_and_branch(GitPlaces(git_dir, git_dir, git_dir))[1] == branch:
        raise Refused(f"git does not know where {branch} is checked out", hint="set core.worktree there")
    places += [
        GitPlaces(git_dir, entry.folder, entry.worktree)
        for entry in admins(git_dir)
        if entry.worktree is not None
    ]
    found = [place for place in places if head_and_branch(place)[1] == branch]
    if len(found) > 1:
        folders = " and ".join(str(place.work_tree) for place in found)
        raise Refused(f"{branch} is checked out in {folders}", hint="switch one of them to another branch")
    for place in places:
        for part in ("rebase-merge", "rebase-apply"):
            if read_line(place.own / part / "head-name") == f"refs/heads/{branch}":
                raise Refused(f"{branch} is being rebased in {place.work_tree}", hint="finish or abort that")
    for place in found:
        if not is_work_tree_of(git_dir, place.own, place.work_tree):
            raise Refused(
                f"{branch} is checked out in {place.work_tree}, which has no .git that leads back",
                hint="see: git worktree list, and git config core.worktree",
            )
    return found[0] if found else None


def head_and_branch(place: GitPlaces) -> tuple[str, str]:
    """The commit and the branch of a worktree's HEAD; either may be empty."""
    if place.own != place.git_dir:
        return read_head(WorktreeEntry(place.own))
    ref = ask(place.git_dir, "symbolic-ref", "-q", "HEAD").stdout.strip()
    commit = ask(place.git_dir, "rev-parse", "-q", "--verify", "HEAD^{commit}").stdout.strip()
    return commit, ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else ""


def dirty_files(place: GitPlaces, commit: str) -> set[str]:
    """The tracked files of a worktree that differ from a commit, in the index or on the disk."""
    from fleet_tui.git.changes import same_by_stat

    staged = plain_output(place, "diff-index", "--cached", "--name-only", "-z", "--no-renames", commit, "--")
    options = ("--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty", "--no-renames")
    changed = {
        row[3:] for row in plain_output(place, "status", *options).split("\0") if row[1:2] not in ("", " ")
    }
    changed -= same_by_stat(place, sorted(changed))
    return {path for path in staged.split("\0") if path} | changed


def files_in_the_way(folder: Path, touched: LandingFiles) -> list[str]:
    """What lies in the place of files that a landing adds, ignored files included."""
    removed = touched.removed
    found: set[str] = set()
    for path in touched.added:
        parent = os.path.dirname(path)  # noqa: PTH120 - paths of a repository, not of this system
        while parent:
            if parent not in removed and _is_no_folder(folder / parent):
                found.add(parent)
            parent = os.path.dirname(parent)  # noqa: PTH120 - as above
        place = folder / path
        if place.is_dir() and not place.is_symlink():
            # A folder becomes a file: fine as long as it holds nothing but files that go.
            found |= set(_strangers(folder, path, removed)) if touched.modes[path][1] != "160000" else set()
        elif os.path.lexists(place):
            found.add(path)
    return sorted(found)


def _is_no_folder(path: Path) -> bool:
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _strangers(folder: Path, path: str, removed: set[str]) -> Iterable[str]:
    for parent, _, names in os.walk(folder / path):
        for name in names:
            inside = os.path.relpath(os.path.join(parent, name), folder)  # noqa: PTH118 - os.walk's own words
            if inside not in removed:
                yield inside


def refuse_unfinished(place: GitPlaces) -> None:
    """Raise Refused while git is in the middle of something in a worktree."""
    if what := operation_in_progress(place):
        raise Refused(
            f"{place.work_tree} is in the middle of a {what}; nothing was changed",
            hint="finish or abort that, then land again",
        )


def refuse_overwriting(place: GitPlaces, touched: LandingFiles, changed: Collection[str]) -> None:
    """Raise InTheWay for changed files that a landing touches, and for what lies in the place of its new files."""
    if dirty := sorted(touched.modes.keys() & set(changed)):
        raise InTheWay(
            f"{place.work_tree} has uncommitted changes in {named(dirty)}; nothing was changed",
            dirty,
            hint="commit or stash them there, then land again",
        )
    if there := files_in_the_way(place.work_tree, touched):
        raise InTheWay(
            f"{named(there)} in {place.work_tree} would be overwritten; nothing was changed",
            there,
            hint="move that away, then land again",
        )


def named(paths: Collection[str]) -> str:
    """Some of these paths, and how many more there are."""
    some = sorted(paths)[:MOST_NAMED]
    left = len(paths) - len(some)
    return ", ".join(some) + (f" and {left} more" if left else "")


def check_tip(git_dir: Path, branch: str, commit: str) -> None:
    """Raise Refused if a branch is no longer at a commit."""
    now = ask(git_dir, "rev-parse", "-q", "--verify", f"refs/heads/{branch}").stdout.strip()
    if now != commit:
        moved = f"has moved to {now[:10]}" if now else "is gone"
        raise Refused(f"branch {branch!r} {moved} meanwhile; nothing was changed", hint="land again")
