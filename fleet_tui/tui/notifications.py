"""Notifications: notices that are sent at once, and the summary when the user comes back.

Wires `faces.notices` and `faces.away_summary`, which decide, to the app, the notifier and the dashboard.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fleet_tui import paths
from fleet_tui.faces.away_summary import LONG_SECONDS, Mark, read_mark, summarize, write_mark
from fleet_tui.faces.notices import NoticeTracker, NotifySettings, UserFocus
from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.notifier import Notifier

MARK_SECONDS = 60.0
"""How often the mark is written: a killed dashboard repeats at most this much in the next summary."""


class Notifications:
    def __init__(
        self,
        fleet: Fleet,
        dashboard: Dashboard,
        notifier: Notifier,
        switches: NotifySettings,
        *,
        clock: Callable[[], float] = time.time,
        file: Path | None = None,
    ) -> None:
        self._fleet = fleet
        self._dashboard = dashboard
        self._notifier = notifier
        self._clock = clock
        self._file = file or paths.last_look()
        self._tracker = NoticeTracker(switches, dashboard.view.muted)
        self._journal = 0
        self._left: Mark | None = None
        """When the host terminal lost the focus; None while it has it."""
        self._marked_at = 0.0
        self.has_begun = False
        dashboard.groups.away.is_awaited = True

    def begin(self) -> None:
        """Begin once the store is up to date: what happened before is summed up instead of notified."""
        self.has_begun = True
        self._dashboard.groups.away.is_awaited = False
        state = self._dashboard.view.state
        self._tracker.begin(state)
        self._journal = state.journal_id
        mark = read_mark(self._file)
        if mark is not None:
            self._sum_up(state, mark)
        self._write_mark()

    def take(self, state: FleetState) -> None:
        if self.has_begun:
            self._journal = state.journal_id
            self._tracker.take(state, self._user_focus(), self._clock())

    def tick(self) -> None:
        """Send what is due; called several times a second."""
        notice = self._tracker.due(self._user_focus(), self._clock())
        if notice is not None:
            self._notifier.notify(notice)
        self._notifier.reap()
        if self.has_begun and abs(self._clock() - self._marked_at) >= MARK_SECONDS:
            self._write_mark()

    def focus(self, has_focus: bool) -> None:
        """The host terminal lost the focus, or got it back."""
        left, now = self._left, self._clock()
        self._left = None if has_focus else (left or Mark(now, self._journal))
        if self.has_begun and has_focus and left is not None and now - left.at >= LONG_SECONDS:
            self._sum_up(self._dashboard.view.state, left)

    def close(self) -> None:
        self._notifier.close()
        if self.has_begun:
            self._write_mark()

    def _user_focus(self) -> UserFocus:
        dashboard = self._dashboard
        return UserFocus(dashboard.view.looked_at, dashboard.app.app_focus)

    def _sum_up(self, state: FleetState, mark: Mark) -> None:
        summary = summarize(state, self._fleet.moved_since(mark.journal), mark, self._clock())
        if summary is not None:
            self._dashboard.groups.away.show(summary)

    def _write_mark(self) -> None:
        """Mark everything until now, or until the user left, as seen."""
        self._marked_at = self._clock()
        write_mark(self._file, self._left or Mark(self._marked_at, self._journal))
