"""Nouns of the trash: what a trashed worktree holds, who moved it there and why, and when it leaves.

Pure data, as in `models`, which has the agents themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fleet_tui.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from fleet_tui.models import Agent


@dataclass(frozen=True, slots=True)
class IgnoredFile:
    """A file or folder that git ignores; a folder's path ends with a slash."""

    path: str
    size: int
    packed: int = 0
    """Bytes in an archive, where even a small file takes a kilobyte."""


KEPT_IGNORED = 20 << 20
"""Size limit, in bytes, of the archive of ignored files of a worktree that leaves the trash early."""


@dataclass(frozen=True, slots=True)
class TrashContents:
    """What a worktree in the trash holds besides commits."""

    size: int = 0
    uncommitted: tuple[str, ...] = ()
    """Changed and untracked files; a ref keeps them when the worktree leaves the trash."""
    ignored: tuple[IgnoredFile, ...] = ()
    """Ignored files, which no ref keeps, smallest first."""
    obstacles: tuple[tuple[str, str], ...] = ()
    """Reasons why it cannot leave the trash, each with a hint."""
    saved: str = ""
    """The ref that keeps its work once deletion has begun."""

    @property
    def kept(self) -> tuple[IgnoredFile, ...]:
        """The ignored files that are archived when the worktree leaves the trash early."""
        total, kept = 0, []
        for one in self.ignored:
            total += max(one.size, one.packed)
            if total > KEPT_IGNORED:
                break
            kept.append(one)
        return tuple(kept)

    @property
    def too_large(self) -> tuple[IgnoredFile, ...]:
        """The ignored files beyond the archive's size limit."""
        return self.ignored[len(self.kept) :]


TrashReason = Literal["kill", "compare", "land", "doctor"]
"""What moved a worktree to the trash."""


@dataclass(frozen=True, slots=True)
class TrashItem:
    """A killed agent with its worktree in the trash."""

    agent: Agent
    contents: TrashContents
    goes_at: float
    """When its retention time ends."""
    is_over: bool
    """Whether the next tidying removes it early, because the trash is over its size limit."""
    who: str = ""
    """Who moved it there: `user@host`, with the agent's name if an agent did; empty if an earlier version did."""
    why: str = ""
    """A `TrashReason`; empty if an earlier version moved it."""


@dataclass(frozen=True, slots=True)
class TrashReport:
    """The trash and its size against the user's limit."""

    items: tuple[TrashItem, ...]
    size: int
    """Bytes of all projects' worktrees in the trash."""
    limit: int
