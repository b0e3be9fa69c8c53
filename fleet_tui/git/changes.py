"""What has changed in a worktree: against its index, its HEAD and the commit that it started from.

Only reads, and takes no lock: the agent in the worktree may be running git at the same moment.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from fleet_tui.git.program import output, run
from fleet_tui.values import dataclass

MOST_UNTRACKED = 1000
"""Untracked files whose lines are counted; a forgotten build folder may hold a hundred thousand."""
MOST_BYTES = 1 << 20

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
    """Lines, those of untracked text files included."""
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


def status(worktree: Path) -> list[FileChange]:
    """Every changed or untracked file, by git itself: filters are right, and no library has to be loaded."""
    fields = _status(worktree, "--untracked-files=all", "--find-renames").split("\0")
    changes = []
    while fields and fields[0]:
        field = fields.pop(0)
        code, path = field[:2], field[3:]
        if "R" in code or "C" in code:
            fields.pop(0)
        is_conflict = "U" in code or code in ("AA", "DD")
        kind = "conflicted" if is_conflict else _KINDS[code.strip()[0]]
        changes.append(FileChange(path, kind, is_staged=code[0] not in " ?" and not is_conflict))
    return changes


def dirty(worktree: Path) -> bool:
    """Whether anything is uncommitted, in submodules too; ignored files do not count."""
    return bool(_status(worktree, "--untracked-files=normal", "--no-renames"))


def _status(worktree: Path, *options: str) -> str:
    return output(worktree, "status", "--porcelain", "-z", "--ignore-submodules=none", *options)


def diff_stat(worktree: Path, base: str) -> DiffStat:
    """Everything since the worktree left its base: committed, staged, unstaged and untracked."""
    return _with_libgit2(worktree, base) or _with_git(worktree, base)


def _with_libgit2(worktree: Path, base: str) -> DiffStat | None:
    """None where libgit2 cannot open the repository, or would be wrong about it."""
    import pygit2
    from pygit2.enums import DeltaStatus, DiffOption

    try:
        repo = pygit2.Repository(str(worktree))
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
        added=stats.insertions + _lines_in(worktree, untracked),
        removed=stats.deletions,
        files=stats.files_changed,
        untracked=len(untracked),
        is_dirty=is_dirty,
        ahead=ahead,
        behind=behind,
    )


def _with_git(worktree: Path, base: str) -> DiffStat:
    start = output(worktree, "rev-parse", "--verify", "--end-of-options", base + "^{commit}").strip()
    fork = run(worktree, "merge-base", "HEAD", start).stdout.strip() or start
    options = ("--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    rows = [row.split("\t") for row in output(worktree, "diff", *options, fork, "--").split("\0") if row]
    counts = run(worktree, "rev-list", "--left-right", "--count", f"{start}...HEAD").stdout.split() or [
        "0",
        "0",
    ]
    changes = status(worktree)
    untracked = [change.path for change in changes if change.kind == "untracked"]
    return DiffStat(
        added=sum(int(row[0]) for row in rows if row[0] != "-") + _lines_in(worktree, untracked),
        removed=sum(int(row[1]) for row in rows if row[1] != "-"),
        files=len(rows),
        untracked=len(untracked),
        is_dirty=bool(changes),
        ahead=int(counts[1]),
        behind=int(counts[0]),
    )


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
