"""Watches over the dashboard's news for the person: what is told at once, and what is told when they come back.

Wires the pure parts (attention, absence) to the app, the herald and the dashboard. Decides nothing itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState
from fleet_tui.tui.absence import LONG_SECONDS, Mark, read_mark, summarize, write_mark
from fleet_tui.tui.attention import Attention, Gaze, Switches
from fleet_tui.tui.herald import Herald
from fleet_tui.tui.screens.dashboard import Dashboard

MARK_SECONDS = 60.0
"""How much of the past a dashboard that is killed forgets to have shown."""


class Vigil:
    def __init__(
        self,
        fleet: Fleet,
        desk: Dashboard,
        herald: Herald,
        switches: Switches,
        *,
        clock: Callable[[], float] = time.time,
        file: Path | None = None,
    ) -> None:
        self._fleet = fleet
        self._desk = desk
        self._herald = herald
        self._clock = clock
        self._file = file or paths.last_look()
        self._attention = Attention(switches, desk.muted)
        self._journal = 0
        self._left: Mark | None = None
        """When the host terminal lost the focus, while it has not got it back."""
        self._marked_at = 0.0
        self.has_begun = False
        desk.away_actions.is_awaited = True

    def begin(self) -> None:
        """The dashboard shows a store that was brought up to date: that is old, and told as a summary."""
        self.has_begun = True
        self._desk.away_actions.is_awaited = False
        state = self._desk.state
        self._attention.begin(state)
        self._journal = state.journal_id
        mark = read_mark(self._file)
        if mark is not None:
            self._sum_up(state, mark)
        self._write_mark()

    def take(self, state: FleetState) -> None:
        if self.has_begun:
            self._journal = state.journal_id
            self._attention.take(state, self._gaze(), self._clock())

    def tick(self) -> None:
        """Several times a second: tell what is due."""
        notice = self._attention.due(self._gaze(), self._clock())
        if notice is not None:
            self._herald.tell(notice)
        self._herald.reap()
        if self.has_begun and abs(self._clock() - self._marked_at) >= MARK_SECONDS:
            self._write_mark()

    def focus(self, has_focus: bool) -> None:
        """The host terminal has lost the keyboard, or got it back."""
        left, now = self._left, self._clock()
        self._left = None if has_focus else (left or Mark(now, self._journal))
        if self.has_begun and has_focus and left is not None and now - left.at >= LONG_SECONDS:
            self._sum_up(self._desk.state, left)

    def close(self) -> None:
        self._herald.close()
        if self.has_begun:
            self._write_mark()

    def _gaze(self) -> Gaze:
        desk = self._desk
        return Gaze(frozenset({desk.selected, desk.typing} - {""}), desk.app.app_focus)

    def _sum_up(self, state: FleetState, mark: Mark) -> None:
        summary = summarize(state, self._fleet.moved_since(mark.journal), mark, self._clock())
        if summary is not None:
            self._desk.away_actions.show(summary)

    def _write_mark(self) -> None:
        """Until now, or until the person turned away."""
        self._marked_at = self._clock()
        write_mark(self._file, self._left or Mark(self._marked_at, self._journal))
