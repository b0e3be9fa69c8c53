"""The dashboard as a program: wires the feeds, the worker and the screens together, and behaves little itself.

`run` is what the command line calls. The terminal is given back as it was, however this ends.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import ClassVar

from fleet_tui.values import replace

# Panes pace themselves; the host's frames must not be what an echoed key waits for.
os.environ.setdefault("TEXTUAL_FPS", "120")

from textual import events
from textual.binding import BindingType
from textual.command import Provider
from textual.notifications import SeverityLevel

from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState
from fleet_tui.text import block, one_line
from fleet_tui.tui import garbage, stylesheets, themes
from fleet_tui.tui.driver import HostedApp
from fleet_tui.tui.exchange import Sights, Surroundings
from fleet_tui.tui.feeds import StateFeed, WorkerLink
from fleet_tui.tui.herald import Herald
from fleet_tui.tui.keys import clashes
from fleet_tui.tui.messages import FleetChanged, SightsChanged, WorkerFailed
from fleet_tui.tui.palette import FleetCommands
from fleet_tui.tui.screens.crash import CrashDialog, log_crash
from fleet_tui.tui.screens.dashboard import Dashboard
from fleet_tui.tui.sessions import Sessions
from fleet_tui.tui.settings import Settings
from fleet_tui.tui.vigil import Vigil
from fleet_tui.tui.widgets.sturdy import Sturdy

POLL_SECONDS = 0.1
SETTLED_SECONDS = 2.0
"""After which most of what exists will exist to the end."""
PATIENCE = 3
"""Errors in one session that are shown before it is better to end."""
SHEETS = ("base", "dashboard", "dialogs", "fan_out", "help", "logs")


class DashboardCrashed(FleetError):
    exit_code = 70


class FleetApp(Sturdy, HostedApp[None], inherit_bindings=False):
    """Holds what all screens share: the newest state of the fleet, the worker, the keymap."""

    TITLE = "fleet-tui"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "f24"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {FleetCommands}
    CSS_PATH: ClassVar[list[str | PurePath]] = [stylesheets.path(name) for name in SHEETS]

    def __init__(self, fleet: Fleet, start: Path, settings: Settings) -> None:
        super().__init__()
        self._fleet = fleet
        self._feed = StateFeed(fleet)
        self._worker = WorkerLink(start)
        self._errors_seen = 0
        self._told_damaged: frozenset[str] = frozenset()
        self.failure: FleetError | None = None
        """Why the dashboard had to end; None when it was left."""
        self.fleet_state: FleetState = self._feed.read()
        for theme in themes.OURS:
            self.register_theme(theme)
        self.theme = settings.theme if settings.theme in self.available_themes else themes.DARK.name
        self.dashboard = Dashboard(
            Sessions(fleet),
            self._worker,
            settings.keymap,
            self.fleet_state,
            panes=settings.panes,
            has_motion=settings.has_motion,
        )

        self._warning = settings.warning
        herald = Herald(self, settings.notify, lambda said: self.notify(said, severity="warning"))
        self._vigil = Vigil(fleet, self.dashboard, herald, settings.notify)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.roles(self.current_theme)

    def on_mount(self) -> None:
        self._worker.on_sights = lambda sights: self._saw(sights)
        self._worker.on_failure = lambda summary, trace: self._worker_failed(summary, trace)
        self._worker.start()
        self.push_screen(self.dashboard)
        self.set_interval(POLL_SECONDS, self._poll)
        if self._warning:
            self.notify(self._warning, title="Not all of the project's settings count", severity="warning")
        for clash in clashes(self.dashboard.keymap, os.environ):
            self.notify(clash, title="A key you may miss", severity="warning", timeout=10)
        self.run_worker(self._look_around(), exit_on_error=False)
        if not self.is_headless:
            self.set_timer(SETTLED_SECONDS, garbage.take_over)

    async def on_unmount(self) -> None:
        self._vigil.close()
        self._worker.close()

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """What is being said already is not said again; and it is words of others, in which brackets are brackets."""
        message, title = block(message), one_line(title)
        said = (message, title, severity)
        if said not in ((one.message, one.title, one.severity) for one in self._notifications):
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=False)

    # ── news ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _poll(self) -> None:
        try:
            state = self._feed.poll()
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            return
        if state is not None:
            self._tell_damaged(state.damaged)
        if state is not None and state != self.fleet_state:
            self.fleet_state = state
            self._vigil.take(state)
            self.post_message(FleetChanged(state))
        self._vigil.tick()

    def _tell_damaged(self, names: tuple[str, ...]) -> None:
        """Name the agents that are missing from the list because their records cannot be read, once."""
        for name in set(names) - self._told_damaged:
            self.notify(
                "fleet list --repair restores it", title=f"the record of {name} is damaged", severity="error"
            )
        self._told_damaged = frozenset(names)

    def on_fleet_changed(self, event: FleetChanged) -> None:
        # One that was posted before the dashboard was last brought up to date would take it back.
        if event.state is self.fleet_state:
            self.dashboard.state = event.state

    def _saw(self, sights: Sights) -> None:
        self.post_message(SightsChanged(sights))

    def on_sights_changed(self, event: SightsChanged) -> None:
        self.dashboard.sights = event.sights
        # The worker has looked through the store before it says what it sees.
        if not self._vigil.has_begun:
            # What is summed up has to be on the list as well: both are gone through with the same key.
            self.dashboard.state = self.fleet_state = self._feed.read()
            self._vigil.begin()

    def watch_app_focus(self, has_focus: bool) -> None:
        self._vigil.focus(has_focus)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste | events.MouseDown) and self.dashboard.is_mounted:
            self.dashboard.away_actions.pressed(event)
        await super().on_event(event)

    def _worker_failed(self, summary: str, trace: str) -> None:
        self.post_message(WorkerFailed(summary, trace))

    def on_worker_failed(self, event: WorkerFailed) -> None:
        self.push_screen(CrashDialog(event.summary, event.trace))

    async def _look_around(self) -> None:
        try:
            place: Surroundings = await self._worker.call("surroundings")
        except FleetError as error:
            place = Surroundings(problem=error.message)
        self.dashboard.place = place
        if self.dashboard.has_class("empty") and any(tool.path for tool in place.tools):
            await self._ask_versions()

    async def _ask_versions(self) -> None:
        """Only the first screen shows them, and it need not wait for programs that have to be started for that."""
        try:
            versions: dict[str, str] = await self._worker.call("versions")
        except FleetError:
            return
        place = self.dashboard.place
        if place is not None:
            tools = tuple(replace(tool, version=versions.get(tool.name, "")) for tool in place.tools)
            self.dashboard.place = replace(place, tools=tools)

    # ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _handle_exception(self, error: Exception) -> None:
        """An error in one handler is shown and logged; the dashboard goes on unless it cannot show anything."""
        if isinstance(error, FleetError):
            self._fail(error)
            return
        trace = "".join(traceback.format_exception(error))
        self._errors_seen += 1
        if self.is_running and self._errors_seen <= PATIENCE and not isinstance(self.screen, CrashDialog):
            self.push_screen(CrashDialog(f"{type(error).__name__}: {error}", trace))
            return
        where = log_crash(trace)
        said = f"internal error: {type(error).__name__}: {error}"
        self._end_with(DashboardCrashed(said, hint=f"agents are not affected; details are in {where}"))

    def _fail(self, error: FleetError) -> None:
        """A failure that a person can act on: a toast, or the end when there is nothing to show it on."""
        if self.dashboard.is_mounted:
            self.notify(error.hint or " ", title=error.message, severity="error", timeout=8)
        else:
            self._end_with(error)

    def _end_with(self, error: FleetError) -> None:
        self.failure = error
        self.exit(return_code=error.exit_code)


def run(project_dir: Path, *, demo: bool = False) -> int:
    """Open the dashboard on the fleet as seen from a folder; returns the exit code."""
    if demo:
        from fleet_tui import demo as stage

        return stage.run(lambda project: _run(project, is_demo=True))
    return _run(project_dir)


def _run(project_dir: Path, *, is_demo: bool = False) -> int:
    settings = Settings.load(project_dir)
    fleet = Fleet(project_dir)
    app = FleetApp(fleet, project_dir, settings)
    try:
        app.run()
    finally:
        fleet.close()
    if app.failure is not None:
        raise app.failure
    going = sum(not agent.has_ended for agent in app.fleet_state.agents)
    if going and not is_demo:
        sys.stdout.write(f"{going} agent{'s go' if going > 1 else ' goes'} on; fleet-tui shows them again\n")
    return app.return_code or 0
