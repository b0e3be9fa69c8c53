"""The files of a worktree as one tree, uncommitted ones included, without touching its index, HEAD or files.

Git works on an index of its own in the scratch folder, which is kept, so that the next snapshot reads only what has
changed. No program that a configuration names is run: a changed file with a filter (Git LFS) is taken as it is on the
disk. What a tree cannot hold is left out: other repositories, and what submodules have not committed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces, plain_output
from fleet_tui.git.program import GitFailed
from fleet_tui.git.rescue import PLAIN
from fleet_tui.git.scratch import ScratchObjects

LARGE = 50 << 20
"""Bytes of an untracked file that is left out: hashing one of 200 MB takes 20 seconds."""
SECONDS = 300.0
_STATUS = (
    *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"),
    *("--untracked-files=all", "--ignore-submodules=dirty"),
)
_HEAD = "# branch.oid "


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A worktree's files at one moment."""

    tree: str
    left_out: tuple[str, ...] = ()
    """Untracked files that are too large, what cannot be read, and other repositories; these end with a slash."""
    head: str = ""
    """The commit of HEAD; empty before the first one."""


def take_snapshot(
    place: GitPlaces, scratch: ScratchObjects, key: str, *, seconds: float = SECONDS
) -> Snapshot:
    """The tree of a worktree's files, written to the scratch objects. `key` names the worktree's index there.

    Raises GitFailed if one of git's steps takes longer than `seconds`.
    """
    index = scratch.index(key)
    with exclusive(index):
        return snapshot_by(place, scratch.variables, index, seconds=seconds)


def snapshot_by(
    place: GitPlaces, objects: Mapping[str, str], index: Path, *, seconds: float = SECONDS
) -> Snapshot:
    """The tree of a worktree's files, by an index of ours that the caller uses alone. `objects` says where git writes;
    without it, git writes to the repository."""
    if index.exists() and not is_sparse(place):
        try:
            return _snapshot(place, objects, index, seconds, is_known=True)
        except (GitFailed, _RulesChanged):
            # The repository may have dropped an object that this index names.
            index.unlink(missing_ok=True)
    _copy_index(place, objects, index)
    return _snapshot(place, objects, index, seconds)


def is_sparse(place: GitPlaces) -> bool:
    """Whether files may be missing on purpose. Only the worktree's own index knows which, so it is copied each time."""
    return (place.own / "info" / "sparse-checkout").exists()


def _copy_index(place: GitPlaces, objects: Mapping[str, str], index: Path) -> None:
    import shutil

    own = place.own / "index"
    draft = index.with_name(f"{index.name}.new")
    draft.unlink(missing_ok=True)
    if own.is_file():
        # With its time: git checks the content of files that are not older than the index.
        shutil.copy2(own, draft)
    else:
        variables = {**objects, "GIT_INDEX_FILE": str(draft)}
        plain_output(place, "read-tree", "HEAD", variables=variables)
    _stop_overlooking(place, objects, draft)
    draft.replace(index)


def _stop_overlooking(place: GitPlaces, objects: Mapping[str, str], index: Path) -> None:
    """Clear assume-unchanged, so that git sees changes in such files."""
    variables = {**objects, "GIT_INDEX_FILE": str(index)}
    tagged = plain_output(place, "ls-files", "-v", "-z", variables=variables).split("\0")
    assumed = [entry[2:] for entry in tagged if entry[:1].islower()]
    if assumed:
        plain_output(
            place, "update-index", "--no-assume-unchanged", "-z", "--stdin",
            variables=variables, stdin="\0".join(assumed) + "\0",
        )  # fmt: skip


class _RulesChanged(Exception):
    """Files that this index has may be ignored by now."""


def _snapshot(
    place: GitPlaces, objects: Mapping[str, str], index: Path, seconds: float, *, is_known: bool = False
) -> Snapshot:
    # With the optional lock, status writes what it has found unchanged to our index, and need not read it again.
    variables = {**objects, "GIT_INDEX_FILE": str(index), "GIT_OPTIONAL_LOCKS": "1"}

    def git(*arguments: str, stdin: str = "") -> str:
        return plain_output(place, *PLAIN, *arguments, variables=variables, stdin=stdin, seconds=seconds)

    status = git(*_STATUS)
    changed, left_out = _changed(status, place.work_tree)
    if is_known and any(path.rpartition("/")[2] == ".gitignore" for path in changed):
        raise _RulesChanged
    if changed:
        # Not `add`: it would look through the whole work tree once more.
        git("update-index", "--add", "--remove", "-z", "--stdin", stdin="\0".join(changed) + "\0")
    return Snapshot(git("write-tree").strip(), tuple(left_out), _head(status))


def _head(status: str) -> str:
    said = next((entry for entry in status.split("\0") if entry.startswith(_HEAD)), "").removeprefix(_HEAD)
    return "" if said == "(initial)" else said


def _changed(status: str, folder: Path) -> tuple[list[str], list[str]]:
    """The files that differ from the index, and those that are left out."""
    changed: list[str] = []
    left_out: list[str] = []
    for entry in status.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "1" and rest[1] != ".":
            changed.append(rest.split(" ", 7)[7])
        elif kind == "u":
            changed.append(rest.split(" ", 9)[9])
        elif kind == "?":
            (left_out if rest.endswith("/") or _is_large(folder / rest) else changed).append(rest)
    unreadable = [name for name in changed if not _is_readable(folder / name)]
    if unreadable:
        changed = [name for name in changed if name not in set(unreadable)]
    return changed, left_out + unreadable


def _is_large(path: Path) -> bool:
    try:
        return path.lstat().st_size > LARGE
    except OSError:
        return False


def _is_readable(path: Path) -> bool:
    """Whether git can read it, or it is gone; False for a FIFO or device in place of a file."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return True
    if stat.S_ISREG(mode):
        return os.access(path, os.R_OK)
    return stat.S_ISLNK(mode) or stat.S_ISDIR(mode)


@contextlib.contextmanager
def exclusive(index: Path) -> Iterator[None]:
    """Use an index of ours alone; waits for who uses it now."""
    descriptor = os.open(f"{index}.use", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Of a git that was killed: the lock above says that none is at work.
        Path(f"{index}.lock").unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)
