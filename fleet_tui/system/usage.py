"""CPU and memory of all agents' process trees in one pass over the machine, and the machine's totals.

Knows nothing of the store, and of holders only the keeper's pid. Samples stay in memory. psutil is imported only on
systems without /proc.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Usage
from fleet_tui.system.proc import LINUX, ProcStats, head
from fleet_tui.system.processes import PAGE, Process, children_of, parse, snapshot

SHORTEST = 0.001
"""Seconds between two passes that are needed to compute CPU use."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Load of the whole machine."""

    cores: float
    """Cores in use since the previous result; 0 without one."""
    cpu_count: int
    memory_used: int
    memory_total: int
    load: float
    """Average over one minute."""
    busy: float = 0.0
    """CPU seconds of all cores since boot, from which `cores` is computed."""
    at: float = 0.0


def machine(since: Machine | None = None, *, portable: bool = not LINUX) -> Machine:
    """The machine's totals; pass the last result to get the cores used since."""
    now = time.monotonic()
    busy, used, total = _portable_totals() if portable else _totals()
    cores = 0.0
    if since is not None and now - since.at >= SHORTEST:
        cores = max(0.0, busy - since.busy) / (now - since.at)
    count = os.cpu_count() or 1
    return Machine(min(cores, float(count)), count, used, total, os.getloadavg()[0], busy, now)


@dataclass(slots=True)
class _Branches:
    """One agent's share of one pass."""

    keeper: Process | None = None
    members: list[Process] = field(default_factory=list)
    """The processes that count."""
    apart: list[Process] = field(default_factory=list)
    """Roots of the subtrees that do not count: the screen server, nested holders."""


class _Pass:
    """All processes at one time."""

    def __init__(self, table: dict[int, Process], at: float) -> None:
        self.table = table
        self.at = at
        self._families = children_of(table)

    def branches(self, keeper_pid: int, others: Collection[int]) -> _Branches:
        """The tree below a keeper, without the keeper, its screen server and what is in `others`."""
        found = _Branches(self.table.get(keeper_pid))
        if found.keeper is None:
            return found
        for child in self._families.get(keeper_pid, ()):
            # A program leads a session of its own; only the keeper's own children share its session.
            is_apart = child.pid in others or child.session == found.keeper.session
            (found.apart if is_apart else found.members).append(child)
        for member in found.members:  # grows while it is walked
            for child in self._families.get(member.pid, ()):
                (found.apart if child.pid in others else found.members).append(child)
        return found

    def subtree(self, top: Process) -> list[Process]:
        found = [top]
        for process in found:  # grows while it is walked
            found.extend(self._families.get(process.pid, ()))
        return found

    def same(self, process: Process) -> Process | None:
        """The same process in this pass, if it still runs."""
        now = self.table.get(process.pid)
        return now if now is not None and now.started == process.started else None


class Sampler:
    """Remembers the last pass, so that the next can say what each agent used in between.

    Memory is every process's own resident pages plus the largest shared part once: close to the exact sum at
    a tenth of its price, where plain resident sizes would count a shared library once per process. Pages that
    a fork still shares with its parent count in both.
    """

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, history: int = 60, portable: bool = not LINUX
    ) -> None:
        self._clock = clock
        self._length = history
        self._portable = portable
        self._last: _Pass | None = None
        self._cpu: dict[str, deque[float]] = {}
        self._memory: dict[str, deque[int]] = {}
        self._machine: Machine | None = None
        self._most = 100.0 * (os.cpu_count() or 1)

    def prime(self, first: ProcStats | None = None) -> None:
        """Take a first pass without agents, or one that was read earlier, for the next sample to compare with."""
        self._last = self._look() if first is None else _Pass(parse(first), first.at)

    def sample(self, roots: Mapping[str, int], *, spare: Collection[int] = ()) -> dict[str, Usage]:
        """Usage of each agent, by its keeper's pid; agents whose keeper is gone are left out.

        Not counted: the keeper, direct children of the keeper in the keeper's own session (its screen
        server), the pids in `spare`, and other agents' keepers with all below them.
        """
        now = self._look()
        others = {*roots.values(), *spare}
        for forgotten in self._cpu.keys() - roots.keys():
            del self._cpu[forgotten], self._memory[forgotten]
        usages = {agent: self._usage(agent, keeper, now, others) for agent, keeper in roots.items()}
        if self._last is None or now.at - self._last.at >= SHORTEST:
            self._last = now
        return usages

    def machine(self) -> Machine:
        """The machine's totals, with the cores used since the last call."""
        self._machine = machine(self._machine, portable=self._portable)
        return self._machine

    def _look(self) -> _Pass:
        return _Pass(snapshot(portable=self._portable), self._clock())

    def _usage(self, agent: str, keeper: int, now: _Pass, others: set[int]) -> Usage:
        tree = now.branches(keeper, others)
        living = [process for process in tree.members if process.is_alive]
        cpu = self._cpu_of(tree, now, others)
        memory = sum(p.rss for p in living) if self._portable else _memory(living)
        cpus = self._cpu.setdefault(agent, deque(maxlen=self._length))
        memories = self._memory.setdefault(agent, deque(maxlen=self._length))
        cpus.append(cpu)
        memories.append(memory)
        return Usage(cpu, memory, len(living), tuple(cpus), tuple(memories))

    def _cpu_of(self, tree: _Branches, now: _Pass, others: set[int]) -> float:
        """Percent of a core since the last pass.

        The time of a process that ended is in its parent's count of waited children by now, so the sum over
        the tree neither loses nor doubles it. The keeper reaps the program and the orphans: its count belongs
        to the sum, less the screen servers and nested holders that it reaped as well.
        """
        last = self._last
        if last is None or tree.keeper is None or now.at - last.at < SHORTEST:
            return 0.0
        spent = sum(_since(process, last) for process in tree.members)
        before = last.same(tree.keeper)
        if before is not None:
            spent += tree.keeper.children_cpu - before.children_cpu
            was = last.branches(tree.keeper.pid, others)
            spent -= sum(process.cpu for process in was.members if now.same(process) is None)
            spent -= sum(_ended(top, last, now) for top in was.apart)
        else:
            spent += tree.keeper.children_cpu
        return min(max(0.0, 100.0 * spent / (now.at - last.at)), self._most)


def _since(process: Process, last: _Pass) -> float:
    before = last.same(process)
    return process.cpu - before.cpu if before is not None else process.cpu


def _ended(top: Process, last: _Pass, now: _Pass) -> float:
    """What a subtree that does not count had used when last seen, if its top has ended since."""
    if now.same(top) is not None:
        return 0.0
    return sum(process.cpu for process in last.subtree(top) if now.same(process) is None)


def _memory(living: Iterable[Process]) -> int:
    own = shared = 0
    for process in living:
        fields = head(f"/proc/{process.pid}/statm").split(None, 3)
        if len(fields) < 3:
            continue
        common = int(fields[2])
        own += int(fields[1]) - common
        shared = max(shared, common)
    return (own + shared) * PAGE


def _totals() -> tuple[float, int, int]:
    """Busy CPU seconds since boot, bytes used, bytes in all."""
    times = [int(value) for value in head("/proc/stat").split(b"\n", 1)[0].split()[1:8]]
    idle = times[3] + times[4]
    memory = dict(line.split(b":", 1) for line in head("/proc/meminfo").splitlines()[:8])
    total, free = (int(memory[name].split()[0]) * 1024 for name in (b"MemTotal", b"MemAvailable"))
    return (sum(times) - idle) / os.sysconf("SC_CLK_TCK"), total - free, total


def _portable_totals() -> tuple[float, int, int]:
    import psutil

    times, memory = psutil.cpu_times(), psutil.virtual_memory()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # Guest time is part of user time already; stolen time went to other machines.
    foreign = sum(getattr(times, name, 0.0) for name in ("guest", "guest_nice", "steal"))
    return sum(times) - idle - foreign, memory.total - memory.available, memory.total
