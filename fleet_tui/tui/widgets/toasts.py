"""Toasts: short notifications, shown where they cover nothing that the user is reading.

Textual shows its toasts at the lower right, over the last lines of a terminal. Here the screen says which region is free. The
newest toast is at the bottom, toasts that do not fit are counted, and a click dismisses one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from textual import events
from textual.app import App, ScreenStackError
from textual.geometry import Region
from textual.notifications import Notification, Notify
from textual.screen import Screen
from textual.timer import Timer

from fleet_tui.text import block
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, cut_line, length, wrap

HEADER_ROWS = 2
"""The header, and the border below it."""
HEADER_CELLS, HEADER_SHARE = 72, 0.7
HEADER_LEAST = 32
"""Cells below which toasts cover what else the header says."""
LONGEST = 5
"""The most lines of one toast."""
LEAST_CELLS = 12
RETRY_SECONDS = 1.0
ROLES = {"information": "primary", "warning": "warning", "error": "error"}

ToastLine = tuple[Line, Notification]
AppResult = TypeVar("AppResult")


class ToastRoom(NamedTuple):
    """Where toasts may be shown."""

    region: Region
    is_low: bool = False
    """They start from its bottom instead of its top."""


@runtime_checkable
class HasToastRoom(Protocol):
    """A screen that knows a free region; on other screens it is the right end of the first rows."""

    def toast_room(self) -> ToastRoom: ...


class ToastApp(App[AppResult]):
    """An app whose notifications `Toasts` shows, on the screen that is on top."""

    def on_notify(self, event: Notify) -> None:
        """Skip what is on screen already: a problem may be met twice, first as a warning and then as an error."""
        new = event.notification
        if any((new.message, new.title) == (one.message, one.title) for one in self._notifications):
            event.prevent_default()

    def _refresh_notifications(self) -> None:
        try:
            screen = self.screen
        except ScreenStackError:
            return
        toasts = next(iter(screen.query_children(Toasts)), None)
        if toasts is not None:
            toasts.show()
        elif len(self._notifications):
            screen.mount(Toasts())


class Toasts(LineView):
    def __init__(self) -> None:
        super().__init__()
        self._rows: Sequence[ToastLine] = ()
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out)
        self.app.screen_change_signal.subscribe(self, self._laid_out)
        self.call_after_refresh(self.show)

    def _laid_out(self, _screen: Screen[object]) -> None:
        if self._rows:
            self.show()

    def show(self) -> None:
        """Show the notifications of the app that have not expired."""
        if not self.is_mounted:
            return
        # They would be shown a second time behind a dialog.
        shown = list(self.app._notifications) if self.app.screen is self.screen else []
        room = room_on(self.screen)
        self._rows = rows(shown, room.region.width, room.region.height)
        height = len(self._rows)
        self._await(shown, has_room=bool(height))
        self.display = bool(height)
        if height:
            y = room.region.bottom - height if room.is_low else room.region.y
            place = (room.region.x, y, room.region.width, height)
            if place != (*self.region.offset, *self.region.size):
                self.styles.offset = place[:2]
                self.styles.width, self.styles.height = place[2:]
        self.redraw()

    def _await(self, shown: Sequence[Notification], *, has_room: bool) -> None:
        """Come again when the first one expires; those without room wait, and then have their time."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not shown:
            return
        if not has_room:
            for notification in shown:
                notification.raised_at = time.time() + RETRY_SECONDS
        seconds = min(one.time_left for one in shown) if has_room else RETRY_SECONDS
        self._timer = self.set_timer(max(0.01, seconds), self.show)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return [line for line, _ in self._rows]

    def on_click(self, event: events.Click) -> None:
        """Dismiss the toast."""
        event.stop()
        if 0 <= event.y < len(self._rows):
            self.app._unnotify(self._rows[event.y][1])


def room_on(screen: Screen[object]) -> ToastRoom:
    if isinstance(screen, HasToastRoom):
        return screen.toast_room()
    return at_header(screen)


def at_header(screen: Screen[object], *, taken: int = 0) -> ToastRoom:
    """The right of the header and of the border below it, beside the cells that are taken if there is room."""
    width = screen.size.width
    cells = min(width, max(HEADER_CELLS, round(width / 2)), round(width * HEADER_SHARE))
    if width - taken >= HEADER_LEAST:
        cells = min(cells, width - taken)
    return ToastRoom(Region(width - cells, 0, cells, min(HEADER_ROWS, screen.size.height)))


def rows(shown: Sequence[Notification], width: int, height: int) -> Sequence[ToastLine]:
    """The lines of the newest that fit; the first line counts the others."""
    found: list[ToastLine] = []
    left_out = 0
    for notification in reversed(shown):
        free = height - len(found)
        if free <= 0 or width < LEAST_CELLS:
            left_out += 1
            continue
        lines = lines_of(notification, width - 2, min(free, LONGEST))
        found = [(line, notification) for line in lines] + found
    count: Line = ((f"+{left_out} ", "muted"),) if left_out else ((" ", ""),)
    ends = [count, *[((" ", ""),)] * len(found)]
    return [
        (both_ends(line, end, width), notification)
        for (line, notification), end in zip(found, ends, strict=False)
    ]


def lines_of(notification: Notification, width: int, most: int) -> list[Line]:
    """The title and the message, as one text if they are short, in at most `most` lines."""
    role = ROLES[notification.severity]
    bar: Line = (("▌", role), (" ", ""))
    title, message = clean(notification.title), block(notification.message).strip()
    room = width - length(bar)
    words: Line = ((title, f"bold {role}"), ("  ", "")) if title else ()
    short: Line = (*bar, *words, (" ".join(message.split()), ""))
    if most == 1 or ("\n" not in message and length(short) <= width):
        return [cut_line(short, width)]
    # Of a long message at least one line is shown.
    found = [(line, f"bold {role}") for line in wrap(title, room, most - 1 if message else most) if title]
    for paragraph in message.split("\n"):
        free = most - len(found)
        found += [(line, "") for line in wrap(paragraph, room, free)] if free > 0 else []
    return [cut_line((*bar, part), width) for part in found]
