"""Schedules the painting of panes: at once where keys land, together with other panes elsewhere.

What Textual's `refresh` does through several messages and a timer takes too long for the echo of a key.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget

from fleet_tui.tui.driver import host_of
from fleet_tui.tui.panes.key_priority import KeyPriority
from fleet_tui.tui.panes.pressure import Pressure

AT_ONCE = 1
"""The most panes painted in one go: a key that arrives meanwhile waits for them."""
COVERED_SECONDS = 0.25
"""Between frames while another screen is on top: each frame is then composed twice."""


class PaintedPane(Protocol):
    """A pane, as far as painting is concerned."""

    @property
    def wants_rate(self) -> bool:
        """Keys go to it."""

    def take_rows_to_paint(self) -> set[int]:
        """Hand over the rows that have changed since the last call."""


class RepaintScheduler:
    """Decides when panes with changed rows are painted."""

    def __init__(self, frame_rate: Callable[[], float], priority: KeyPriority, pressure: Pressure) -> None:
        self._frame_rate = frame_rate
        self._priority = priority
        self._pressure = pressure
        self._waiting: dict[Widget, PaintedPane] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._painted_at = 0.0
        self._due = 0.0

    def request(self, widget: Widget, pane: PaintedPane) -> None:
        """Paint the changed rows of a pane: at once where keys land, else soon, together with other panes."""
        self._waiting[widget] = pane
        if pane.wants_rate and widget.is_attached and widget.screen.is_active:
            if self._priority.is_unsent:
                self._priority.after_sending(self._paint_typed)
            else:
                self._paint_typed()
        elif self._timer is None:
            is_covered = widget.is_attached and not widget.screen.is_active
            interval = COVERED_SECONDS if is_covered else 1.0 / self._frame_rate()
            now = time.monotonic()
            self._due = max(now, self._painted_at + interval)
            self._timer = asyncio.get_running_loop().call_later(self._due - now, self._paint_due)

    def _paint_typed(self) -> None:
        typed = {widget: pane for widget, pane in self._waiting.items() if pane.wants_rate}
        if typed:
            self._paint(typed)
            self._priority.painted()

    def cancel(self, widget: Widget) -> None:
        self._waiting.pop(widget, None)

    def _paint_due(self) -> None:
        self._pressure.measured(time.monotonic() - self._due)
        self._paint_waiting()

    def _paint_waiting(self) -> None:
        self._timer = None
        self._painted_at = time.monotonic()
        self._paint_in_turns(list(self._waiting))

    def _paint_in_turns(self, widgets: list[Widget]) -> None:
        """Paint a few at a time, so that the effect of a key need not wait for all of them."""
        if self._priority.wait_seconds():
            self._priority.after(self._paint_held)
            return
        self._paint(
            {widget: self._waiting[widget] for widget in widgets[:AT_ONCE] if widget in self._waiting}
        )
        if widgets[AT_ONCE:]:
            asyncio.get_running_loop().call_soon(self._paint_in_turns, widgets[AT_ONCE:])

    def _paint_held(self) -> None:
        self._paint_in_turns(list(self._waiting))

    def _paint(self, panes: dict[Widget, PaintedPane]) -> None:
        by_screen: dict[Screen[object], list[tuple[Widget, set[int]]]] = {}
        for widget, pane in panes.items():
            if not widget.is_attached:
                self._waiting.pop(widget, None)
                continue
            host = host_of(widget.app)
            if host is not None and host.is_behind:
                host.when_drained(self._paint_waiting)
                return
            self._waiting.pop(widget, None)
            by_screen.setdefault(widget.screen, []).append((widget, pane.take_rows_to_paint()))
        for screen, changed in by_screen.items():
            _paint_rows(screen, changed)


def _paint_rows(screen: Screen[object], changed: Iterable[tuple[Widget, Iterable[int]]]) -> None:
    """Paint these rows of these widgets now, in one pass over the screen."""
    for widget, rows in changed:
        width = widget.size.width
        widget._set_dirty(*(Region(0, y, width, 1) for y in rows))
        screen._dirty_widgets.add(widget)
    screen._on_timer_update()
