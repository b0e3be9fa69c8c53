"""The dashboard as a program: wires the state feed, the worker and the dashboard together.

`run` is what the command line calls. The terminal is given back as it was, however this ends.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import ClassVar

from fleet_tui.fast_dataclasses import replace

# Panes schedule their own painting; the echo of a key must not wait for the frame timer of Textual.
os.environ.setdefault("TEXTUAL_FPS", "120")

from rich.console import RenderableType
from textual import events
from textual.binding import BindingType
from textual.command import Provider
from textual.notifications import SeverityLevel
from textual.theme import Theme

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.faces import crash_log
from fleet_tui.faces.form_drafts import FormDrafts
from fleet_tui.faces.live import LiveData
from fleet_tui.fleet import Fleet
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import FleetState
from fleet_tui.text import block, one_line
from fleet_tui.tui import color_depth, gc_schedule, stylesheets, themes
from fleet_tui.tui.clipboard import HostClipboard
from fleet_tui.tui.color_depth import ColorDepth
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.dialogs.crash import CrashDialog
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.driver import host_of
from fleet_tui.tui.hosted_app import HostedApp
from fleet_tui.tui.keys import clashes
from fleet_tui.tui.messages import FleetChanged, LiveDataChanged, WorkerFailed
from fleet_tui.tui.notifications import Notifications
from fleet_tui.tui.notifier import Notifier
from fleet_tui.tui.palette import FleetCommands
from fleet_tui.tui.panes.live_panes import LivePanes
from fleet_tui.tui.settings import DashboardSettings
from fleet_tui.tui.state_feed import StateFeed
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.toasts import ToastApp
from fleet_tui.tui.worker_client import WorkerClient

POLL_SECONDS = 0.1
SETTLED_SECONDS = 2.0
"""After this, most objects live as long as the dashboard."""
MAX_ERRORS = 3
"""Internal errors that are shown before the dashboard ends."""
SHEETS = (
    "base",
    "compare",
    "dashboard",
    "dialogs",
    "fan_out",
    "help",
    "landing",
    "logs",
    "review",
    "timeline",
)


class DashboardCrashed(FleetError):
    exit_code = 70


class FleetApp(ErrorBoundary, ToastApp[None], HostedApp[None], inherit_bindings=False):
    """Holds what all screens share: the newest state of the fleet, the worker, the keymap."""

    TITLE = "fleet-tui"
    BINDINGS: ClassVar[list[BindingType]] = []
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "f24"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {FleetCommands}
    CSS_PATH: ClassVar[list[str | PurePath]] = [stylesheets.path(name) for name in SHEETS]

    def __init__(
        self,
        fleet: Fleet,
        start: Path,
        settings: DashboardSettings,
        *,
        is_demo: bool = False,
        depth: ColorDepth = "truecolor",
    ) -> None:
        super().__init__(depth)
        self._fleet = fleet
        self._feed = StateFeed(fleet)
        self._worker = WorkerClient(start)
        self._errors_seen = 0
        self._shown_damaged: frozenset[str] = frozenset()
        self.failure: FleetError | None = None
        """Why the dashboard had to end; None when it was left."""
        self.fleet_state: FleetState = self._feed.read()
        for theme in themes.ours(depth):
            self.register_theme(theme)
        self.theme = settings.theme if settings.theme in self.available_themes else themes.DARK.name
        self.dashboard = Dashboard(
            LivePanes(fleet),
            self._worker,
            settings.keymap,
            self.fleet_state,
            panes=settings.panes,
            has_motion=settings.has_motion,
            drafts=FormDrafts(paths.form_drafts()),
            is_demo=is_demo,
        )

        self._warning = settings.warning
        self._clipboards = HostClipboard(
            self,
            lambda problem: self.notify(problem.hint, title=problem.reason, severity="warning", timeout=15),
        )
        notifier = Notifier(self, settings.notify, lambda said: self.notify(said, severity="warning"))
        self._fleet_notifications = Notifications(fleet, self.dashboard, notifier, settings.notify)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return themes.roles(self.current_theme)

    def on_mount(self) -> None:
        self._worker.on_live_data = lambda live: self._live_data_changed(live)
        self._worker.on_failure = lambda summary, trace: self._worker_failed(summary, trace)
        self._worker.on_outdated = lambda message, hint: self.notify(
            hint, title=message, severity="warning", timeout=60
        )
        self._worker.start()
        self.theme_changed_signal.subscribe(self, self._color_cursor)
        self._color_cursor(self.current_theme)
        self.push_screen(self.dashboard)
        self.set_interval(POLL_SECONDS, self._poll)
        if self._warning:
            self.notify(self._warning, title="Some of the project's settings are ignored", severity="warning")
        for clash in clashes(self.dashboard.keymap, os.environ):
            self.notify(clash, title="A key may not reach the dashboard", severity="warning", timeout=10)
        self.run_worker(self._look_around(), exit_on_error=False)
        if not self.is_headless:
            self.set_timer(SETTLED_SECONDS, gc_schedule.take_over)

    def _color_cursor(self, theme: Theme) -> None:
        """A light theme in a dark terminal would have a light cursor on its light background."""
        host = host_of(self)
        if host is not None:
            host.color_cursor(themes.cursor_color(theme, self.color_depth))

    async def on_unmount(self) -> None:
        self._fleet_notifications.close()
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
        """Show a toast. Its text is untrusted, so it has no markup."""
        super().notify(
            block(message), title=one_line(title), severity=severity, timeout=timeout, markup=False
        )

    def copy_to_clipboard(self, text: str) -> None:
        """Copy in our own way: Textual's fails without an error in some multiplexers."""
        self._clipboard = text
        self._clipboards.copy(text)

    # ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _poll(self) -> None:
        try:
            state = self._feed.poll()
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            return
        if state is not None:
            self._warn_damaged(state.damaged)
        if state is not None and state != self.fleet_state:
            self.fleet_state = state
            self._fleet_notifications.take(state)
            self.post_message(FleetChanged(state))
        self._fleet_notifications.tick()

    def _warn_damaged(self, names: tuple[str, ...]) -> None:
        """Warn, once for each, of agents that are not listed because their records are damaged."""
        for name in set(names) - self._shown_damaged:
            self.notify(
                "fleet list --repair restores it", title=f"the record of {name} is damaged", severity="error"
            )
        self._shown_damaged = frozenset(names)

    def on_fleet_changed(self, event: FleetChanged) -> None:
        # A message posted before the last update would bring back an older state.
        if event.state is self.fleet_state:
            self.dashboard.view.take_state(event.state)

    def _live_data_changed(self, live: LiveData) -> None:
        self.post_message(LiveDataChanged(live))

    def on_live_data_changed(self, event: LiveDataChanged) -> None:
        self.dashboard.view.take_live(event.live)
        # The worker reconciles the store before it sends live data.
        if not self._fleet_notifications.has_begun:
            # Agents of the summary must be in the list: one key steps through both.
            self.fleet_state = self._feed.read()
            self.dashboard.view.take_state(self.fleet_state)
            self._fleet_notifications.begin()

    def watch_app_focus(self, has_focus: bool) -> None:
        self._fleet_notifications.focus(has_focus)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key | events.Paste | events.MouseDown) and self.dashboard.is_mounted:
            self.dashboard.groups.away.pressed(event)
        await super().on_event(event)

    def _worker_failed(self, summary: str, trace: str) -> None:
        self.post_message(WorkerFailed(summary, trace))

    def on_worker_failed(self, event: WorkerFailed) -> None:
        self.push_screen(CrashDialog(event.summary, event.trace))

    async def _look_around(self) -> None:
        try:
            place: ProjectInfo = await self._worker.call("project_info")
        except FleetError as error:
            place = ProjectInfo(problem=error.message)
        self.dashboard.view.take_project(place)
        if self.dashboard.has_class("empty") and any(program.path for program in place.programs):
            await self._ask_versions()

    async def _ask_versions(self) -> None:
        """Only the first screen shows versions, and it does not wait for the programs that print them."""
        try:
            versions: dict[str, str] = await self._worker.call("profiles.versions")
        except FleetError:
            return
        place = self.dashboard.view.project
        if place is not None:
            programs = tuple(
                replace(program, version=versions.get(program.name, "")) for program in place.programs
            )
            self.dashboard.view.take_project(replace(place, programs=programs))

    # ── end ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End, whether the user asked for it, the terminal has closed or something failed: keep what open forms hold."""
        for screen in self.screen_stack:
            if isinstance(screen, DraftDialog):
                screen.keep_draft()
        super().exit(result, return_code, message)

    def _handle_exception(self, error: Exception) -> None:
        """An error in one handler is shown and logged; the dashboard goes on unless it cannot show anything."""
        if isinstance(error, FleetError):
            self._fail(error)
            return
        trace = "".join(traceback.format_exception(error))
        self._errors_seen += 1
        if self.is_running and self._errors_seen <= MAX_ERRORS and not isinstance(self.screen, CrashDialog):
            self.push_screen(CrashDialog(f"{type(error).__name__}: {error}", trace))
            return
        log = crash_log.write("fleet-tui", trace)
        said = f"internal error: {type(error).__name__}: {error}"
        self._end_with(DashboardCrashed(said, hint=f"agents are not affected; {log}"))

    def _fail(self, error: FleetError) -> None:
        """Show an error with a hint as a toast, or end when the dashboard is not mounted yet."""
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
        from fleet_tui.tui.demo import tour

        return tour.run(lambda project: _run(project, is_demo=True))
    return _run(project_dir)


def _run(project_dir: Path, *, is_demo: bool = False) -> int:
    settings = DashboardSettings.load(project_dir)
    fleet = Fleet(project_dir)
    depth = color_depth.of_terminal(os.environ)
    app = FleetApp(fleet, project_dir, settings, is_demo=is_demo, depth=depth)
    try:
        app.run()
    finally:
        fleet.close()
    if app.failure is not None:
        raise app.failure
    going = sum(not agent.has_ended for agent in app.fleet_state.agents)
    if going and not is_demo:
        sys.stdout.write(
            f"{going} agent{'s keep' if going > 1 else ' keeps'} running; fleet-tui shows them again\n"
        )
    return app.return_code or 0
