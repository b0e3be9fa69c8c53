"""The machine's processes, read in one pass.

On Linux everything comes from `/proc`. Elsewhere psutil is imported when it is first needed; what it cannot tell
(subreaping, locks held by others) is best effort. A keeper may import nothing after its fork: `prepare` loads the rest
before it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from fleet_tui.system.proc import LINUX, ProcStats, head, read_stats

PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_PR_SET_CHILD_SUBREAPER = 36
_DEAD = frozenset("ZXx")


class Process(NamedTuple):
    """One process as one pass saw it. A tuple, as a pass makes hundreds of them."""

    pid: int
    ppid: int
    pgrp: int
    session: int
    state: str
    """One letter as in ps; Z is a zombie."""
    started: int
    """Ticks since boot (elsewhere: hundredths of a second since the epoch). With the pid it identifies one process."""
    own_cpu: float
    """CPU seconds of the process itself."""
    children_cpu: float
    """CPU seconds of ended descendants that were waited for."""
    rss: int
    """Bytes, shared pages included."""

    @property
    def cpu(self) -> float:
        return self.own_cpu + self.children_cpu

    @property
    def is_alive(self) -> bool:
        return self.state not in _DEAD


ProcessTable = Mapping[int, Process]


def _enters_all(pid: int) -> bool:
    return False


def prepare() -> None:
    """Load what the functions below import or build on first use. Call it before a fork."""
    if LINUX:
        _prctl()
    else:
        from fleet_tui.system import psutil_table  # noqa: F401 - loaded before the fork


def snapshot(*, portable: bool = not LINUX) -> dict[int, Process]:
    """All processes in one pass, including zombies, without those that end during it."""
    if portable:
        from fleet_tui.system import psutil_table

        return psutil_table.snapshot()
    return parse(read_stats())


def parse(stats: ProcStats) -> dict[int, Process]:
    """The processes that were there when these files were read."""
    found = (_parse(pid, text) for pid, text in stats.texts.items())
    return {process.pid: process for process in found if process is not None}


def look_up(pid: int) -> Process | None:
    """One process as it is now; None if there is none."""
    if LINUX:
        return _parse(str(pid), head(f"/proc/{pid}/stat"))
    from fleet_tui.system import psutil_table

    return psutil_table.look_up(pid)


def is_running(pid: int, started: int) -> bool:
    """Whether exactly this process runs: not a zombie, and not a later process with the same pid."""
    process = look_up(pid)
    return process is not None and process.started == started and process.is_alive


def children_of(table: ProcessTable) -> dict[int, list[Process]]:
    """Each parent's children."""
    families: dict[int, list[Process]] = {}
    for process in table.values():
        families.setdefault(process.ppid, []).append(process)
    return families


def descendants(
    table: ProcessTable, root: int, *, stop_at: Callable[[int], bool] = _enters_all
) -> list[Process]:
    """All descendants of root, parents before children, without each subtree whose top satisfies `stop_at`."""
    families = children_of(table)
    found: list[Process] = []
    parents = [root]
    while parents:
        for child in families.get(parents.pop(0), ()):
            if child.pid != root and not stop_at(child.pid):
                found.append(child)
                parents.append(child.pid)
    return found


def upwards(process: Process, table: ProcessTable) -> Iterator[Process]:
    """A process and all its ancestors."""
    above: Process | None = process
    seen: set[int] = set()
    while above is not None and above.pid not in seen:
        yield above
        seen.add(above.pid)
        above = table.get(above.ppid)


def reap() -> Iterator[tuple[int, int]]:
    """Wait for every child that has ended, and yield its pid and wait status; never blocks."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield pid, status


def become_subreaper() -> bool:
    """Make this process adopt its orphaned descendants from now on. Linux only; not inherited by a fork."""
    if not LINUX:
        return False
    return int(_prctl()(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0


@functools.cache
def _prctl() -> Any:
    """The system call; ctypes makes classes for it, which each keeper would have to itself if they were made after the fork."""
    # Deferred: only keepers need it.
    import ctypes

    return ctypes.CDLL(None, use_errno=True).prctl


def _parse(pid: str, data: bytes) -> Process | None:
    # The name is in parentheses and may contain parentheses and spaces.
    fields = data[data.rfind(b")") + 2 :].split(None, 22)
    if len(fields) < 22:
        return None
    state = chr(fields[0][0])
    if state == "Z" and int(fields[17]) > 1:
        state = "S"  # only the main thread has ended; the kernel shows its state
    return Process(
        int(pid),
        int(fields[1]),
        int(fields[2]),
        int(fields[3]),
        state,
        int(fields[19]),
        (int(fields[11]) + int(fields[12])) / _TICKS,
        (int(fields[13]) + int(fields[14])) / _TICKS,
        int(fields[21]) * PAGE,
    )


def open_descriptors(pid: int) -> Iterable[tuple[str, str]]:
    """Numbers and targets of open files."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)  # noqa: PTH208 - as in proc
    except OSError:
        return
    for name in names:
        try:
            yield name, os.readlink(f"{folder}/{name}")  # noqa: PTH115 - as above
        except OSError:
            continue


def children_of_ours() -> list[int] | None:
    """This process's children, unreaped ones included; None if the system has no such list."""
    found: list[int] = []
    try:
        for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - as in proc
            path = f"/proc/self/task/{thread}/children"
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - loading pathlib is not for keepers
                found += [int(pid) for pid in file.read().split()]
    except OSError:
        return None
    return found


def children_of_process(pid: int) -> list[int] | None:
    """The children of any process, from the same list; empty for one that has just ended."""
    if pid == os.getpid():
        return children_of_ours()
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as in proc
            found += [int(one) for one in content(f"/proc/{pid}/task/{thread}/children").split()]
    except OSError:
        return []
    return found


def environment(pid: int) -> list[bytes]:
    """A process's variables as NAME=value; empty if it runs as another user or cannot be read."""
    if not LINUX:
        from fleet_tui.system import psutil_table

        return psutil_table.environment(pid)
    try:
        if os.stat(f"/proc/{pid}").st_uid != os.getuid():  # noqa: PTH116 - as in proc
            return []
    except OSError:
        return []
    return content(f"/proc/{pid}/environ").split(b"\0")


def content(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - loading pathlib is not for keepers
            return file.read()
    except OSError:
        return b""
