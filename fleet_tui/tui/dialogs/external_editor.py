"""Suspend the dashboard for another program, such as the user's editor on a text."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from fleet_tui.errors import FleetError
from fleet_tui.fleet.editor import editor

_ADVICE = "set EDITOR to an editor that is installed, and open fleet-tui again"


def run_in_terminal(app: App[Any], command: Sequence[str], folder: str | None = None, *, advice: str) -> int:
    """Give the terminal to a program until it ends; returns its exit code, or raises FleetError if it does not start."""
    failure: OSError | None = None
    code = 0
    try:
        with app.suspend():
            # After an exception in here Textual does not restore the terminal.
            try:
                code = subprocess.run(command, cwd=folder, check=False).returncode
            except OSError as error:
                failure = error
    except SuspendNotSupported:
        raise FleetError("this terminal cannot run another program", hint="use another terminal") from None
    if failure is not None:
        raise FleetError(f"{command[0]} does not start: {failure.strerror}", hint=advice)
    return code


def edit(app: App[Any], text: str) -> str | None:
    """Return the text as edited, or None after telling the user that the editor failed."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, encoding="utf-8")
        try:
            code = run_in_terminal(app, [*editor(), str(file)], advice=_ADVICE)
        except FleetError as error:
            app.notify(error.hint, title=error.message, severity="error", timeout=8)
            return None
        return file.read_text(encoding="utf-8", errors="replace").rstrip("\n") if code == 0 else None
