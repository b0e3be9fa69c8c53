"""Land the selected agent, or several one after the other."""

from __future__ import annotations

from collections.abc import Callable

from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.landing.dashboard_access import DashboardAccess
from fleet_tui.tui.landing.screen import LandScreen
from fleet_tui.tui.landing.train_screen import TrainScreen


class LandActions:
    """Landings."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        requests: WorkerRequests,
        *,
        review: Callable[[Agent, str], None],
        shell: Callable[[Agent], None],
    ) -> None:
        self._view = view
        self._display = display
        self._access = DashboardAccess(
            call=requests.call,
            start=requests.start,
            agents=lambda: view.state.agents,
            notify=display.notify,
            review=review,
            shell=shell,
            select=view.select,
            now=lambda: display.now,
        )

    def land(self) -> None:
        """Preview the landing of the selected agent; with several marked, of a train."""
        targets = self._view.targets
        if not targets:
            self._display.warn("no agent selected")
        elif len({agent.project for agent in targets}) > 1:
            self._display.warn("these agents belong to several projects; land those of one at a time")
        elif len(targets) == 1:
            self.open(targets[0])
        else:
            self._view.unmark()
            self._display.open(TrainScreen(targets, self._access))

    def open(self, agent: Agent) -> None:
        self._display.open(LandScreen(agent, self._access))
