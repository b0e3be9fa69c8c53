"""Proportional set size of processes: each shared page divided among the processes that map it."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from fleet_tui.system.proc import LINUX
from fleet_tui.system.processes import content


def pss(pids: Iterable[int]) -> int:
    """Bytes; the resident size where the system has no proportional size."""
    return sum(map(_pss, pids))


def _pss(pid: int) -> int:
    for line in content(f"/proc/{pid}/smaps_rollup").splitlines() if LINUX else ():
        if line.startswith(b"Pss:"):
            return int(line.split()[1]) * 1024
    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.Error:
        return 0
