"""Host terminals for tests: a real pseudo-terminal with a program in it, and an emulator that shows what it prints."""

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
from typing import Any, Protocol, Self

from fleet_tui.terminal.cells import Row
from fleet_tui.terminal.emulator import Screen

SECONDS = 10.0


class Process(Protocol):
    """The part of `subprocess.Popen` that a host terminal uses."""

    pid: int

    def poll(self) -> int | None: ...
    def kill(self) -> None: ...
    def wait(self, timeout: float | None = None) -> int: ...


class HostTerminal:
    """A pseudo-terminal and its program, `process`; leaving the block kills the program if it still runs."""

    process: Process

    def __init__(self, cols: int, rows: int, *, scrollback: int = 10_000) -> None:
        self.screen = Screen(cols, rows, scrollback=scrollback)
        self.output = bytearray()
        """Everything that the program has written."""
        self.master, self.slave = os.openpty()
        self._set_size(cols, rows)
        self.termios_before = termios.tcgetattr(self.slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
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

    def signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.kill(self.process.pid, number)

    def take(self) -> bool:
        """Show what the program has printed; False if there was nothing."""
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        self.screen.feed(data)
        return bool(data)

    @property
    def text(self) -> str:
        return "\n".join(self.screen.text())


class Host(HostTerminal):
    """Runs a command line, which must not query its terminal: this host does not reply."""

    def __init__(
        self, argv: Sequence[str | Path], *, cols: int = 80, rows: int = 24, env: dict[str, str] | None = None
    ) -> None:
        super().__init__(cols, rows, scrollback=1000)
        self.screen.feed(b"$ fleet attach\r\n")
        self.modes_before = self.screen.modes
        self.cursor_shape_before = self.screen.cursor.shape
        self.process = subprocess.Popen(
            [str(part) for part in argv],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})},
        )

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

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
                    f"{what} did not happen within {seconds} s; the host shows:\n" + self.text
                )
            ready, _, _ = select.select(list(hosts), [], [], 0.01)
            for master in ready:
                hosts[master].take()

    def pump_until_ended(self, *, seconds: float = SECONDS) -> int:
        self.pump(lambda: self.process.poll() is not None, "the end", seconds=seconds)
        while select.select([self.master], [], [], 0)[0]:
            self.take()
        return self.process.wait()

    def shows(self, text: str) -> Callable[[], bool]:
        return lambda: text in self.text

    def cells(self) -> list[Row]:
        self.screen.update()
        return [merged(self.screen.row(y)) for y in range(self.screen.rows)]


def merged(row: Sequence[Any]) -> Row:
    """A row with neighboring runs of one style joined, however they were cut."""
    out: Row = []
    for text, style, width in row:
        if out and out[-1][1] == style:
            before, _, cells = out.pop()
            text, width = before + text, cells + width
        out.append((text, style, width))
    return out


def python(*arguments: str | Path) -> list[str | Path]:
    return [sys.executable, *arguments]
