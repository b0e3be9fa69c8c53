"""Lines that scroll off a screen, each handed out once, however the screen is resized, cleared or flooded.

Owns a mark that the emulator moves with the last row taken. Does not know where the lines go.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from fleet_tui.terminal.emulator.native import is_wrapped, lib, new, number, plain_text, tracked_ref

# Sequences that make rows unreachable: full reset, erase of the scrollback, alternate screen.
_TAKES_HISTORY = re.compile(rb"\x1b(?:c|\[(?:3J|\?(?:\d+;)*(?:47|1047|1049)h))")
# These are much faster to search for: of the sequences, only the shortest begins with an escape, which every color does too.
# A single byte is the fastest to find.
_HINTS = tuple(
    (first, re.compile(hint))
    for first, hint in (
        (b"\x1b", rb"\x1bc"),
        (b"J", rb"J(?<=\x1b\[3J)"),
        (b"?", rb"\?(?:\d+;)*(?:47|1047|1049)h"),
    )
)
SAFE_PART = 8
"""This part of the wanted rows is kept whatever they contain."""
_LONGEST_SEQUENCE = 24
_LONGEST_LINE = 1000  # rows of one unfinished line to wait for its end


class ScrolledLines:
    """The lines that scrolled off one terminal's primary screen, and which of them were taken."""

    def __init__(self, terminal: Any, capacity: int) -> None:
        self._terminal = terminal
        self._capacity = capacity
        self._gathered: deque[str] = deque()
        self._lost = 0
        self._newlines = 0
        self._tail = b""
        self._mark: Any = None
        self._coordinate = new("GhosttyPointCoordinate")
        self._start_over()

    def free(self) -> None:
        if self._mark is not None:
            lib.ghostty_tracked_grid_ref_free(self._mark)
            self._mark = None

    def cuts(self, data: bytes) -> list[int]:
        """Offsets in the coming bytes before which the lines scrolled so far must be gathered."""
        newlines = data.count(b"\n")
        # Rows with many colors are dropped long before the wanted number is reached.
        is_pressing = self._newlines + newlines > self._capacity // SAFE_PART > newlines
        has_room = len(self._gathered) < self._capacity
        self._newlines += newlines
        first = [0] if is_pressing and has_room else []
        return first + self._takers(data)

    def _takers(self, data: bytes) -> list[int]:
        seam = len(self._tail)
        joined = self._tail + data
        self._tail = joined[-_LONGEST_SEQUENCE:]
        if b"\x1b" not in joined or not any(
            first in joined and hint.search(joined) for first, hint in _HINTS
        ):
            return []
        return [
            max(match.start() - seam, 0) for match in _TAKES_HISTORY.finditer(joined) if match.end() > seam
        ]

    def take(self, limit: int) -> tuple[list[str], int]:
        lines = [self._gathered.popleft() for _ in range(min(limit, len(self._gathered)))]
        lost, self._lost = self._lost, 0
        return lines, lost

    def gather(self, limit: int | None = None) -> None:
        """Gather the new lines above the screen, up to `limit` waiting in total."""
        room = (self._capacity if limit is None else limit) - len(self._gathered)
        if self._is_alternate():
            return
        if room <= 0:
            if limit is None:  # lines are not taken, and their rows are about to be dropped
                self._lost, self._newlines = self._lost + self._newlines, 0
            return
        start, end = self._first_row(), number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_SCROLLBACK_ROWS)
        stop = self._line_end(start, min(end, start + room), end) if start < end else start
        is_inside_line = stop > start and is_wrapped(self._terminal, stop - 1)
        lines, stop = self._lines(start, stop, is_last=stop == end)
        if stop > start:
            self._gathered.extend(lines)
            self._set_mark(stop - 1, is_inside_line=is_inside_line)
        self._newlines = max(self._newlines - len(lines), 0) if stop < end else 0

    def _is_alternate(self) -> bool:
        screen = number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_ACTIVE_SCREEN)
        return screen == int(lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE)

    def _first_row(self) -> int:
        """The first row not yet taken, counted from the oldest one kept."""
        point = self._coordinate
        if self._mark is None or lib.ghostty_tracked_grid_ref_point(
            self._mark, lib.GHOSTTY_POINT_TAG_SCREEN, point
        ):
            self._count_lost()
            self._start_over()
            return 0
        # The emulator moves the mark to the corner when it erases the scrollback that held it.
        if self._is_at_start or (point.x, point.y) == (0, 0):
            return 0
        row: int = point.y
        while not self._is_inside_line and is_wrapped(self._terminal, row):
            row += 1
        return row + 1

    def _count_lost(self) -> None:
        """Count the lines lost with the row last taken, by the newlines since then."""
        kept = number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_TOTAL_ROWS)
        if kept > self._capacity // 2:  # else the history was not full but erased
            self._lost += max(self._newlines - kept, 0)

    def _start_over(self) -> None:
        self.free()
        self._mark = tracked_ref(self._terminal, lib.GHOSTTY_POINT_TAG_SCREEN, 0, 0)
        self._is_at_start = True
        self._is_inside_line = False

    def _set_mark(self, row: int, *, is_inside_line: bool) -> None:
        self.free()
        # Not in the first column, to distinguish it from a mark moved to the corner.
        self._mark = tracked_ref(self._terminal, lib.GHOSTTY_POINT_TAG_SCREEN, 1, row)
        self._is_at_start = False
        self._is_inside_line = is_inside_line

    def _line_end(self, start: int, stop: int, end: int) -> int:
        """The end of the last whole line within start..stop, or of the first one if that is longer."""
        last = stop
        while last > start and is_wrapped(self._terminal, last - 1):
            last -= 1
        if last > start:
            return last
        reach = min(end, start + _LONGEST_LINE)
        for row in range(stop, reach):
            if not is_wrapped(self._terminal, row):
                return row + 1
        return reach if reach - start == _LONGEST_LINE else start

    def _lines(self, start: int, stop: int, *, is_last: bool) -> tuple[list[str], int]:
        """The lines of the rows start..stop, and where they end: blank ones wait, as the emulator omits them."""
        if start >= stop:
            return [], start
        text = self._text(start, stop, unwrap=True)
        if not self._text(stop - 1, stop, unwrap=False):
            rows = self._text(start, stop, unwrap=False)
            if not rows:
                return ([], start) if is_last else ([""] * (stop - start), stop)
            stop = start + rows.count("\n") + 1
        return text.split("\n"), stop

    def _text(self, start: int, stop: int, *, unwrap: bool) -> str:
        right = number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_COLS) - 1
        return plain_text(
            self._terminal, lib.GHOSTTY_POINT_TAG_SCREEN, (0, start), (right, stop - 1), unwrap=unwrap
        )
