"""End a program and all of its descendants.

A keeper calls this as the parent and subreaper of the whole tree. It loads this module before its fork and imports
nothing afterwards.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from fleet_tui.system.agent_processes import holds_fleet_lock, marked
from fleet_tui.system.proc import LINUX
from fleet_tui.system.processes import (
    Process,
    ProcessTable,
    children_of_ours,
    content,
    descendants,
    is_running,
    reap,
    snapshot,
    upwards,
)

SWEEP_SECONDS = 3.0
"""Time limit for killing what is left until nothing more is found."""
_CLEAN_LOOKS = 2
"""A process can slip through a pass by forking and exiting while it runs, seldom through two in a row."""
_SLICE = 0.05


class EndReport(NamedTuple):
    """The result of ending a tree."""

    killed: tuple[int, ...]
    """Pids that had to be killed, without those that ended after the first signal."""
    survivors: tuple[int, ...]
    statuses: dict[int, int]
    """Raw wait status of every child of the keeper that was reaped meanwhile: the program, orphans, and
    a spared child that happened to end."""


def end_tree(
    keeper_pid: int,
    program_pid: int,
    agent_id: str,
    *,
    grace: float,
    state_folder: str,
    spare: Collection[int] = (),
    signals: tuple[signal.Signals, ...] = (signal.SIGTERM,),
    reaped: Callable[[int, int], None] | None = None,
    hurry: Callable[[], bool] | None = None,
) -> EndReport:
    """End a program and all of its descendants. Called in its keeper, their parent and subreaper.

    The program's process group gets the signals (and HUP if the program ignores TERM, as shells do) and has the grace
    period to end. Then the group, every descendant and every process marked with the agent's id is killed until none is
    left. `spare` and other holders (processes with a fleet lock) live on with everything below them. Each child that
    ends is reaped: `reaped` gets its pid and raw wait status at once, the report has all of them. `hurry` is polled
    every 50 ms and cuts the grace period short when it returns True.
    """
    ending = _Ending(keeper_pid, program_pid, agent_id, state_folder, frozenset(spare), reaped, hurry)
    if not ending.wait_for_group(ending.ask(signals), grace):
        ending.signal_group(signal.SIGKILL, snapshot())
    return ending.sweep()


class _Ending:
    """One tree that is being ended."""

    def __init__(
        self,
        keeper: int,
        program: int,
        agent_id: str,
        state_folder: str,
        spare: frozenset[int],
        reaped: Callable[[int, int], None] | None,
        hurry: Callable[[], bool] | None,
    ) -> None:
        self.keeper = keeper
        self.program = program
        self.agent_id = agent_id
        self.state_folder = state_folder
        self.own_folder = f"{state_folder}/agents/{agent_id}"
        self.spare = spare
        self.reaped = reaped
        self.hurry = hurry
        self.statuses: dict[int, int] = {}
        self.killed: dict[int, None] = {}
        # Without a subreaper (not Linux) orphans leave the tree, so every process seen in it is remembered.
        self.known: dict[int, Process] = {}

    def ask(self, signals: Collection[signal.Signals]) -> list[Process]:
        """Signal the program's process group, and return its members."""
        table = snapshot()
        for number in signals:
            self.signal_group(number, table)
        if signal.SIGTERM in signals and _ignores(self.program, signal.SIGTERM):
            self.signal_group(signal.SIGHUP, table)
        # A stopped process handles the signal only once it is continued.
        self.signal_group(signal.SIGCONT, table)
        return self._group(table)

    def signal_group(self, number: signal.Signals, table: ProcessTable) -> None:
        """Signal the program's process group: as a group if its number is certainly still the program's."""
        members = self._group(table)
        for_all = [process for process in table.values() if process.pgrp == self.program]
        program = table.get(self.program)
        # The kernel reuses neither the pid of an unreaped child nor the number of its group.
        is_certain = program is not None and program.ppid == self.keeper and self.program not in self.statuses
        if is_certain and all(process in members or not process.is_alive for process in for_all):
            try:
                os.killpg(self.program, number)
            except OSError:
                return
        else:
            for process in members:
                send(process, number)
        if number == signal.SIGKILL:
            self.killed.update(dict.fromkeys(process.pid for process in members))

    def wait_for_group(self, members: list[Process], grace: float) -> bool:
        """Whether the program and its process group ended in time."""
        deadline = time.monotonic() + grace
        while members:
            left = deadline - time.monotonic()
            is_hurried = left > 0 and wait_for_end(members, left, self.hurry)
            self.reap()
            if self._children() == []:
                return True
            members = self._group(snapshot())
            if members and (left <= 0 or is_hurried):
                return False
        return True

    def sweep(self) -> EndReport:
        """Kill what is left until a pass finds nothing, or two passes if a fast forker could hide from one."""
        deadline = time.monotonic() + SWEEP_SECONDS
        clean = 0
        left_over: list[Process] = []
        while clean < _CLEAN_LOOKS:
            self._kill_children(deadline)
            left_over = self._left(snapshot())
            is_certain = self._children() == []
            clean = 0 if left_over else _CLEAN_LOOKS if is_certain else clean + 1
            left = deadline - time.monotonic()
            if left <= 0:
                break
            for process in left_over:
                if send(process, signal.SIGKILL):
                    self.killed[process.pid] = None
            wait_for_end(left_over, min(left, 0.5), None)
            self.reap()
        return EndReport(tuple(self.killed), tuple(process.pid for process in left_over), self.statuses)

    def _kill_children(self, deadline: float) -> None:
        """Kill and reap the keeper's own children until only spared ones are left.

        A process that forks and exits faster than a pass over all processes still does not escape this list: an orphan
        is in it the moment its parent ends, and the dead stay in it until they are reaped.
        """
        self.reap()
        before: list[int] = []
        while (children := self._children()) and time.monotonic() < deadline:
            for pid in children:
                try:
                    # The kernel does not reuse the pid of an unreaped child.
                    os.kill(pid, signal.SIGKILL)
                except OSError:  # it runs as another user
                    continue
                self.killed[pid] = None
            if children == before:
                time.sleep(0.001)
            before = children
            self.reap()

    def _children(self) -> list[int] | None:
        """The keeper's children without the spared, unreaped ones included; None if the system has no such list."""
        children = children_of_ours() if self.keeper == os.getpid() else None
        return None if children is None else [pid for pid in children if not self._is_spared(pid)]

    def reap(self) -> None:
        for pid, status in reap():
            self.statuses[pid] = status
            if self.reaped is not None:
                self.reaped(pid, status)

    def _tree(self, table: ProcessTable) -> list[Process]:
        """The tree's living processes, as far as descent shows them."""
        found = {process.pid: process for process in descendants(table, self.keeper, stop_at=self._is_spared)}
        for old in list(self.known.values()):
            now = table.get(old.pid)
            if now is None or now.started != old.started:
                del self.known[old.pid]
            elif now.pid not in found and not self._is_below_spared(now, table):
                found[now.pid] = now
                found |= {each.pid: each for each in descendants(table, now.pid, stop_at=self._is_spared)}
        living = {pid: process for pid, process in found.items() if process.is_alive}
        self.known |= living
        return list(living.values())

    def _group(self, table: ProcessTable) -> list[Process]:
        return [process for process in self._tree(table) if process.pgrp == self.program]

    def _left(self, table: ProcessTable) -> list[Process]:
        left_over = {process.pid: process for process in self._tree(table)}
        keeper = table.get(self.keeper)
        if keeper is not None:
            for pid in marked(self.agent_id, table, started_after=keeper.started):
                if pid not in left_over and not self._is_below_spared(table[pid], table):
                    left_over[pid] = table[pid]
        return list(left_over.values())

    def _is_spared(self, pid: int) -> bool:
        return (
            pid in self.spare
            or pid == self.keeper
            or holds_fleet_lock(pid, self.state_folder, but_not=self.own_folder)
        )

    def _is_below_spared(self, process: Process, table: ProcessTable) -> bool:
        """Whether a process, or an ancestor below the keeper, is spared."""
        for above in upwards(process, table):
            if above.pid == self.keeper:
                break
            if self._is_spared(above.pid):
                return True
        return process.pid == self.keeper


def send(process: Process, number: signal.Signals) -> bool:
    """Signal exactly this process: a pidfd holds its pid, or the start time is checked at the last moment."""
    try:
        handle = os.pidfd_open(process.pid) if LINUX else -1
    except OSError as error:
        if error.errno == errno.ESRCH:
            return False
        handle = -1
    try:
        if not is_running(process.pid, process.started):
            return False
        if handle >= 0:
            signal.pidfd_send_signal(handle, number)
        else:
            os.kill(process.pid, number)
    except OSError:
        return False
    finally:
        if handle >= 0:
            os.close(handle)
    return True


def wait_for_end(processes: Iterable[Process], seconds: float, hurry: Callable[[], bool] | None) -> bool:
    """Return once all have ended or the time is over; True only if `hurry` cut the wait short."""
    deadline = time.monotonic() + seconds
    waiting = list(processes)
    pause = 0.001
    while waiting:
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        if hurry is not None and hurry():
            return True
        if not _wait_for_one(waiting[0], min(left, _SLICE) if hurry is not None else left, pause):
            pause = min(pause * 2, _SLICE)
        waiting = [process for process in waiting if is_running(process.pid, process.started)]
    return False


def _wait_for_one(process: Process, seconds: float, pause: float) -> bool:
    """Wait for one process to end, or sleep for a pause if there is no pidfd; whether there is one."""
    try:
        handle = os.pidfd_open(process.pid) if LINUX else -1
    except OSError as error:
        if error.errno == errno.ESRCH:
            return True
        handle = -1
    if handle < 0:
        time.sleep(min(pause, seconds))
        return False
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll(seconds * 1000)
    finally:
        os.close(handle)
    return True


def _ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process ignores a signal; False if unknown."""
    for line in content(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"SigIgn:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False
