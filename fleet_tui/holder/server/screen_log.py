"""The screen's log: lines that scrolled away or settled go to lines.log, the last screen also to a file of its own."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from fleet_tui.holder.frames import Frames, Viewer
from fleet_tui.holder.run_folder import FINAL_FRAME
from fleet_tui.holder.transcript.lines import LogPlace, LogWriter
from fleet_tui.holder.transcript.settled import SettledLines
from fleet_tui.system import files
from fleet_tui.terminal.emulator import Screen

LINES_SECONDS = 0.1
SETTLED_SECONDS = 0.5
SCROLLED_AT_ONCE = 10_000


class ScreenLog:
    def __init__(self, folder: Path, screen: Screen) -> None:
        self._folder = folder
        self._screen = screen
        self._lines = LogWriter(folder)
        self._settled = SettledLines(hold=SETTLED_SECONDS)
        self._next = time.monotonic()
        self.has_screen = False
        """Whether the last screen has been written to the log, which is done once, at the end."""

    @property
    def end(self) -> LogPlace:
        return self._lines.end

    def due(self, last_output: float) -> float | None:
        """When to look at the screen again; None once nothing has changed for long enough to settle."""
        return self._next if self._next <= last_output + 2 * SETTLED_SECONDS else None

    def tick(self, now: float) -> None:
        if now >= self._next:
            self.write_lines()
            self._next = now + LINES_SECONDS

    def write_lines(self) -> None:
        """Log what has scrolled away, and on an alternate screen what has settled."""
        lines, lost = self._screen.take_scrolled_lines(SCROLLED_AT_ONCE)
        if lost:
            lines.insert(0, f"[{lost} lines scrolled by too fast to be kept here; fleet logs --raw has them]")
        if self._screen.modes.alternate:
            lines += self._settled.seen(self._screen.text(), time.monotonic())
        if lines:
            self._lines.append(lines)

    def write_end(self, frames: Frames) -> None:
        """Log the last screen and keep it as a frame, for viewers that come after the run."""
        self.write_lines()
        self.has_screen = True
        is_alternate = self._screen.modes.alternate
        self._lines.append(self._settled.rest() if is_alternate else self._screen.lines())
        frames.look()
        with contextlib.suppress(OSError):
            data = b"".join(frames.full(Viewer(kind="reader")))
            files.replace(self._folder / FINAL_FRAME, data)
