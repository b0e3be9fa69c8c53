"""Notes of a program besides its output: titles, bells, notifications, status reports and lost output.

Each is put in the event log and, where clients show it, sent to them; floods are limited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fleet_tui.holder import wire
from fleet_tui.holder.event_log import EventLog
from fleet_tui.holder.foreground import Foreground
from fleet_tui.holder.interaction import Interaction
from fleet_tui.terminal.emulator import Bell, Notification, ProgramStatus, Title

NOTE_SECONDS = 1.0
"""At most one title and one bell in this time: some programs spin in their title."""
NOTIFICATIONS_PER_BEAT = 20
TITLE_CHARS, HEADING_CHARS, BODY_CHARS = 300, 300, 2000


class Notes:
    """Takes what the emulator finds beside the text of the output."""

    def __init__(
        self,
        events: EventLog,
        earlier: Sequence[Mapping[str, Any]],
        interaction: Interaction,
        foreground: Foreground,
        broadcast: Callable[[bytes], None],
    ) -> None:
        self._events = events
        self._interaction = interaction
        self._foreground = foreground
        self._broadcast = broadcast
        self._reporter = foreground.reporter
        """Process group that makes the status reports, as logged last."""
        self._lost_before = self._lost_logged = last_logged(earlier, "output-lost", "bytes")
        """Bytes of output that earlier servers of this run lost, and the total logged last."""
        now = time.monotonic()
        self._title: str | None = None
        """A title not logged yet."""
        self._logged_title = ""
        self._next_title = now
        self._next_bell = now
        self._notifications_left = NOTIFICATIONS_PER_BEAT

    def take(self, note: object, now: float) -> None:
        match note:
            case Bell():
                self._take_bell(now)
            case Title(text):
                self._title = text[:TITLE_CHARS]
                self._interaction.titled(self._title, now)
            case Notification(title, body):
                self._take_notification(title[:HEADING_CHARS], body[:BODY_CHARS])
            case ProgramStatus(payload):
                self._foreground.reported(now)
                self.log_reporter()
                self._interaction.reported(payload, now)
            case _:
                pass

    def log_reporter(self) -> None:
        if self._foreground.reporter != self._reporter:
            self._reporter = self._foreground.reporter
            self._events.append("reporter", time.time(), group=self._reporter)

    def log_loss(self, lost: int) -> None:
        total = self._lost_before + lost
        if total != self._lost_logged:
            self._lost_logged = total
            self._events.append("output-lost", time.time(), bytes=total)

    def log_title(self) -> None:
        if self._title is None:
            return
        if self._title != self._logged_title:
            self._events.append("title", time.time(), text=self._title)
            self._next_title = time.monotonic() + NOTE_SECONDS
        self._logged_title, self._title = self._title, None

    def due(self) -> float | None:
        return self._next_title if self._title is not None else None

    def tick(self, now: float) -> None:
        if self._title is not None and now >= self._next_title:
            self.log_title()

    def beat(self) -> None:
        """Allow notifications again, and retry what a full disk has delayed."""
        self._notifications_left = NOTIFICATIONS_PER_BEAT
        self._events.flush()

    def _take_bell(self, now: float) -> None:
        if now >= self._next_bell:
            self._next_bell = now + NOTE_SECONDS
            self._events.append("bell", time.time())
            self._broadcast(wire.pack("note", kind="bell", title="", text=""))

    def _take_notification(self, title: str, text: str) -> None:
        if self._notifications_left:
            self._notifications_left -= 1
            self._events.append("notification", time.time(), title=title, text=text)
            self._broadcast(wire.pack("note", kind="notification", title=title, text=text))


def last_logged(events: Sequence[Mapping[str, Any]], kind: str, field: str) -> int:
    """A number from the last event of a kind; 0 when there is none."""
    found = [one["data"] for one in events if one["kind"] == kind]
    return int(found[-1].get(field, 0)) if found else 0
