"""Sum up agents for a face: how many have which status, who needs the user, what was spent today. Pure."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fleet_tui.faces.wording import STATUS_LOOKS
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Spending, Status, Usage

RANK = {status: place for place, status in enumerate(STATUS_LOOKS)}
"""Statuses by urgency; the most urgent has the lowest rank."""


def counts(agents: Iterable[Agent]) -> list[tuple[Status, int]]:
    """The number of agents of each status that has any, the most urgent first."""
    number = Counter(agent.status for agent in agents)
    return [(status, number[status]) for status in STATUS_LOOKS if status in number]


def totals(agents: Iterable[Agent]) -> dict[Status, int]:
    """The number of agents under each status that summaries count, the most urgent first."""
    merged: dict[Status, int] = {}
    for status, count in counts(agents):
        total = STATUS_LOOKS[status].total
        if total is not None:
            merged[total] = merged.get(total, 0) + count
    return merged


def needing_look(agents: Iterable[Agent]) -> Sequence[Agent]:
    """The agents that the user should look at: the most urgent first, then those that have waited longest."""
    found = [agent for agent in agents if STATUS_LOOKS[agent.status].needs_look]
    return sorted(found, key=lambda agent: (RANK[agent.status], agent.status_since))


def spent_today(spending: Iterable[Spending], now: float) -> float | None:
    """The known spending since midnight; None if nothing is known."""
    day = time.localtime(now)[:3]
    costs = [
        one.cost - one.cost_before
        for one in spending
        if one.cost is not None and time.localtime(one.at)[:3] == day
    ]
    return sum(costs) if costs else None


@dataclass(frozen=True, slots=True)
class Overview:
    """The agents of a project, or of all projects, with what they use and have cost."""

    project: str | None
    """Of which project; None for all projects."""
    agents: Sequence[Agent]
    others: Sequence[Agent]
    """Those of other projects, if only one is shown."""
    usage: Mapping[str, Usage]
    today: float | None
    """Dollars."""
    now: float

    @property
    def needing(self) -> Sequence[Agent]:
        return needing_look(self.agents)

    @property
    def cores(self) -> float:
        return sum(one.cpu for one in self.usage.values()) / 100

    @property
    def memory(self) -> int:
        return sum(one.memory for one in self.usage.values())
