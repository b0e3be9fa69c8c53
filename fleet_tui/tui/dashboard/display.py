"""What actions may do to the screen: notify, open a dialog, redraw, wait. Knows no dashboard."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from textual.app import App
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.timer import Timer

from fleet_tui.errors import FleetError
from fleet_tui.tui.keys import Keymap
from fleet_tui.tui.widgets.lines import Line

ERROR_SECONDS = 8.0

Result = TypeVar("Result")


class Display:
    """The screen, as far as actions need it."""

    def __init__(
        self,
        screen: Screen[Any],
        keymap: Keymap,
        clock: Callable[[], float],
        *,
        redraw: Callable[[], None],
        hint: Callable[[Line], None],
    ) -> None:
        self._screen = screen
        self._clock = clock
        self.keymap = keymap
        self.redraw = redraw
        """Bring all widgets up to date."""
        self.hint = hint
        """Show one line at the bottom of the list, until something else happens."""

    @property
    def app(self) -> App[Any]:
        return self._screen.app

    @property
    def now(self) -> float:
        return self._clock()

    @property
    def is_on_top(self) -> bool:
        """No dialog covers it."""
        return self.app.screen is self._screen

    @property
    def is_focused(self) -> bool:
        """A widget has the focus."""
        return self._screen.focused is not None

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
    ) -> None:
        self._screen.notify(message, title=title, severity=severity, timeout=timeout)

    def warn(self, message: str) -> None:
        self.notify(message, severity="warning")

    def fail(self, message: str, *, title: str) -> None:
        self.notify(message or " ", title=title, severity="error", timeout=ERROR_SECONDS)

    def show_error(self, error: FleetError) -> None:
        self.fail(error.hint, title=error.message)

    def open(self, dialog: Screen[Result], on_result: Callable[[Result | None], None] | None = None) -> None:
        self.app.push_screen(dialog, on_result)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run in the background."""
        self._screen.run_worker(work, group="verbs", exit_on_error=False)

    def later(self, seconds: float, action: Callable[[], object]) -> Timer:
        return self._screen.set_timer(seconds, action)

    def after_refresh(self, action: Callable[[], object]) -> None:
        self._screen.call_after_refresh(action)
