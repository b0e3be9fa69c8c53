"""A host terminal for tests: a real pseudo-terminal with a program in it, and an emulator that shows what it prints."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fleet_tui.cells import Row
from fleet_tui.screen import Screen

SECONDS = 10.0


class Host:
    """Leaving the block ends the program, if it still runs."""

    def __init__(
        self, argv: Sequence[str | Path], *, cols: int = 80, rows: int = 24, env: dict[str, str] | None = None
    ) -> None:
        self.master, self.slave = os.openpty()
        self.screen = Screen(cols, rows, scrollback=1000)
        self.output = bytearray()
        self._set_size(cols, rows)
        self.screen.feed(b"$ fleet attach\r\n")
        self.modes_before = self.screen.modes
        self.cursor_shape_before = self.screen.cursor.shape
        self.termios_before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(
            [str(part) for part in argv],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})},
        )

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for descriptor in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _set_size(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def resize(self, cols: int, rows: int) -> None:
        self.screen.resize(cols, rows)
        self._set_size(cols, rows)

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def pump(
        self,
        until: Callable[[], bool],
        what: str = "it",
        *,
        seconds: float = SECONDS,
        also: Sequence[Host] = (),
    ) -> None:
        """Show what the program prints until a condition holds."""
        deadline = time.monotonic() + seconds
        hosts = {host.master: host for host in (self, *also)}
        while not until():
            if time.monotonic() > deadline:
                raise AssertionError(
                    f"{what} did not happen within {seconds} s; the host shows:\n" + self.picture()
                )
            ready, _, _ = select.select(list(hosts), [], [], 0.01)
            for master in ready:
                hosts[master].take()

    def take(self) -> None:
        with contextlib.suppress(OSError):
            data = os.read(self.master, 65536)
            self.output += data
            self.screen.feed(data)

    def pump_until_ended(self, *, seconds: float = SECONDS) -> int:
        self.pump(lambda: self.process.poll() is not None, "the end", seconds=seconds)
        while select.select([self.master], [], [], 0)[0]:
            self.take()
        return int(self.process.returncode)

    def picture(self) -> str:
        return "\n".join(self.screen.text())

    def shows(self, text: str) -> Callable[[], bool]:
        return lambda: text in self.picture()

    def cells(self) -> list[Row]:
        self.screen.update()
        return [merged(self.screen.row(y)) for y in range(self.screen.rows)]


def merged(row: Sequence[Any]) -> Row:
    """A row with neighbouring runs of one style joined, however they were cut."""
    out: Row = []
    for text, style, width in row:
        if out and out[-1][1] == style:
            before, _, cells = out.pop()
            text, width = before + text, cells + width
        out.append((text, style, width))
    return out


def python(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, *arguments]
