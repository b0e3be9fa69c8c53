"""Open the comparison of a batch, or of the marked agents."""

from __future__ import annotations

from collections.abc import Callable

from fleet_tui.models import Agent, Status
from fleet_tui.tui.compare.screen import CompareScreen
from fleet_tui.tui.compare.surroundings import CompareSurroundings
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests


class CompareActions:
    """Comparisons."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        *,
        review: Callable[[Agent, str], None],
        land: Callable[[Agent], None],
    ) -> None:
        self._view = view
        self._display = display
        self._surroundings = CompareSurroundings(
            call=requests.call,
            start=requests.start,
            agents=lambda: view.state.agents,
            review=review,
            land=land,
            now=lambda: display.now,
        )

    def compare(self) -> None:
        """Compare the marked agents, or the batch of the selected one."""
        agents = self._chosen()
        if not agents:
            self._display.warn("no agent selected")
        elif len(agents) < 2:
            self._display.warn("nobody to compare it with: mark several agents")
        elif len({agent.project for agent in agents}) > 1:
            self._display.warn("agents of several projects cannot be compared")
        else:
            self._display.open(CompareScreen(agents, self._surroundings))

    def _chosen(self) -> list[Agent]:
        marked, selected = self._view.targets, self._view.agent
        if len(marked) > 1 or selected is None:
            return marked
        return [
            agent
            for agent in self._view.state.agents
            if (agent.project, agent.batch) == (selected.project, selected.batch)
            and agent.status is not Status.KILLED
        ]
