"""The pseudo-terminal of a run: read its program's output, queue input for it, set its size."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import selectors
import struct
import termios
import time

from fleet_tui.holder.echo import ExpectedEcho
from fleet_tui.holder.server import complaints

READ_SIZE = 65536
INPUT_LIMIT = 4 << 20
"""Bytes of input that may wait for a program that does not read; more is refused."""
REPLY_LIMIT = 65536
"""Input that may wait before replies to the program's own queries are dropped."""
CELL_WIDTH, CELL_HEIGHT = 8, 16
REDRAW_SECONDS = 0.5
"""What a program prints this soon after a resize is a redraw, not work."""
NUDGE_SECONDS = 0.15


class Pty:
    """The master side of the pseudo-terminal, registered with the server's selector."""

    def __init__(self, master: int, selector: selectors.BaseSelector, *, fallback: tuple[int, int]) -> None:
        self.master = master
        self._selector = selector
        self._input = bytearray()
        self._echo = ExpectedEcho(master)
        self.size = self._read_size(fallback)
        """Columns and rows of the screen; during a nudge the program briefly sees other rows."""
        self._restore_at: float | None = None
        self.is_open = True
        """Whether there can be more output: some process has the terminal."""
        self._resized_at = time.monotonic() - REDRAW_SECONDS

    def start(self) -> None:
        os.set_blocking(self.master, False)
        self._selector.register(self.master, selectors.EVENT_READ, None)

    # ── output ──────────────────────────────────────────────────────────────────────────────────────────────────

    def read(self) -> bytes:
        """The next piece of what the program has printed; the kernel hands out four kilobytes at a time."""
        try:
            data = os.read(self.master, READ_SIZE)
        except BlockingIOError:
            return b""
        except OSError as error:
            # Linux says EIO when the last process has closed the terminal.
            if error.errno != errno.EIO:
                complaints.log()
            data = b""
        if not data:
            self._unregister()
        return data

    def is_own_output(self, data: bytes, now: float) -> bool:
        """Whether the program printed this on its own account: it is neither an echo nor a redraw after a resize."""
        return not self._echo.covers(data) and now >= self._resized_at + REDRAW_SECONDS

    def _unregister(self) -> None:
        self.is_open = False
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(self.master)

    # ── input ───────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_read(self) -> bool:
        """Whether the program has read all of its input."""
        return not self._input

    def type(self, data: bytes) -> bool:
        """Queue what a client or a prompt types; output from now on may be the response, even during a redraw."""
        self._resized_at = time.monotonic() - REDRAW_SECONDS
        return self.write(data)

    def reply(self, data: bytes) -> None:
        """Answer a query of the program, unless it sends queries without reading the answers."""
        if data and len(self._input) < REPLY_LIMIT:
            self.write(data)

    def write(self, data: bytes) -> bool:
        """Queue input; False when too much is waiting already."""
        if len(self._input) + len(data) > INPUT_LIMIT:
            return False
        self._input += data
        self._echo.expect(data)
        self.flush()
        return True

    def flush(self) -> None:
        while self._input:
            try:
                written = os.write(self.master, self._input[:READ_SIZE])
            except BlockingIOError:
                break
            except OSError:
                self._input.clear()
                break
            del self._input[:written]
        interest = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._input else 0)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.modify(self.master, interest, None)

    # ── size ────────────────────────────────────────────────────────────────────────────────────────────────────

    def resize(self, cols: int, rows: int) -> None:
        self.size = (cols, rows)
        self._resized_at = time.monotonic()
        self._set_size(cols, rows, height=rows)

    def nudge(self) -> None:
        """Make the program redraw: shrink the terminal by a row and restore it a moment later."""
        cols, rows = self.size
        self._set_size(cols, max(3, rows - 1), height=rows)
        self._restore_at = time.monotonic() + NUDGE_SECONDS

    def due(self) -> float | None:
        return self._restore_at

    def tick(self, now: float) -> None:
        if self._restore_at is not None and now >= self._restore_at:
            self._restore_at = None
            cols, rows = self.size
            self._set_size(cols, rows, height=rows)

    def _read_size(self, fallback: tuple[int, int]) -> tuple[int, int]:
        packed = fcntl.ioctl(self.master, termios.TIOCGWINSZ, b"\0" * 8)
        rows, cols, _, height = struct.unpack("HHHH", packed)
        return (cols or fallback[0], height // CELL_HEIGHT or rows or fallback[1])

    def _set_size(self, cols: int, rows: int, *, height: int) -> None:
        """The height in pixels carries the true number of rows to the next server, should this one die in a nudge."""
        pixels = (cols * CELL_WIDTH, height * CELL_HEIGHT)
        with contextlib.suppress(OSError):
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, *pixels))
