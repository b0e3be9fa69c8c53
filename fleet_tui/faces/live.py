"""Live data of the fleet: what changes all the time and is in no store, as a face shows it."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Activity, Spending, Usage
from fleet_tui.work import Checkpoint, Conflict, ConflictingFile, PullRequest


@dataclass(frozen=True, slots=True)
class ConflictDetails:
    """What the radar knows of one agent."""

    agent: str = ""
    """The id."""
    conflicts: tuple[tuple[Conflict, tuple[ConflictingFile, ...]], ...] = ()
    """Each with this agent first; files without lines until they are known."""
    base: str = ""
    """The base branch, if the agent's work merges with it."""
    merging: tuple[str, ...] = ()
    """The ids of agents that have changed some of the same files, and that it merges with."""
    shared: tuple[str, ...] = ()
    """Files that others have changed too, and that merge."""


@dataclass(frozen=True, slots=True)
class LiveData:
    """One snapshot, by agent id where it is about several agents."""

    usage: Mapping[str, Usage] = field(default_factory=dict)
    tails: Mapping[str, str] = field(default_factory=dict)
    """The last line of each agent's output."""
    active: Mapping[str, float] = field(default_factory=dict)
    """When each agent last printed."""
    diffs: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Lines added and removed since the base."""
    log: tuple[str, tuple[str, ...]] = ("", ())
    """The selected agent and its last lines."""
    cores: float = 0.0
    memory: int = 0
    spending: Mapping[str, Spending] = field(default_factory=dict)
    """Of the agents whose programs record it."""
    output: tuple[float, ...] = ()
    """Bytes a second that the selected agent printed, the newest last."""
    recent_activity: tuple[Activity, ...] = ()
    """The latest tool calls of the agent whose log this is, the newest last."""
    ahead: int | None = None
    """Commits of the selected agent's branch beyond its base; None until counted."""
    link_problems: Mapping[str, str] = field(default_factory=dict)
    """Why an agent's `.git` no longer leads to its repository. Its changes are not counted."""
    pull_requests: Mapping[str, PullRequest] = field(default_factory=dict)
    """As last seen."""
    conflicts: tuple[Conflict, ...] = ()
    """Whose work does not merge, as last found by merging in memory."""
    conflict_marks: Mapping[str, str] = field(default_factory=dict)
    """With whom each agent conflicts, in a few cells: C +1."""
    conflict_details: ConflictDetails = ConflictDetails()
    """Of the selected agent."""
    checkpoints: tuple[str, tuple[Checkpoint, ...]] = ("", ())
    """The selected agent and its last checkpoints, the newest last."""
