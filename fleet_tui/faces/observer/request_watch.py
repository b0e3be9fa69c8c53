"""Asks code hosts for open pull requests, in a thread of its own because a network is slow."""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable, Mapping, Sequence

from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.work import PullRequest

ASK_SECONDS = 60.0
"""Between two calls about the same request. A host limits how often it may be asked."""


class RequestWatch:
    """Keeps requests in the store up to date: only those that the user has opened, and that are open."""

    def __init__(self, open_fleet: Callable[[], Fleet]) -> None:
        self._open_fleet = open_fleet
        self._asked: dict[str, float] = {}
        self._wanted: queue.SimpleQueue[list[Agent]] = queue.SimpleQueue()

    def run(self) -> None:
        """Ask about queued agents; never returns."""
        fleet = self._open_fleet()
        while True:
            agents = self._wanted.get()
            # What a host says is recorded with the request; a busy store is asked again in a minute.
            with contextlib.suppress(FleetError, OSError):
                fleet.pull_requests.refresh(agents)

    def ask(self, agents: Sequence[Agent], requests: Mapping[str, PullRequest], now: float) -> list[Agent]:
        """Queue the agents with open requests that nobody has asked about for a minute."""
        wanted = []
        for agent in agents:
            request = requests.get(agent.id)
            if request is None or request.state != "open" or agent.status is Status.KILLED:
                continue
            is_recent = abs(time.time() - request.at) < ASK_SECONDS
            if not is_recent and now - self._asked.get(agent.id, -ASK_SECONDS) >= ASK_SECONDS:
                self._asked[agent.id] = now
                wanted.append(agent)
        if wanted:
            self._wanted.put(wanted)
        return wanted
