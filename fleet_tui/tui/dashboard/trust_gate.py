"""Trust before agents start: show what a project's files ask for, and go on with them or without."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import Agent, TrustRequest
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.dialogs.trust import OWN, TRUST, TrustDialog

Continue = Callable[[bool], None]
"""Called with whether the user's own settings are to be used, without what the project asks for."""


class TrustGate:
    """Asks for trust; what follows is a callback, not called when the user starts nothing."""

    def __init__(self, view: FleetView, display: Display, requests: WorkerRequests) -> None:
        self._view = view
        self._display = display
        self._requests = requests

    def ask(self, asked: TrustRequest, go_on: Continue) -> None:
        def chosen(what: str | None) -> None:
            if what == TRUST:
                self._requests.start(self._trust(asked, go_on))
            elif what == OWN:
                go_on(True)

        self._display.open(TrustDialog(asked), chosen)

    async def _trust(self, asked: TrustRequest, go_on: Continue) -> None:
        await self._requests.call("trust.accept", asked)
        project = self._view.project
        if project is not None and project.project == asked.project:
            self._view.take_project(replace(project, asked=None))
        go_on(False)

    def ask_for(self, agents: Sequence[Agent], go_on: Continue) -> None:
        """Ask about each untrusted project of these agents before any of them is started again."""
        projects = {agent.project: agent.id for agent in agents}

        async def work(own_settings: bool) -> None:
            while projects:
                _, agent = projects.popitem()
                asked: TrustRequest | None = await self._requests.call("trust.asked", agent)
                if asked:
                    self.ask(asked, lambda own: self._requests.start(work(own or own_settings)))
                    return
            go_on(own_settings)

        self._requests.start(work(False))
