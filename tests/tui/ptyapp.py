"""Run an app in a real pseudo-terminal: send it bytes, and read the screen that its output draws.

The host terminal is our own emulator, so it answers queries, knows kitty keys and can be read cell by cell. Use::

    with PtyApp([script, "argument"], cols=100, rows=30) as app:
        app.wait_for(lambda: "LIST" in app.text)
        app.send(b"q")
        assert app.exit_code() == 0
"""

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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui.terminal.ansi import cell_widths
from fleet_tui.terminal.cells import Attribute, Style
from fleet_tui.terminal.emulator import Screen
from tests.fork_pool import ForkPool
from tests.terminal.host_terminal import HostTerminal

SECONDS = 10.0
DASHBOARDS = ForkPool("fleet_tui.cli.invocation", "fleet_tui.tui.app", "fleet_tui.tui.panes.pane")
PANES_APP = Path(__file__).with_name("panes_app.py")


class PtyApp(HostTerminal):
    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        cols: int = 100,
        rows: int = 30,
        env: Mapping[str, str] | None = None,
        program: str | Path = sys.executable,
        cwd: Path | None = None,
        is_warm: bool = False,
    ) -> None:
        """A Python script that `is_warm` begins with everything imported."""
        super().__init__(cols, rows)
        os.set_blocking(self.master, False)
        base = {
            name: value for name, value in os.environ.items() if not name.startswith(("TEXTUAL", "NO_COLOR"))
        }
        environment = base | {"TERM": "xterm-256color", "COLORTERM": "truecolor"} | dict(env or {})
        command = [str(program), *map(str, argv)]
        self.process = (
            DASHBOARDS.start(command, (self.slave, self.slave, self.slave), environment, cwd)
            if is_warm
            else subprocess.Popen(
                command,
                stdin=self.slave,
                stdout=self.slave,
                stderr=self.slave,
                start_new_session=True,
                cwd=cwd,
                env=environment,
            )
        )

    def resize(self, cols: int, rows: int) -> None:
        super().resize(cols, rows)
        os.killpg(self.process.pid, signal.SIGWINCH)

    def send(self, data: bytes) -> None:
        """Type at the host terminal."""
        while data:
            written = 0
            with contextlib.suppress(BlockingIOError):
                written = os.write(self.master, data[:4096])
            data = data[written:]
            self.step(0.0)

    def step(self, seconds: float) -> bool:
        """Read the app's output, waiting this long for it; False if none arrived."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready or not self.take():
            return False
        replies = self.screen.take_replies()
        if replies:
            os.write(self.master, replies)
        return True

    def wait_until_stuck(self, *, quiet: float = 0.3, seconds: float = SECONDS) -> None:
        """Read nothing until the app cannot write any more."""
        deadline = time.monotonic() + seconds
        unread, since = 0, time.monotonic()
        while not unread or time.monotonic() - since < quiet:
            now_unread = struct.unpack("i", fcntl.ioctl(self.master, termios.FIONREAD, b"\0" * 4))[0]
            if now_unread != unread:
                unread, since = now_unread, time.monotonic()
            if time.monotonic() > deadline:
                raise AssertionError("the app goes on writing")
            time.sleep(0.01)

    def wait_for(self, condition: Callable[[], bool], what: str = "", *, seconds: float = SECONDS) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0 or (self.process.poll() is not None and not self.step(0.0)):
                raise AssertionError(
                    f"{what or 'it'} did not happen; exit {self.process.poll()}\n{self.text}"
                )
            self.step(min(left, 0.02))

    def wait_for_text(self, text: str, *, seconds: float = SECONDS) -> None:
        self.wait_for(lambda: text in self.text, f"{text!r} on the screen", seconds=seconds)

    def exit_code(self, *, seconds: float = SECONDS) -> int:
        """Wait for the app to end; returns its exit code after reading its last output."""
        deadline = time.monotonic() + seconds
        while (code := self.process.poll()) is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"the app still runs after {seconds} s\n{self.text}")
            self.step(0.02)
        while self.step(0.0):
            pass
        return code

    def cells(self, x: int, y: int, cols: int, rows: int) -> list[list[tuple[str, Style | None]]]:
        """A part of the screen, cell by cell: the character, and its style."""
        self.screen.update()
        return [cells_of(self.screen, row, x + cols)[x:] for row in range(y, y + rows)]


def cells_of(screen: Screen, row: int, cols: int) -> list[tuple[str, Style | None]]:
    """A row cell by cell; the second cell of a wide character is empty, and an invisible cell has no style."""
    cells: list[tuple[str, Style | None]] = []
    for text, style, width in screen.row(row):
        widths = cell_widths(text, width)
        clusters = zip(text, widths, strict=True) if widths is not None else [(text, width)]
        for cluster, cluster_width in clusters:
            cells.append((cluster, style))
            cells += [("", style)] * (cluster_width - 1)
    cells += [(" ", None)] * (cols - len(cells))
    return [(text, _seen(text, style)) for text, style in cells[:cols]]


def _seen(text: str, style: Style | None) -> Style | None:
    is_invisible = (
        text == " "
        and style is not None
        and style[1] == -1
        and style[2] & ~(Attribute.BOLD | Attribute.FAINT | Attribute.ITALIC) == 0
    )
    return None if is_invisible else style
