"""Depth of the scrollback: adjusts its byte limit so that it holds the wanted number of rows.

With a limit on lines, the emulator returns the memory of the oldest lines to the system and requests it again, which
costs five times as much as everything else it does with a line. With a limit on bytes it reuses their memory. The size
of a row depends on its width and content, so this module watches it.
"""

from __future__ import annotations

from typing import Any

from fleet_tui.terminal.emulator.native import demand, lib, new, number

MOST_BYTES = 64 << 20
_CELL_BYTES = 9  # and a little more with colors; up to five times as much where every cell has its own
_PAGE_BYTES = 400_000  # the emulator drops as much at once


class Depth:
    """The byte limit of one terminal, adjusted by the number of rows that it keeps."""

    def __init__(self, terminal: Any, wanted: int, cols: int) -> None:
        self._terminal = terminal
        self._wanted = wanted
        self._bytes = 0
        self._rows = 0
        # The byte limit should apply first; this bounds the cost of a wrong guess.
        _set(terminal, lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_LINES, wanted + wanted // 4)
        self.resized(cols)

    def resized(self, cols: int) -> None:
        """Adjust to a new width, which changes the size of a row, without losing rows."""
        self._limit(max(self._bytes, _CELL_BYTES * cols * self._wanted + _PAGE_BYTES))
        self._rows = 0

    def fed(self) -> None:
        """Raise the limit if rows were dropped before there were enough; lower it if there are more than wanted."""
        rows = number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_SCROLLBACK_ROWS)
        before, self._rows = self._rows, rows
        if rows > self._wanted + self._wanted // 8:
            self._limit(self._bytes * self._wanted // rows + _PAGE_BYTES)
            self._rows = 0
        elif before // 2 < rows < before and rows < self._wanted:  # fewer than half: the program erased them
            self._limit(2 * self._bytes)

    def _limit(self, size: int) -> None:
        size = min(size, MOST_BYTES)
        if size != self._bytes:
            self._bytes = size
            _set(self._terminal, lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_BYTES, size)


def _set(terminal: Any, option: int, value: int) -> None:
    demand(lib.ghostty_terminal_set(terminal, option, new("size_t", value)), "limit the scrollback")
