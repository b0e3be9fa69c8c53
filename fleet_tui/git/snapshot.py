"""The files of a worktree as one tree, uncommitted ones included, without touching its index, HEAD or files.

Git works on an index of its own in the scratch folder, which is kept, so that the next snapshot reads only what has
changed. No program that a configuration names is run: a changed file with a filter (Git LFS) is taken as it is on the
disk. What a tree cannot hold is left out: other repositories, and what submodules have not committed. `untracked` says
which untracked files are too many or too large.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces, plain_output, run_plain
from fleet_tui.git.program import GitFailed
from fleet_tui.git.rescue import PLAIN, check_index
from fleet_tui.git.scratch import ScratchObjects, cannot_write
from fleet_tui.git.untracked import is_readable, readable_new

SECONDS = 300.0
USE_SECONDS = 60.0
"""How long to wait for another look at the same files. A git that outlived its caller may be blocked forever."""
LOOK_SECONDS = 0.02
TRIES = 5
"""How often the files are read when they change meanwhile."""
_STATUS = (
    *("status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind", "--no-renames"),
    *("--untracked-files=all", "--ignore-submodules=dirty"),
)
_HEAD = "# branch.oid "
_NO_SPACE = re.compile("No space left|Out of diskspace|Unable to write new index file|Disk quota exceeded")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A worktree's files at one moment."""

    tree: str
    left_out: tuple[str, ...] = ()
    """Untracked files that are too large, what cannot be read, and, with a slash at the end, other repositories and
    folders with too many untracked files."""
    head: str = ""
    """The commit of HEAD; empty before the first one."""


def take_snapshot(
    place: GitPlaces, scratch: ScratchObjects, key: str, *, seconds: float = SECONDS
) -> Snapshot:
    """The tree of a worktree's files, written to the scratch objects. `key` names the worktree's index there.

    Raises GitFailed if one of git's steps takes longer than `seconds`.
    """
    index = scratch.index(key)
    try:
        with exclusive(index, seconds=min(seconds, USE_SECONDS)) as held:
            return snapshot_by(place, scratch.variables, index, seconds=seconds, keep_open=[held])
    except OSError as error:
        raise cannot_write(error) from error
    except GitFailed as error:
        if _NO_SPACE.search(error.message):
            raise GitFailed(f"no space left in {scratch.folder}", hint="free some space") from error
        raise


def snapshot_by(
    place: GitPlaces,
    objects: Mapping[str, str],
    index: Path,
    *,
    seconds: float = SECONDS,
    keep_open: Sequence[int] = (),
) -> Snapshot:
    """The tree of a worktree's files, by an index of ours that the caller uses alone. `objects` says where git writes;
    without it, git writes to the repository. `keep_open` is the lock of the index."""
    if index.exists() and not is_sparse(place):
        try:
            return _snapshot(place, objects, index, seconds, keep_open, is_known=True)
        except (GitFailed, _RulesChanged) as error:
            if isinstance(error, GitFailed) and "timed out" in error.message:
                raise
            # The repository may have dropped an object that this index names.
            index.unlink(missing_ok=True)
    _copy_index(place, objects, index)
    return _snapshot(place, objects, index, seconds, keep_open)


def is_sparse(place: GitPlaces) -> bool:
    """Whether files may be missing on purpose. Only the worktree's own index knows which, so it is copied each time."""
    return (place.own / "info" / "sparse-checkout").exists()


def _copy_index(place: GitPlaces, objects: Mapping[str, str], index: Path) -> None:
    import shutil

    own = place.own / "index"
    draft = index.with_name(f"{index.name}.new")
    draft.unlink(missing_ok=True)
    try:
        check_index(own)
        # With its time: git checks the content of files that are not older than the index.
        shutil.copy2(own, draft)
        _stop_overlooking(place, objects, draft)
    except (FileNotFoundError, GitFailed, Refused):
        # It is lost or damaged, or something else is in its place. So may be HEAD, or there is none yet.
        draft.unlink(missing_ok=True)
        variables = {**objects, "GIT_INDEX_FILE": str(draft)}
        if run_plain(place, "read-tree", "HEAD", variables=variables).returncode:
            plain_output(place, "read-tree", "--empty", variables=variables)
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
    place: GitPlaces,
    objects: Mapping[str, str],
    index: Path,
    seconds: float,
    keep_open: Sequence[int],
    *,
    is_known: bool = False,
) -> Snapshot:
    # With the optional lock, status writes what it has found unchanged to our index, and need not read it again.
    variables = {**objects, "GIT_INDEX_FILE": str(index), "GIT_OPTIONAL_LOCKS": "1"}

    def git(*arguments: str, stdin: str = "") -> str:
        return plain_output(
            place, *PLAIN, *arguments, variables=variables, stdin=stdin, seconds=seconds, keep_open=keep_open
        )

    def updated() -> tuple[_Changes, str]:
        status = git(*_STATUS)
        found = _changes(status, place.work_tree)
        if is_known and any(
            path.rpartition("/")[2] == ".gitignore" for path in (*found.gone, *found.changed)
        ):
            raise _RulesChanged
        if found.gone:
            # By force: git refuses to remove a file whose folder is a link by now.
            git("update-index", "--force-remove", "-z", "--stdin", stdin="\0".join(found.gone) + "\0")
        if found.changed:
            # Not `add`: it would look through the whole work tree once more.
            git("update-index", "--add", "--remove", "-z", "--stdin", stdin="\0".join(found.changed) + "\0")
        return found, _head(status)

    for _ in range(TRIES - 1):
        try:
            found, head = updated()
            break
        except GitFailed as error:
            # A file has become a folder, or a folder a file, since git has looked.
            if "Unable to process path" not in error.message:
                raise
    else:
        found, head = updated()
    return Snapshot(git("write-tree").strip(), found.left_out, head)


def _head(status: str) -> str:
    said = next((entry for entry in status.split("\0") if entry.startswith(_HEAD)), "").removeprefix(_HEAD)
    return "" if said == "(initial)" else said


@dataclass(frozen=True, slots=True)
class _Changes:
    """What differs from an index."""

    gone: tuple[str, ...]
    changed: tuple[str, ...]
    left_out: tuple[str, ...]


def _changes(status: str, folder: Path) -> _Changes:
    gone: list[str] = []
    changed: list[str] = []
    untracked: list[str] = []
    for entry in status.split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "1" and rest[1] != ".":
            (gone if rest[1] == "D" else changed).append(rest.split(" ", 7)[7])
        elif kind == "u":
            name = rest.split(" ", 9)[9]
            (changed if os.path.lexists(folder / name) else gone).append(name)
        elif kind == "?":
            untracked.append(rest)
    new, left_out = readable_new(untracked, folder)
    unreadable = {name for name in changed if not is_readable(folder / name)}
    kept = [name for name in changed if name not in unreadable]
    return _Changes(tuple(gone), (*kept, *new), (*left_out, *sorted(unreadable)))


def _lock(descriptor: int, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise GitFailed(
                    "git is still reading its files, or is blocked there",
                    hint="look for a pipe in place of a file in its worktree: find . -type p; then end that git",
                ) from None
            time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def exclusive(index: Path, *, seconds: float = USE_SECONDS) -> Iterator[int]:
    """Use an index of ours alone; waits for who uses it now, but not forever. Yields the lock's descriptor: a git that gets it holds the
    lock as well, and longer than this process if that is killed."""
    descriptor = os.open(f"{index}.use", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, time.monotonic() + seconds)
        # Of a git that was killed: the lock above says that none is at work.
        Path(f"{index}.lock").unlink(missing_ok=True)
        yield descriptor
    finally:
        os.close(descriptor)
