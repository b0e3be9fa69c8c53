"""When the dashboard looks for garbage: in turns of its own, so that no picture waits for a collection on top of itself.

Young objects are looked through as always, which takes next to nothing. The oldest generation, which is everything
that has been there for a while, is left to a clock: a collection that comes in the middle of painting nine panes
makes one long pause of two short ones.
"""

from __future__ import annotations

import asyncio
import gc

OLDEST_AFTER = 2
"""Collections of the younger generations that make one of the oldest worth it."""
LOOK_SECONDS = 0.2
"""Often: what there is to go through is mostly what was left since the last time."""
NEVER = 1 << 30


def take_over() -> None:
    """Once what will stay to the end exists: that is never looked through again."""
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    gc.enable()
    _look_again(asyncio.get_running_loop())


def _look_again(loop: asyncio.AbstractEventLoop) -> None:
    if gc.get_count()[2] >= OLDEST_AFTER:
        gc.collect()
    loop.call_later(LOOK_SECONDS, _look_again, loop)
