"""Suspend the dashboard for another program, such as the user's editor on a text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from fleet_tui.errors import FleetError, UsageError

_ADVICE = "set EDITOR to an editor that is installed, and open fleet-tui again"


def editor(usual: str = "") -> list[str]:
    """Return the command of the user's editor; UsageError when there is none or it does not parse."""
    name = "VISUAL" if os.environ.get("VISUAL") else "EDITOR"
    said = os.environ.get(name) or usual
    try:
        command = shlex.split(said)
    except ValueError as error:
        raise UsageError(f"{name} is {said!r}: {error}", hint="close its quotes, and open fleet-tui again") from None  # fmt: skip
    if not command:
        raise UsageError("there is no $EDITOR", hint=_ADVICE)
    return command


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
        raise FleetError("this terminal cannot be lent to another program", hint="use another one") from None
    if failure is not None:
        raise FleetError(f"{command[0]} does not start: {failure.strerror}", hint=advice)
    return code


def edit(app: App[Any], text: str) -> str | None:
    """Return the text as edited, or None after telling the user that the editor failed."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        file = Path(folder) / "prompt.md"
        file.write_text(text, encoding="utf-8")
        try:
            code = run_in_terminal(app, [*editor("vi"), str(file)], advice=_ADVICE)
        except FleetError as error:
            app.notify(error.hint, title=error.message, severity="error", timeout=8)
            return None
        return file.read_text(encoding="utf-8", errors="replace").rstrip("\n") if code == 0 else None
