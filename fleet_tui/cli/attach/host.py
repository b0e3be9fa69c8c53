"""Own the host terminal: raw mode, alternate screen, signals, non-blocking writes.

Leaves the terminal as it was, however the attachment ends, and never blocks on a host that does not read.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import time
import tty
from types import FrameType
from typing import Any

LEAVE_SECONDS = 0.5
"""How long to wait for a slow host to take the last bytes."""
READ_SIZE = 16384

ENTER = (
    "\x1b[?1049h"  # the alternate screen
    "\x1b[>5u"  # kitty keyboard protocol: unambiguous chords, and the key of the US layout
    "\x1b[?2004h"  # bracketed paste
    "\x1b[?1004h"  # focus
    "\x1b[?1007s"  # save whether the wheel sends arrow keys
    "\x1b[?7l"  # no wrapping: each row is positioned
    "\x1b[?25l\x1b[0m\x1b[2J"
)
LEAVE = (
    "\x1b[?2026l\x1b[0m"
    "\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?1006l"
    "\x1b[?1007r\x1b[?1004l\x1b[?2004l\x1b[<u"
    "\x1b[?7h\x1b[0 q\x1b[?25h\x1b[?1049l"
)
CANCEL = "\x18"
"""Ends an escape sequence that was cut in the middle."""

ENDING_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


class HostTerminal:
    """The user's terminal: raw while entered, written to without blocking."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self.stdin = stdin
        self._stdout = stdout
        self._found = termios.tcgetattr(stdin)
        self._out = -1
        self._unwritten = b""
        self._had_mouse = False
        self._wake_read, self._wake_write = -1, -1
        self._signals: list[int] = []
        self._handlers: dict[int, Any] = {}
        self.is_gone = False

    # entering and leaving

    def __enter__(self) -> HostTerminal:
        self._listen_to_signals()
        try:
            self._out = self._open()
            self.enter()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()
        if self._out not in {-1, self._stdout}:
            os.close(self._out)
        elif self._out == self._stdout:
            os.set_blocking(self._stdout, True)
        self._forget_signals()

    def _open(self) -> int:
        """Open the terminal a second time: O_NONBLOCK belongs to the open file, which the shell shares."""
        try:
            return os.open(os.ttyname(self._stdout), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            os.set_blocking(self._stdout, False)
            return self._stdout

    def enter(self) -> None:
        self.make_raw()
        self._unwritten += ENTER.encode()
        self.flush()

    def make_raw(self) -> None:
        with contextlib.suppress(termios.error):
            tty.setraw(self.stdin, termios.TCSANOW)

    def leave(self) -> None:
        self._drain(LEAVE_SECONDS)
        cut = CANCEL if self._unwritten else ""
        self._unwritten = (cut + LEAVE).encode()
        self._drain(LEAVE_SECONDS)
        self._unwritten = b""
        # TCSADRAIN would block forever if the host does not read.
        with contextlib.suppress(termios.error):
            if self._had_mouse:
                termios.tcflush(self.stdin, termios.TCIFLUSH)
            termios.tcsetattr(self.stdin, termios.TCSANOW, self._found)

    # writing

    @property
    def is_behind(self) -> bool:
        """The host has not read everything yet; more frames would only pile up."""
        return bool(self._unwritten)

    def show(self, frame: bytes, *, has_mouse: bool = False) -> None:
        self._had_mouse = self._had_mouse or has_mouse
        self._unwritten += frame
        self.flush()

    def flush(self) -> None:
        while self._unwritten:
            try:
                written = os.write(self._out, self._unwritten)
            except BlockingIOError:
                return
            except OSError:
                self.is_gone, self._unwritten = True, b""
                return
            self._unwritten = self._unwritten[written:]

    def _drain(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        self.flush()
        while self._unwritten and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._out], [], left)
            self.flush()

    # reading

    def size(self) -> tuple[int, int]:
        try:
            cols, rows = os.get_terminal_size(self._stdout)
        except OSError:
            return 80, 24
        return cols or 80, rows or 24

    def read(self) -> bytes:
        """The typed bytes; empty when the terminal is gone."""
        try:
            return os.read(self.stdin, READ_SIZE)
        except OSError:
            return b""

    def wait(self, others: list[int], seconds: float | None) -> list[int]:
        """Wait for standard input, the other descriptors or a signal; returns what is readable, and flushes output."""
        writing = [self._out] if self._unwritten else []
        ready, writable, _ = select.select([self.stdin, self._wake_read, *others], writing, [], seconds)
        if writable:
            self.flush()
        if self._wake_read in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_read, 4096)
        return ready

    # signals

    def _listen_to_signals(self) -> None:
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        for number in (*ENDING_SIGNALS, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT):
            self._handlers[number] = signal.signal(number, self._note_signal)

    def _note_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signals.append(number)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_write, b".")

    def _forget_signals(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
        self._handlers.clear()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def take_signals(self) -> list[int]:
        taken, self._signals = self._signals, []
        return taken

    def suspend(self) -> None:
        """Stop as SIGTSTP would, with the terminal restored until we continue."""
        self.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        self.enter()
