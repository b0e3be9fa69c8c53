"""Reads what agents have spent, in a thread of its own because long conversations are slow to read."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Mapping, Sequence

from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Spending, Status

SPENDING_SECONDS = 5.0


class SpendingWatch:
    """What was read last, and a queue of agents to read."""

    def __init__(self, open_fleet: Callable[[], Fleet]) -> None:
        self.spent: dict[str, Spending] = {}
        self._open_fleet = open_fleet
        self._asked_at = -SPENDING_SECONDS
        self._seen: dict[str, tuple[float, int, bool]] = {}
        self._wanted: queue.SimpleQueue[list[Agent]] = queue.SimpleQueue()

    def run(self) -> None:
        """Read the spending of queued agents; never returns."""
        fleet = self._open_fleet()
        while True:
            agents = self._wanted.get()
            # A busy store, or a record that is half written, is transient: retried in five seconds.
            with contextlib.suppress(FleetError, OSError, ValueError):
                self.spent |= fleet.spending(agents)

    def ask(self, agents: Sequence[Agent], active: Mapping[str, float], now: float) -> None:
        """Queue the agents that have printed since the last time, or have ended."""
        if now - self._asked_at < SPENDING_SECONDS:
            return
        self._asked_at = now
        wanted = []
        for agent in agents:
            moment = (active.get(agent.id, 0.0), agent.run, agent.has_ended)
            if agent.status is not Status.KILLED and self._seen.get(agent.id) != moment:
                self._seen[agent.id] = moment
                wanted.append(agent)
        if wanted:
            self._wanted.put(wanted)
