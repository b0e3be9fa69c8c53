"""What the host of a virtual machine takes from it: `python -m tests.bench.stolen FILE`.

Processor time that the host gave to others counts as that of whichever program was running. The system knows how much
it was in all; this program looks two hundred times a second and writes down when it has become more.
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
"""Seconds: the system counts it in ticks, when it comes to it, and is seen to have done so a little later."""
STOLEN = 8
"""The place of it in the line of all processors."""


class Stolen:
    """Of the written record, whether a stretch of time was left to this machine."""

    def __init__(self, record: Path) -> None:
        self._times = [float(line) for line in record.read_text().splitlines()] if record.exists() else []

    def is_any(self, begin: float, end: float) -> bool:
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
