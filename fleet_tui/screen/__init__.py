"""The only package that knows the emulator (pyghostty); what is named here is all that the others may use.

Loading it loads native code that hostile bytes can crash: only screen servers and what forks them do.
"""

from __future__ import annotations

from fleet_tui.cells import (
    Bell,
    Clipboard,
    Cursor,
    Modes,
    Note,
    Notification,
    ProgramStatus,
    Progress,
    Row,
    Style,
    Title,
)
from fleet_tui.screen.terminal import Screen

__all__ = [
    "Bell",
    "Clipboard",
    "Cursor",
    "Modes",
    "Note",
    "Notification",
    "ProgramStatus",
    "Progress",
    "Row",
    "Screen",
    "Style",
    "Title",
]
