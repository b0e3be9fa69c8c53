"""The dashboard's full garbage collection runs only on its timer."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: how garbage is looked for is a matter of the whole process.
LEAVES_OLD_GARBAGE = """
import asyncio, gc, weakref
from fleet_tui.tui import gc_schedule

class Node: pass

async def main():
    gc.disable()
    gc_schedule.take_over()
    old = Node()
    old.itself, dead = old, weakref.ref(old)
    gc.collect(1)
    del old
    found_by = []
    gc.callbacks.append(lambda phase, of: phase == "stop" and of["generation"] == 2 and found_by.append(asyncio.current_task()))
    kept = []
    for _ in range(3 * 10 * 700 * gc_schedule.OLDEST_AFTER):
        kept.append([])
    assert gc.get_count()[2] >= gc_schedule.OLDEST_AFTER, gc.get_count()
    assert dead() is not None and not found_by, "found while something else was done"
    while dead() is not None:
        await asyncio.sleep(0)
    gc.callbacks.clear()
    assert found_by == [None], "not in a turn of its own"

asyncio.run(asyncio.wait_for(main(), 20))
"""


def test_full_collections_run_in_their_own_turn_and_never_during_other_work() -> None:
    done = subprocess.run([sys.executable, "-c", LEAVES_OLD_GARBAGE], capture_output=True, text=True)

    assert done.stderr == ""
