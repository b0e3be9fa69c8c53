"""How deep the scrollback is: the bytes that it may take, kept at what the wanted number of rows takes.

The emulator can be told a number of lines, but then gives the memory of the oldest ones back to the system and asks
for it anew, which costs five times as much as all else that it does with a line. Told a number of bytes it uses
their memory again. How many bytes a row takes depends on its width and on what is in it, so that is watched.
"""

from __future__ import annotations

from typing import Any

from fleet_tui.screen.emulator import demand, lib, new, number

MOST_BYTES = 64 << 20
_CELL_BYTES = 9  # and a little more with colours; up to five times as much where every cell has its own
_PAGE_BYTES = 400_000  # the emulator drops as much at once


class Depth:
    """The byte limit of one terminal, led by how many rows it turns out to keep."""

    def __init__(self, terminal: Any, wanted: int, cols: int) -> None:
        self._terminal = terminal
        self._wanted = wanted
        self._bytes = 0
        self._rows = 0
        # Bytes are to run out first; this bounds what a wrong guess of them can cost.
        _set(terminal, lib.GHOSTTY_TERMINAL_OPT_SCROLLBACK_MAX_LINES, wanted + wanted // 4)
        self.resized(cols)

    def resized(self, cols: int) -> None:
        """The width has changed, and with it what a row takes; what is kept is not to go for that."""
        self._limit(max(self._bytes, _CELL_BYTES * cols * self._wanted + _PAGE_BYTES))
        self._rows = 0

    def fed(self) -> None:
        """Rows that went before there were enough of them want more bytes; more rows than wanted, fewer."""
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
