"""Terminal emulator: the only package that knows pyghostty. Other packages use only the names exported here.

It loads native code that hostile bytes can crash, so only screen servers and the process that forks them import it.
"""

from __future__ import annotations

from fleet_tui.terminal.cells import (
    Bell,
    Clipboard,
    Cursor,
    Modes,
    Note,
    Notification,
    ProgramStatus,
    ProgressBar,
    Row,
    Style,
    Title,
)
from fleet_tui.terminal.emulator.terminal import Screen

__all__ = [
    "Bell",
    "Clipboard",
    "Cursor",
    "Modes",
    "Note",
    "Notification",
    "ProgramStatus",
    "ProgressBar",
    "Row",
    "Screen",
    "Style",
    "Title",
]
