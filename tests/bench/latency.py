"""Latency from a key event to the frame that shows it, through a holder: alone, and beside agents that flood.

The reference is a bare round trip between two processes, the minimum of this machine at that moment.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator

from fleet_tui.holder.session import Session, open_session
from fleet_tui.terminal.input_events import KeyEvent
from tests.bench.figures import Figures, Row, alone
from tests.bench.workspace import Workspace
from tests.holder.screens import wait_for_screen

FLOODS = 16
ECHO = "import os\nwhile True: os.write(1, os.read(0, 1))"
PAUSE = 0.03
"""Longer than a frame's interval, like keys typed by hand on a quiet screen."""


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    keys = 60 if quick else 300
    with (
        workspace.agents(workspace.small(), 1, "waiter") as (_fleet, (agent,)),
        open_session(agent, rate=60) as session,
        _echo() as echo,
    ):
        yield from _rows("key → frame, alone", session, echo, keys, 2.0)
        with workspace.agents(workspace.repository("floods", 5), FLOODS, "flood"):
            yield from _rows(f"key → frame, {FLOODS} others flood", session, echo, keys, 8.0)


def _rows(
    what: str, session: Session, echo: subprocess.Popen[bytes], keys: int, at_most: float
) -> Iterator[Row]:
    ours, bare = [], []
    for _ in range(keys):
        _rest(session, PAUSE)
        ours.append(_key_to_frame(session))
        _rest(session, PAUSE)
        bare.append(_round_trip(echo))
    slow = f"p95 {Figures(tuple(ours)).percentile(0.95):.2f} ms, bare {Figures(tuple(bare)).percentile(0.95):.2f} ms"
    yield alone(what, ours, "ms", at_most=at_most, against="a round trip", reference=bare, note=slow)


def _key_to_frame(session: Session) -> float:
    """Milliseconds until the cursor has moved, for a letter or the backspace that deletes it."""
    before = session.view.cursor
    key = KeyEvent("backspace") if before[0] else KeyEvent("x", text="x")
    begin = time.perf_counter()
    session.keys(key)
    if not wait_for_screen(session, lambda view: view.cursor != before, seconds=30):
        raise RuntimeError("a key was never shown")
    return (time.perf_counter() - begin) * 1000


def _rest(session: Session, seconds: float) -> None:
    for _ in session.messages(time.monotonic() + seconds):
        pass


def _round_trip(echo: subprocess.Popen[bytes]) -> float:
    if echo.stdin is None or echo.stdout is None:
        raise RuntimeError("the echo has no pipes")
    begin = time.perf_counter()
    echo.stdin.write(b"x")
    echo.stdout.read(1)
    return (time.perf_counter() - begin) * 1000


@contextlib.contextmanager
def _echo() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        try:
            yield process
        finally:
            process.kill()
