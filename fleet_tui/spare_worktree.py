"""The noun of a spare worktree, apart from `work`: a launcher reads it while an agent waits to be started."""

from __future__ import annotations

from fleet_tui.fast_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpareWorktree:
    """A worktree that was made in advance, for the next agent of its project."""

    path: str
    project: str
    base: str
    """The commit that is checked out in it."""
    made_at: float
    needed_at: float
    """When its project last started agents."""
    settings: str = ""
    """A digest of what decides, besides the base, which files it has; empty until it is ready."""
