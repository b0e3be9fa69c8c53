"""Counts changed lines and commits of each agent with git, in a thread of its own because git can be slow."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Mapping, Sequence

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status

DIFF_SECONDS, STILL_DIFF_SECONDS = 5.0, 30.0
"""Between two counts of one agent: while it is selected or active, and otherwise."""
UNASKED_SHARE = 0.005
"""Of a core, at most, for counts without a reason to expect a change: large worktrees take long to read."""


class DiffCounts:
    """What was counted last, and a queue of agents to count."""

    def __init__(self, open_fleet: Callable[[], Fleet]) -> None:
        self.counts: dict[str, tuple[int, int]] = {}
        self.ahead: dict[str, int] = {}
        self.problems: dict[str, str] = {}
        """Why an agent's changes are not counted."""
        self._open_fleet = open_fleet
        self._asked: dict[str, tuple[float, tuple[object, ...]]] = {}
        """When each agent was last queued, and what was known of it then."""
        self._wanted: queue.SimpleQueue[Agent] = queue.SimpleQueue()
        self._waiting: set[str] = set()
        self._rests_until = 0.0

    def run(self) -> None:
        """Count the changes of queued agents; never returns."""
        fleet = self._open_fleet()
        while True:
            self.count(fleet, self._wanted.get())

    def count(self, fleet: Fleet, agent: Agent) -> None:
        begin = time.monotonic()
        found = fleet.worktrees.link_problems([agent])
        if found:
            self.problems |= found
            self.counts.pop(agent.id, None)
            self.ahead.pop(agent.id, None)
        else:
            self.problems.pop(agent.id, None)
        for one, (added, removed, ahead) in fleet.worktrees.diff_stats([agent]).items():
            self.counts[one], self.ahead[one] = (added, removed), ahead
        end = time.monotonic()
        self._rests_until = end + (end - begin) / UNASKED_SHARE
        self._waiting.discard(agent.id)

    def ask(
        self, agents: Sequence[Agent], active: Mapping[str, float], now: float, selected: str = ""
    ) -> list[Agent]:
        """Queue the agents that have been active, and from time to time the others, whose files may change as well."""
        asked = []
        for agent in sorted(agents, key=lambda one: one.id != selected):
            if agent.status is Status.KILLED:
                self.counts.pop(agent.id, None)
                self.problems.pop(agent.id, None)
            elif not _is_being_made(agent) and agent.id not in self._waiting:
                moment = (active.get(agent.id, 0.0), agent.status, agent.run)
                if self._is_due(agent, moment, now, is_selected=agent.id == selected):
                    self._asked[agent.id] = (now, moment)
                    self._waiting.add(agent.id)
                    self._wanted.put(agent)
                    asked.append(agent)
        return asked

    def _is_due(self, agent: Agent, moment: tuple[object, ...], now: float, *, is_selected: bool) -> bool:
        asked_at, seen = self._asked.get(agent.id, (-STILL_DIFF_SECONDS, ()))
        if moment != seen:
            return now - asked_at >= DIFF_SECONDS
        if self._waiting or now < self._rests_until or (agent.has_ended and not is_selected):
            return False
        return now - asked_at >= (DIFF_SECONDS if is_selected else STILL_DIFF_SECONDS)


def _is_being_made(agent: Agent) -> bool:
    """During a checkout, the files that are still missing would count as removed."""
    return agent.status is Status.SETUP or agent.started_at is None
