"""Frames: for each viewer the rows of the screen that it has not seen, at most at the rate it asked for.

Styles are interned: a frame refers to them by number and defines those that are new to its viewer. The table is
bounded; when it is full, a new epoch begins with a full frame for every viewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fleet_tui.holder import wire
from fleet_tui.terminal.emulator import Row, Screen, Style

MAX_STYLES = 4096
"""Size at which the table is reset before a frame; one frame can add as many styles as the screen has cells."""
MAX_UNACKNOWLEDGED = 2
FRAME_BYTES = wire.LIMIT // 2
"""A frame larger than this is sent in parts."""
TAIL_SECONDS = 0.5
ECHO_SECONDS, ECHO_INTERVAL = 0.05, 0.005
"""For this long after a key, and at most this often, the viewer that typed it gets output regardless of its rate."""
TAIL_LINES = 3


class Viewer:
    """What one client has been sent, and its rate."""

    def __init__(self, *, kind: str, rate: float = 30.0) -> None:
        self.kind = kind
        self.seen = -1
        """The generation of the newest row it has."""
        self.seq = 0
        self.acknowledged = 0
        self.next_at = 0.0
        self.epoch = -1
        self.styles: set[int] = set()
        self.header: tuple[Any, ...] = ()
        self.tail: list[str] = []
        self._typed_at = -ECHO_SECONDS
        self._sent_at = 0.0
        self.taken = -1
        """The look at the screen that it was last served from."""
        self.set_rate(rate)

    def set_rate(self, rate: float) -> None:
        if rate > 0 and getattr(self, "rate", 0.0) == 0:
            self.seen, self.next_at = -1, 0.0
        self.rate = rate
        self.interval = 1.0 / rate if rate > 0 else TAIL_SECONDS
        self.taken = -1

    def sent(self, now: float) -> None:
        """Record that it gets a frame now; the next one is due after an interval."""
        self._sent_at = now
        self.next_at = now + self.interval

    def acknowledge(self, seq: int) -> None:
        self.acknowledged = max(self.acknowledged, min(seq, self.seq))

    def typed(self, now: float) -> None:
        """Output that follows soon is probably the effect of a key: send it at once, whatever the rate."""
        self._typed_at = now

    def output_came(self, now: float) -> None:
        if now < self._typed_at + ECHO_SECONDS:
            self.next_at = min(self.next_at, self._sent_at + ECHO_INTERVAL)

    @property
    def is_waiting(self) -> bool:
        """Whether it has too many unacknowledged frames; more would only pile up."""
        return self.seq - self.acknowledged >= MAX_UNACKNOWLEDGED


class Frames:
    """Takes a snapshot of the screen on request, and serves every viewer from the last one."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_stale = True
        """The screen has changed since the last look."""
        self._taken = 0
        self._generation = 0
        self._epoch = 0
        self._ids: dict[Style, int] = {}
        self._styles_by_id: dict[int, Style] = {}
        self._changed: list[int] = []
        self._rows: list[list[Any] | None] = []
        self._header: tuple[Any, ...] = ()
        self.resized()

    def fed(self) -> None:
        """The screen may have changed."""
        self._is_stale = True

    def resized(self) -> None:
        self._generation += 1
        self._changed = [self._generation] * self._screen.rows
        self._rows = [None] * self._screen.rows
        self._is_stale = True
        self.look()

    def due(self, viewers: list[Viewer], *, is_held: bool) -> float | None:
        """When the next frame is due; None while there is nothing new for any viewer."""
        moments = [viewer.next_at for viewer in viewers if self._has_news(viewer, is_held=is_held)]
        return min(moments, default=None)

    def is_due(self, viewer: Viewer, now: float, *, is_held: bool) -> bool:
        return now >= viewer.next_at and self._has_news(viewer, is_held=is_held)

    def _has_news(self, viewer: Viewer, *, is_held: bool) -> bool:
        """Whether there is something to send; while the screen is held, only an earlier look counts."""
        if viewer.is_waiting:
            return False
        return viewer.taken != self._taken or (self._is_stale and not is_held)

    def look(self) -> None:
        """Take over what has changed on the screen since the last look."""
        if not self._is_stale:
            return
        self._is_stale = False
        self._taken += 1
        rows = self._screen.update()
        if rows:
            if len(self._ids) >= MAX_STYLES:
                self._new_epoch()
            self._generation += 1
            for y in rows:
                if y < len(self._changed):
                    self._changed[y] = self._generation
                    self._rows[y] = None
        self._header = self._read_header()

    def changes(self, viewer: Viewer, now: float) -> Iterator[bytes]:
        """The messages to send this viewer now, if any."""
        viewer.taken = self._taken
        if viewer.rate == 0:
            yield from self._tail(viewer, now)
            return
        is_full = viewer.epoch != self._epoch or viewer.seen < 0
        changed = [y for y, generation in enumerate(self._changed) if is_full or generation > viewer.seen]
        if not changed and self._header == viewer.header:
            return
        viewer.sent(now)
        yield from self._packed(viewer, [[y, self._encoded(y)] for y in changed], is_full=is_full)

    def full(self, viewer: Viewer) -> Iterator[bytes]:
        """The whole screen, for a viewer that has seen nothing."""
        lines = [[y, self._encoded(y)] for y in range(len(self._changed))]
        yield from self._packed(viewer, lines, is_full=True)

    def plain_rows(self, rows: list[Row]) -> list[list[Any]]:
        """Rows with complete styles, for answers outside the stream of frames."""
        return [[[text, list(style) if style else None, width] for text, style, width in row] for row in rows]

    def _read_header(self) -> tuple[Any, ...]:
        screen = self._screen
        cursor, modes = screen.cursor, screen.modes
        return (
            screen.cols,
            screen.rows,
            (cursor.x, cursor.y, cursor.visible, cursor.shape, cursor.blink),
            (modes.alternate, modes.bracketed_paste, modes.mouse, modes.focus_events, modes.alternate_scroll),
            screen.title,
            screen.history_size,
        )

    def _packed(self, viewer: Viewer, lines: list[list[Any]], *, is_full: bool) -> Iterator[bytes]:
        if is_full:
            viewer.styles = set()
        viewer.epoch, viewer.seen, viewer.header = self._epoch, self._generation, self._header
        parts = list(_parts(lines))
        for number, part in enumerate(parts, start=1):
            viewer.seq += 1
            cols, rows, cursor, modes, title, history = self._header
            yield wire.pack(
                "frame",
                seq=viewer.seq,
                full=is_full and number == 1,
                more=number < len(parts),
                cols=cols,
                rows=rows,
                epoch=self._epoch,
                styles=self._new_styles(viewer, part),
                lines=part,
                cursor=cursor,
                modes=modes,
                title=title,
                history=history,
            )

    def _new_styles(self, viewer: Viewer, lines: list[list[Any]]) -> dict[int, Style]:
        used = {number for _, runs in lines for number in runs[1::3] if number}
        fresh = used - viewer.styles
        if not fresh:
            return {}
        viewer.styles |= fresh
        return {number: self._styles_by_id[number] for number in fresh}

    def _encoded(self, y: int) -> list[Any]:
        """A row as text, style, width, text, style, width …"""
        found = self._rows[y]
        if found is None:
            found = []
            for text, style, width in self._screen.row(y):
                found += (text, self._intern(style), width)
            self._rows[y] = found
        return found

    def _intern(self, style: Style | None) -> int:
        if style is None:
            return 0
        number = self._ids.get(style)
        if number is None:
            number = self._ids[style] = len(self._ids) + 1
            self._styles_by_id[number] = style
        return number

    def _new_epoch(self) -> None:
        self._epoch += 1
        self._ids = {}
        self._styles_by_id = {}
        self._rows = [None] * self._screen.rows

    def _tail(self, viewer: Viewer, now: float) -> Iterator[bytes]:
        viewer.next_at = now + viewer.interval
        lines = [line for line in self._screen.lines() if line.strip()][-TAIL_LINES:]
        if lines != viewer.tail:
            viewer.tail = lines
            yield wire.pack("tail", lines=lines)


def _parts(lines: list[list[Any]]) -> Iterator[list[list[Any]]]:
    """Split the lines into groups that each fit a message; nearly always one."""
    part: list[list[Any]] = []
    size = 0
    for line in lines:
        # Text of at most four bytes a character, and two numbers and a style of up to 40 bytes a run.
        cost = sum(len(text) * 4 for text in line[1][::3]) + 20 * len(line[1])
        if part and size + cost > FRAME_BYTES:
            yield part
            part, size = [], 0
        part.append(line)
        size += cost
    yield part
