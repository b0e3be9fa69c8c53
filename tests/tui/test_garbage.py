"""Old garbage of the dashboard: found by a clock, and by nothing else."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own: how garbage is looked for is a matter of the whole process.
LEAVES_OLD_GARBAGE = """
import asyncio, gc, weakref
from fleet_tui.tui import garbage

class Node: pass

async def main():
    gc.disable()
    garbage.take_over()
    old = Node()
    old.itself, dead = old, weakref.ref(old)
    gc.collect(1)
    del old
    found_by = []
    gc.callbacks.append(lambda phase, of: phase == "stop" and of["generation"] == 2 and found_by.append(asyncio.current_task()))
    kept = []
    for _ in range(3 * 10 * 700 * garbage.OLDEST_AFTER):
        kept.append([])
    assert gc.get_count()[2] >= garbage.OLDEST_AFTER, gc.get_count()
    assert dead() is not None and not found_by, "found while something else was done"
    while dead() is not None:
        await asyncio.sleep(0)
    gc.callbacks.clear()
    assert found_by == [None], "not in a turn of its own"

asyncio.run(asyncio.wait_for(main(), 20))
"""


def test_old_garbage_is_found_in_a_turn_of_its_own_and_never_in_the_middle_of_something() -> None:
    done = subprocess.run([sys.executable, "-c", LEAVES_OLD_GARBAGE], capture_output=True, text=True)

    assert done.stderr == ""
