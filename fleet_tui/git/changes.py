"""Changes in a worktree: against its index, its HEAD and the commit that it started from.

Only reads and takes no lock, because the agent in the worktree may run git at the same moment. Runs no program that a
configuration names: libgit2 never does, and the git program is called through `plain`. So a file with a `filter`
attribute (Git LFS) is compared with the index by size and times, and its uncommitted lines are not counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.plain import GitPlaces, plain_output, run_plain
from fleet_tui.system import files

MOST_UNTRACKED = 1000
"""How many untracked files have their lines counted: a build folder that is not ignored may hold 100,000."""
MOST_BYTES = 1 << 20
INDEX_MOST = 1 << 30
"""Bytes of an index that is copied in memory."""

_NO_FILTER = ("unspecified", "unset", "set")
ChangeKind = Literal["added", "modified", "deleted", "renamed", "type changed", "conflicted", "untracked"]

_KINDS: dict[str, ChangeKind] = {
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
    """The difference between a worktree, including uncommitted changes, and its base."""

    added: int
    """Lines, including those of untracked text files, without uncommitted lines of filtered files."""
    removed: int
    files: int
    """Tracked files that differ."""
    untracked: int
    is_dirty: bool
    ahead: int
    behind: int


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs from HEAD."""

    path: str
    kind: ChangeKind


def status(place: GitPlaces) -> list[FileChange]:
    """Every changed or untracked file."""
    options = ("--ignore-submodules=dirty", "--untracked-files=all", "--find-renames")
    said = plain_output(place, "status", "--porcelain", "-z", *options)
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


def ignored(place: GitPlaces, paths: Sequence[str], *, seconds: float) -> set[str]:
    """Which of these files git would ignore, tracked or not. Raises GitFailed on a timeout."""
    done = run_plain(
        place, "check-ignore", "--no-index", "-z", "--stdin", stdin="\0".join(paths), seconds=seconds
    )
    return set(filter(None, done.stdout.split("\0")))


def _change(code: str, path: str) -> FileChange:
    is_conflict = "U" in code or code in ("AA", "DD")
    kind = "conflicted" if is_conflict else _KINDS[code.strip()[0]]
    return FileChange(path, kind)


def _filtered(place: GitPlaces, paths: list[str]) -> set[str]:
    """Which of these files have a filter: only its program knows what git would store for them."""
    if not paths:
        return set()
    said = plain_output(place, "check-attr", "-z", "--stdin", "filter", stdin="\0".join(paths) + "\0").split(
        "\0"
    )
    return {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in _NO_FILTER}


def same_by_stat(place: GitPlaces, paths: list[str]) -> set[str]:
    """Which of these files have a filter and match the index by size and times.

    Git reads the content of a file that was written in the same second as the index, and without the filter it looks
    changed. With a copy of the index that is newer than all files, git compares only size and times.
    """
    filtered = _filtered(place, paths)
    if not filtered:
        return set()
    import tempfile  # deferred: few repositories have filters

    with tempfile.TemporaryDirectory(prefix="fleet-index-") as folder:
        copy = Path(folder) / "index"
        copy.write_bytes(files.read(place.own / "index", limit=INDEX_MOST))
        later = time.time() + 3600
        os.utime(copy, (later, later))
        names = plain_output(
            place, "diff-files", "--name-only", "-z", "--ignore-submodules=all",
            variables={"GIT_INDEX_FILE": str(copy)},
        )  # fmt: skip
    return filtered - set(names.split("\0"))


def diff_stat(place: GitPlaces, base: str) -> DiffStat:
    """Count all changes since the base: committed, staged, unstaged and untracked."""
    return _with_libgit2(place, base) or _with_git(place, base)


def _with_libgit2(place: GitPlaces, base: str) -> DiffStat | None:
    """Count with libgit2; None where it cannot open the repository or would count wrongly. It runs no hook, filter or file
    watcher."""
    import pygit2
    from pygit2.enums import DeltaStatus, DiffOption

    try:
        repo = pygit2.Repository(str(place.own))
        # Overrides the entry and `core.worktree`.
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


def _with_git(place: GitPlaces, base: str) -> DiffStat:
    start = plain_output(place, "rev-parse", "--verify", "--end-of-options", base + "^{commit}").strip()
    fork = run_plain(place, "merge-base", "HEAD", start).stdout.strip() or start
    rows = _line_counts(place, fork)
    changes = status(place)
    counts = run_plain(place, "rev-list", "--left-right", "--count", f"{start}...HEAD").stdout.split()
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


def _line_counts(place: GitPlaces, commit: str, *options: str) -> dict[str, tuple[int, int]]:
    """Lines added and removed in each file since a commit; 0 for a binary file."""
    how = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
    rows = [
        row.split("\t", 2)
        for row in plain_output(place, "diff", *how, *options, commit, "--").split("\0")
        if row
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
