"""Lend the terminal to another program: a shell, an editor, `fleet attach`, the tour."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from fleet_tui.errors import FleetError
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dialogs.external_editor import run_in_terminal

FLEET = (sys.executable, "-P", "-c", "from fleet_tui.cli import main; main()")
"""The command line of this installation, without looking for it on PATH."""


class ExternalPrograms:
    """Programs that have the terminal while the dashboard waits."""

    def __init__(self, display: Display, stop_typing: Callable[[], None]) -> None:
        self._display = display
        self._stop_typing = stop_typing

    def run(self, command: Callable[[], list[str]], folder: str | None = None) -> None:
        """Run a program in a folder until it ends. A failure to find it is shown."""
        display = self._display
        if folder is not None and not os.path.isdir(folder):  # noqa: PTH112 - a look, not a path to keep
            restore = "undo or revive restores it"
            display.notify(restore, title="its worktree does not exist", severity="error")
            return
        self._stop_typing()
        try:
            run_in_terminal(
                display.app, command(), folder, advice="set EDITOR to an editor that is installed"
            )
        except FleetError as error:
            display.show_error(error)
        display.app.refresh(layout=True)
