"""Internal errors: shown in a dialog and logged to a file; the dashboard goes on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.widget import Widget

from fleet_tui import __version__, paths
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.widgets.fields import Label, Static

LINES_SHOWN = 8


def log_crash(trace: str) -> Path:
    """Log the traceback; returns the file."""
    file = paths.log() / "crash.log"
    with file.open("a", encoding="utf-8", errors="backslashreplace") as stream:
        stream.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} fleet-tui {__version__}\n{trace}\n")
    file.chmod(0o600)
    return file


class CrashDialog(Dialog[None]):
    heading = "Something went wrong"
    explains = "agents are not affected"

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__(classes="alarming")
        self._summary = summary
        self._trace = trace
        self._file = log_crash(trace)

    def body(self) -> Iterable[Widget]:
        yield Label(self._summary, markup=False)
        yield Static("\n".join(self._trace.rstrip().splitlines()[-LINES_SHOWN:]), markup=False, id="trace")
        yield Label(f"full details: {self._file}", markup=False)

    def hints(self) -> Sequence[tuple[str, str]]:
        return (("esc", "continue"),)
