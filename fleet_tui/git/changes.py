"""What has changed in a worktree: against its index, its HEAD and the commit that it started from.

Only reads, and takes no lock: the agent in the worktree may be running git at the same moment.
Runs no program that a configuration names: libgit2 never does, and the git program is called by `plain`. So a file with
a `filter` attribute (Git LFS) is compared by its size and times with the index, and its uncommitted lines are not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fleet_tui.git.plain import Place, answer, look
from fleet_tui.values import dataclass

MOST_UNTRACKED = 1000
"""Untracked files whose lines are counted; a forgotten build folder may hold a hundred thousand."""
MOST_BYTES = 1 << 20

_NO_FILTER = ("unspecified", "unset", "set")
Kind = Literal["added", "modified", "deleted", "renamed", "type changed", "conflicted", "untracked"]

_KINDS: dict[str, Kind] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "C": "added",
    "T": "type changed",
    "U": "conflicted",
    "?": "untracked",
}


@dataclass(frozen=True, slots=True)
class DiffStat:
    """How far a worktree, with everything uncommitted in it, is from its base."""

    added: int
    """Lines, those of untracked text files included, uncommitted ones of filtered files left out."""
    removed: int
    files: int
    """Tracked files that differ."""
    untracked: int
    is_dirty: bool
    ahead: int
    behind: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that is not as HEAD has it."""

    path: str
    kind: Kind
    is_staged: bool
    """Whether the index has it, perhaps only in part."""


def status(place: Place) -> list[FileChange]:
    """Every changed or untracked file."""
    return _status(place, "--untracked-files=all", "--find-renames")


def dirty(place: Place) -> bool:
    """Whether anything is uncommitted; ignored files and what is in submodules do not count."""
    return bool(_status(place, "--untracked-files=normal", "--no-renames"))


def ignored(place: Place, paths: Sequence[str], *, seconds: float) -> set[str]:
    """Those of these files that git would ignore, tracked or not; GitFailed when that takes longer."""
    done = look(place, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(paths), seconds=seconds)
    return set(filter(None, done.stdout.split("\0")))


def _status(place: Place, *options: str) -> list[FileChange]:
    said = answer(place, "status", "--porcelain", "-z", "--ignore-submodules=dirty", *options)
    fields = said.split("\0")
    found = []
    while fields and fields[0]:
        field = fields.pop(0)
        code, path = field[:2], field[3:]
        if "R" in code or "C" in code:
            fields.pop(0)
        found.append((code, path))
    same = same_by_stat(place, [path for code, path in found if code[1] == "M"])
    return [_change(code, path) for code, path in found if not (path in same and code == " M")]


def _change(code: str, path: str) -> FileChange:
    is_conflict = "U" in code or code in ("AA", "DD")
    kind = "conflicted" if is_conflict else _KINDS[code.strip()[0]]
    return FileChange(path, kind, is_staged=code[0] not in " ?" and not is_conflict)


def _filtered(place: Place, paths: list[str]) -> set[str]:
    """Those of these files that have a filter: what git would store for them only a program knows."""
    if not paths:
        return set()
    said = answer(place, "check-attr", "-z", "--stdin", "filter", stdin="\0".join(paths) + "\0").split("\0")
    return {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in _NO_FILTER}


def same_by_stat(place: Place, paths: list[str]) -> set[str]:
    """Filtered files that are as the index has them by size and times.

    Git reads a file anew that was written in the same second as the index. Without its filter it would look changed;
    with a copy of the index that is newer than all files, git compares nothing but size and times.
    """
    filtered = _filtered(place, paths)
    if not filtered:
        return set()
    import tempfile  # here, because few repositories have filters

    with tempfile.TemporaryDirectory(prefix="fleet-index-") as folder:
        copy = Path(folder) / "index"
        copy.write_bytes((place.own / "index").read_bytes())
        later = time.time() + 3600
        os.utime(copy, (later, later))
        names = answer(
            place, "diff-files", "--name-only", "-z", "--ignore-submodules=all",
            variables={"GIT_INDEX_FILE": str(copy)},
        )  # fmt: skip
    return filtered - set(names.split("\0"))


def diff_stat(place: Place, base: str) -> DiffStat:
    """Everything since the worktree left its base: committed, staged, unstaged and untracked."""
    return _with_libgit2(place, base) or _with_git(place, base)


def _with_libgit2(place: Place, base: str) -> DiffStat | None:
    """None where libgit2 cannot open the repository, or would be wrong about it. It knows hooks, filters and file
    watchers by name only, and starts none."""
    import pygit2
    from pygit2.enums import DeltaStatus, DiffOption

    try:
        repo = pygit2.Repository(str(place.own))
        # Whatever the entry and `core.worktree` say.
        repo.workdir = str(place.work_tree)
        if "core.sparsecheckout" in repo.config and repo.config.get_bool("core.sparsecheckout"):
            return None
        head, start = repo.head.target, repo.revparse_single(base).peel(pygit2.Commit).id
        fork = repo.merge_base(head, start) or start
        # A diff of HEAD's tree against the files hashes them all; these two trust the index.
        staged = repo.diff(str(fork), cached=True)
        unstaged = repo.diff(flags=DiffOption.INCLUDE_UNTRACKED | DiffOption.RECURSE_UNTRACKED_DIRS)
        is_dirty = len(unstaged) > 0 or len(repo.diff(str(head), cached=True)) > 0
        changed = {delta.new_file.path: delta.status for delta in unstaged.deltas}
        untracked = [path for path, state in changed.items() if state == DeltaStatus.UNTRACKED]
        if any(repo.get_attr(path, "filter") for path in changed.keys() - set(untracked)):
            return None
        staged.merge(unstaged)
        ahead, behind = repo.ahead_behind(head, start)
        stats = staged.stats
    except (pygit2.GitError, KeyError, ValueError):
        return None
    return DiffStat(
        added=stats.insertions + _lines_in(place.work_tree, untracked),
        removed=stats.deletions,
        files=stats.files_changed,
        untracked=len(untracked),
        is_dirty=is_dirty,
        ahead=ahead,
        behind=behind,
    )


def _with_git(place: Place, base: str) -> DiffStat:
    start = answer(place, "rev-parse", "--verify", "--end-of-options", base + "^{commit}").strip()
    fork = look(place, "merge-base", "HEAD", start).stdout.strip() or start
    rows = _line_counts(place, fork)
    changes = status(place)
    counts = look(place, "rev-list", "--left-right", "--count", f"{start}...HEAD").stdout.split()
    filtered = _filtered(place, list(rows))
    if filtered:
        staged, changed = _line_counts(place, fork, "--cached"), {change.path for change in changes}
        for path in filtered:
            if path in staged:
                rows[path] = staged[path]
            elif path in changed:
                rows[path] = (0, 0)
            else:
                del rows[path]
    untracked = [change.path for change in changes if change.kind == "untracked"]
    return DiffStat(
        added=sum(added for added, _ in rows.values()) + _lines_in(place.work_tree, untracked),
        removed=sum(removed for _, removed in rows.values()),
        files=len(rows),
        untracked=len(untracked),
        is_dirty=bool(changes),
        ahead=int(counts[1]) if counts else 0,
        behind=int(counts[0]) if counts else 0,
    )


def _line_counts(place: Place, commit: str, *options: str) -> dict[str, tuple[int, int]]:
    """Lines added and removed in each file since a commit; none in a binary one."""
    how = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    rows = [
        row.split("\t", 2) for row in answer(place, "diff", *how, *options, commit, "--").split("\0") if row
    ]
    return {path: (0, 0) if added == "-" else (int(added), int(removed)) for added, removed, path in rows}


def _lines_in(worktree: Path, paths: list[str]) -> int:
    return sum(_count_lines(worktree / path) for path in paths[:MOST_UNTRACKED])


def _count_lines(path: Path) -> int:
    """The lines of a text file of moderate size; 0 for anything else."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > MOST_BYTES:
            return 0
        content = path.read_bytes()
    except OSError:
        return 0
    if b"\0" in content[:8000]:
        return 0
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
