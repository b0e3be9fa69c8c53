"""Regular expressions that people write may take for ever on some text: they are given so long, and no longer."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SECONDS = 0.25


class Impatient(Exception):
    """It took too long."""


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """Ends what is done inside with Impatient when it takes longer than this.

    The engine of `re` looks for signals now and then, and one that raises ends it. Only a main thread gets signals;
    in others there is no limit. What counts is the processor's time: a busy or sleeping machine is nobody's fault.
    """
    if threading.current_thread() is not threading.main_thread():
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
    raise Impatient
