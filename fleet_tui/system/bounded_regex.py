"""Limits the CPU time of user-written regular expressions."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

SECONDS = 0.25


class RegexTimedOut(Exception):
    """Raised when a match exceeds the time limit."""


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Raise RegexTimedOut inside the block once it has used this much CPU time.

    The engine of `re` checks for signals now and then, and a handler that raises ends the match. Only the main thread
    gets signals; in other threads there is no limit. CPU time counts, so a busy or sleeping machine changes nothing.
    """
    # Not imported: where it is not loaded there are no other threads, and where it is loaded each fork runs its code. That
    # would copy a hundred pages into every holder.
    threading = sys.modules.get("threading")
    if threading is not None and threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _end)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        signal.signal(signal.SIGVTALRM, before)


def _end(_number: int, _frame: FrameType | None) -> None:
    raise RegexTimedOut
