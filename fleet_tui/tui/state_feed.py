"""Polls the store for the dashboard: a new `FleetState` only when another process has written.

Reads alone. Every change goes through the worker (`worker_client`).
"""

from __future__ import annotations

from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState


class StateFeed:
    """The fleet as recorded in the store, read again only after a write."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._version = -1

    def poll(self) -> FleetState | None:
        """The state, or None while it cannot have changed since the last call."""
        version = self._fleet.version()
        if version == self._version and not self._fleet.is_disk_full():
            return None
        state = self.read()
        self._version = version
        return state

    def read(self) -> FleetState:
        return self._fleet.state()
