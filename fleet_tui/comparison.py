"""Nouns of a comparison: what several agents have made of one task, side by side, and in which order they rank.

Pure data, as in `work`. `review.compare` measures it and `review.ranking` orders it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from fleet_tui.fast_dataclasses import dataclass, field, replace
from fleet_tui.work import ChangedFile, CheckRun, CheckState

ORDER_RULE = "checks, then conflicts, then size, then cost"
"""How `review.ranking` orders agents."""
SortKey = Literal["rank", "size", "files", "tests", "cost", "time", "name"]
SORT_KEYS: tuple[SortKey, ...] = ("rank", "size", "files", "tests", "cost", "time", "name")


@dataclass(frozen=True, slots=True)
class ComparedAgent:
    """One agent's work, measured."""

    id: str
    name: str
    label: str
    """Its name without what the compared agents share: A."""
    profile: str
    status: str
    is_working: bool = False
    """Its work may still change."""
    check: CheckRun | None = None
    """The newest one, whatever it ran on."""
    is_check_current: bool = False
    """The check ran on the files as they are now."""
    files: tuple[ChangedFile, ...] = ()
    commits: int = 0
    tests: int = 0
    """Test functions added, less those removed."""
    base_conflicts: tuple[str, ...] = ()
    """Files that do not merge with the base branch."""
    conflicts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Files that do not merge with another of these agents, by its id."""
    seconds: float = 0.0
    """From its start until it last finished, or until now."""
    tokens: int | None = None
    cost: float | None = None
    """US dollars; None if unknown."""
    problem: str = ""
    """Why its work could not be measured."""

    @property
    def added(self) -> int:
        return sum(one.added for one in self.files)

    @property
    def removed(self) -> int:
        return sum(one.removed for one in self.files)

    @property
    def size(self) -> int:
        """Lines added and removed."""
        return self.added + self.removed

    @property
    def is_empty(self) -> bool:
        return not self.files

    @property
    def verdict(self) -> Literal["green", "red", "unknown"]:
        """What its check says of the files as they are now."""
        if self.check is None or not self.is_check_current:
            return "unknown"
        if self.check.state is CheckState.PASSED:
            return "green"
        return "red" if self.check.state in (CheckState.FAILED, CheckState.TIMED_OUT) else "unknown"


@dataclass(frozen=True, slots=True)
class Ground:
    """One fact about an agent's work, and how the others compare with it."""

    fact: str
    others: str
    is_better: bool
    """None of the others is better in this."""
    is_bad: bool = False
    """It speaks against landing the work: a red check, a conflict."""


@dataclass(frozen=True, slots=True)
class Rank:
    """An agent's place among those that it is compared with."""

    agent: str
    """The id."""
    place: int
    """From 1; agents that nothing tells apart share one."""
    reason: str
    """In one line."""
    decided: str = ""
    """What puts it behind the one before it; empty for the first."""
    grounds: tuple[Ground, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several agents' work side by side, best first."""

    batch: str
    """The name of their batch; empty if they are of several."""
    project: str
    base: str
    """The branch that they would land on."""
    prompt: str
    """Their first prompt; empty if they got different ones."""
    agents: tuple[ComparedAgent, ...]
    ranks: Mapping[str, Rank] = field(default_factory=dict)
    """By the agent's id."""
    differences: tuple[str, ...] = ()
    """What is to be seen across all of them, in sentences."""
    command: str = ""
    """The project's check command."""
    no_checks: str = ""
    """Why they cannot be checked; empty if they can."""
    problem: str = ""
    """Why nothing was merged."""

    def sorted_by(self, key: SortKey) -> Comparison:
        """The same in another order; the ranks stay."""
        orders: Mapping[str, Callable[[ComparedAgent], tuple[Any, ...]]] = {
            "size": lambda one: (one.size, one.name),
            "files": lambda one: (len(one.files), one.name),
            "tests": lambda one: (-one.tests, one.name),
            "cost": lambda one: (one.cost is None, one.cost or 0.0, one.name),
            "time": lambda one: (one.seconds, one.name),
            "name": lambda one: (len(one.name), one.name),
        }

        def by_rank(one: ComparedAgent) -> tuple[Any, ...]:
            return self.ranks[one.id].place, len(one.name), one.name

        return replace(self, agents=tuple(sorted(self.agents, key=orders.get(key, by_rank))))
