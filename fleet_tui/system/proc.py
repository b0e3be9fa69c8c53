"""Read `/proc` as text, and load nothing for it.

`fleet list` takes its first CPU sample here before it loads the modules that understand it. `processes` parses.
"""

from __future__ import annotations

import os
import sys
import time

LINUX = sys.platform == "linux"


class ProcStats:
    """The `stat` files of all processes at one time."""

    __slots__ = ("at", "texts")

    def __init__(self, at: float, texts: dict[str, bytes]) -> None:
        self.at = at
        """On the monotonic clock."""
        self.texts = texts
        """By pid; empty for a process that ended meanwhile."""


def read_stats() -> ProcStats:
    """Read the `stat` file of every process. Linux only."""
    # A path object per process would double the cost.
    texts = {pid: head(f"/proc/{pid}/stat") for pid in os.listdir("/proc") if pid.isdecimal()}  # noqa: PTH208 - as above
    return ProcStats(time.monotonic(), texts)


def head(path: str) -> bytes:
    """Up to 4096 bytes of a file of `/proc` in one read; empty if it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(handle, 4096)
    except OSError:
        return b""
    finally:
        os.close(handle)
