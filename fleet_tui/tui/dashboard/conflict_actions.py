"""Look at what an agent conflicts with."""

from __future__ import annotations

from collections.abc import Callable

from fleet_tui.faces.conflict_wording import details_of
from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.widgets.lines import clean


class ConflictActions:
    """The selected agent against the other side of its conflict."""

    def __init__(self, view: FleetView, display: Display, open_diff: Callable[[Agent, str], None]) -> None:
        self._view = view
        self._display = display
        self._open_diff = open_diff
        """Shows an agent's work against another agent, by name, or against a branch."""

    def diff(self) -> None:
        """Show the diff of the selected agent and the first side that it conflicts with."""
        agent = self._view.agent
        if agent is None:
            self._display.warn("no agent selected")
            return
        conflicts = details_of(agent.id, self._view.live).conflicts
        if not conflicts:
            self._display.notify(f"{clean(agent.name)} conflicts with nobody")
            return
        conflict = conflicts[0][0]
        other = self._view.by_id(conflict.other)
        self._open_diff(agent, other.name if other is not None else conflict.base)
