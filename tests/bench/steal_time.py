"""CPU time that the host of a virtual machine steals from it: `python -m tests.bench.steal_time FILE`.

The kernel charges stolen time to the program that was running, and counts it in total. This program reads the total two
hundred times a second and records when it grows.
"""

from __future__ import annotations

import os
import sys
import time
from bisect import bisect_left, bisect_right
from pathlib import Path

STAT = Path("/proc/stat")
EVERY = 0.005
SLACK = 5 / os.sysconf("SC_CLK_TCK")
"""Seconds. The kernel counts in ticks and with a delay, and this program sees it a little later."""
STOLEN = 8
"""Its field in the line of all processors."""


class StealTime:
    """The recorded moments at which time was stolen."""

    def __init__(self, record: Path) -> None:
        self._times = [float(line) for line in record.read_text().splitlines()] if record.exists() else []

    def was_any(self, begin: float, end: float) -> bool:
        return bisect_left(self._times, begin - SLACK) < bisect_right(self._times, end + SLACK)


def main(record: Path) -> None:
    known = _so_far()
    with record.open("w", buffering=1) as out:
        while True:
            time.sleep(EVERY)
            now = _so_far()
            if now != known:
                out.write(f"{time.monotonic():.4f}\n")
            known = now


def _so_far() -> bytes:
    with STAT.open("rb") as stat:
        return stat.readline().split()[STOLEN]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
