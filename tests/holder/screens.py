"""Waits for what a session's screen shows."""

from __future__ import annotations

import time
from collections.abc import Callable

from fleet_tui.holder.session import Session
from fleet_tui.terminal.view import View

SECONDS = 15.0


def wait_for_screen(session: Session, condition: Callable[[View], bool], *, seconds: float) -> bool:
    """Wait for the screen to meet a condition; False on timeout."""
    if condition(session.view):
        return True
    return any(
        message["t"] == "frame" and not message["more"] and condition(session.view)
        for message in session.messages(time.monotonic() + seconds)
    )


def shows(text: str, session: Session, *, seconds: float = SECONDS) -> bool:
    """Wait for a text on the screen; False on timeout."""
    return wait_for_screen(session, lambda view: any(text in line for line in view.text()), seconds=seconds)
