"""Internal errors: shown in a dialog that names the crash log; the dashboard goes on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.widget import Widget

from fleet_tui.faces import crash_log
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.widgets.fields import Label, Static

LINES_SHOWN = 8


class CrashDialog(Dialog[None]):
    heading = "Something went wrong"
    explains = "agents are not affected"

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__(classes="alarming")
        self._summary = summary
        self._trace = trace
        self._log = crash_log.write("fleet-tui", trace)

    def body(self) -> Iterable[Widget]:
        yield Label(self._summary, markup=False)
        yield Static("\n".join(self._trace.rstrip().splitlines()[-LINES_SHOWN:]), markup=False, id="trace")
        yield Label(self._log, markup=False)

    def hints(self) -> Sequence[tuple[str, str]]:
        return (("esc", "continue"),)
