"""The dashboard with a timer around each callback of its event loop: `python -m tests.bench.stalls FILE`.

Writes a line for every slow callback: its start (system clock), its milliseconds of wall time and of CPU time, and its
name. The CPU time is the program's own, even on a busy machine.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time

from fleet_tui.cli import run

WORTH_WRITING = 0.004
"""Seconds."""


def watch(path: str) -> None:
    record = open(path, "w", buffering=1)  # noqa: PTH123, SIM115 - open while the program runs
    run_handle = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        begin, worked = time.monotonic(), time.thread_time()
        run_handle(handle)
        wall = time.monotonic() - begin
        if wall > WORTH_WRITING:
            work = time.thread_time() - worked
            record.write(f"{begin:.6f} {wall * 1000:.2f} {work * 1000:.2f} {_name(handle)}\n")

    asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]  # the loop calls it by this name


def _name(handle: asyncio.Handle) -> str:
    """The name of the callback, or of the task it is a step of."""
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return owner.get_name() if isinstance(owner, asyncio.Task) else getattr(callback, "__qualname__", "?")


if __name__ == "__main__":
    watch(sys.argv[1])
    gc.disable()  # as the program does until its first paint
    sys.exit(run(["ui"]))
