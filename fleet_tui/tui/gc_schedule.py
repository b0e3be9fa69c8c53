"""Run garbage collections between frames instead of during them.

Python still collects the two younger generations itself, which is cheap. A timer collects the oldest generation, which
holds most objects: a collection while nine panes are painted would add its pause to that of the painting.
"""

from __future__ import annotations

import asyncio
import gc

OLDEST_AFTER = 2
"""Collections of the younger generations before one of the oldest."""
LOOK_SECONDS = 0.2
"""A short interval: each collection then has little to scan."""
NEVER = 1 << 30


def take_over() -> None:
    """Take over once the long-lived objects exist, and freeze those."""
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    gc.enable()
    _look_again(asyncio.get_running_loop())


def _look_again(loop: asyncio.AbstractEventLoop) -> None:
    if gc.get_count()[2] >= OLDEST_AFTER:
        gc.collect()
    loop.call_later(LOOK_SECONDS, _look_again, loop)
