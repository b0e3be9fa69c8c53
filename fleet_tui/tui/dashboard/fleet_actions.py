"""Actions that are not about single agents: project setup, the tour, palette, help, theme, leaving."""

from __future__ import annotations

from pathlib import Path

from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.outside import FLEET, ExternalPrograms
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.dialogs.help import HelpDialog


class FleetActions:
    """The dashboard and the project it was opened in."""

    def __init__(
        self, view: FleetView, display: Display, requests: WorkerRequests, outside: ExternalPrograms
    ) -> None:
        self._view = view
        self._display = display
        self._requests = requests
        self._outside = outside

    def help(self) -> None:
        self._display.open(HelpDialog(self._display.keymap))

    def palette(self) -> None:
        self._display.app.action_command_palette()

    def theme(self) -> None:
        self._display.app.search_themes()

    def leave(self) -> None:
        self._display.app.exit()

    def init(self) -> None:
        """Write the project's settings."""

        async def work() -> None:
            made: list[Path] = await self._requests.call("settings.init")
            self._display.notify("\n".join(map(str, made)), title="written")
            self._view.take_project(await self._requests.call("project_info"))

        self._requests.start(work())

    def make_repository(self) -> None:
        """Make a repository here, or its first commit, when that is all that is missing."""
        if self._view.project is None or not self._view.project.can_prepare:
            return

        async def work() -> None:
            await self._requests.call("prepare_repository")
            self._view.take_project(await self._requests.call("project_info"))
            self._display.notify("made a repository with a first, empty commit")

        self._requests.start(work())

    def demo(self) -> None:
        """Show the tour in a dashboard of its own, then return."""
        self._outside.run(lambda: [*FLEET, "ui", "demo"])
