"""Leftover processes of an agent whose keeper is gone: find them and end them.

A keeper ends everything below it, so this is for keepers that were killed or hang. Only processes that provably belong
to the agent are ended, by any one of these proofs: the agent's id in the environment, membership in its systemd scope,
the program's own terminal as an open file, an entry in the keeper's list of unmarked descendants, or a parent with such
a proof. Processes that only work in the agent's folders are reported, never ended.
Keepers do not load this module; they have `end_tree`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection, Mapping
from typing import NamedTuple

from fleet_tui.system import agent_processes, end_tree, identity, processes, systemd_scope
from fleet_tui.system.processes import Process, ProcessTable


class Traces(NamedTuple):
    """What identifies the processes of one agent."""

    agent: str
    terminal: tuple[int, ...] = ()
    """The program's terminal, by `identity.terminal`."""
    seen: Collection[tuple[int, int]] = ()
    """Pid and start of the unmarked descendants that the keeper saw last."""


# ── proven ──────────────────────────────────────────────────────────────────────────────────────────────────────


def of_agent(traces: Traces, table: ProcessTable, *, state_folder: str) -> list[Process]:
    """The living processes of an agent, without other holders and everything below them."""
    marked = set(agent_processes.marked(traces.agent, table, started_after=0))
    found: dict[int, Process] = {}
    for process in table.values():
        if process.is_alive and (process.pid in marked or _is_of(process, traces)):
            found[process.pid] = process
            found |= {below.pid: below for below in processes.descendants(table, process.pid)}
    found.pop(os.getpid(), None)
    return [
        process
        for process in found.values()
        if process.is_alive
        and not any(
            agent_processes.holds_fleet_lock(above.pid, state_folder)
            for above in processes.upwards(process, table)
            if above.pid != os.getpid()
        )
    ]


def _is_of(process: Process, traces: Traces) -> bool:
    if process.pid == os.getpid() or not _is_ours(process.pid):
        return False
    return (
        (process.pid, process.started) in traces.seen
        or systemd_scope.is_agents(
            processes.content(f"/proc/{process.pid}/cgroup").decode(errors="replace"), traces.agent
        )
        or (bool(traces.terminal) and _has_terminal(process.pid, traces.terminal))
    )


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.getuid()  # noqa: PTH116 - asked for all processes
    except OSError:
        return False


def _has_terminal(pid: int, terminal: tuple[int, ...]) -> bool:
    """Whether a process has exactly this terminal open: the kernel reuses terminal numbers."""
    return any(
        target.startswith("/dev/pts/") and identity.terminal(f"/proc/{pid}/fd/{number}") == terminal
        for number, target in processes.open_descriptors(pid)
    )


def end(traces: Traces, *, state_folder: str) -> list[int]:
    """Kill the processes of an agent without a keeper and wait for their end; returns the killed pids."""
    deadline = time.monotonic() + end_tree.SWEEP_SECONDS
    killed: dict[int, None] = {}
    while time.monotonic() < deadline:
        found = of_agent(traces, processes.snapshot(), state_folder=state_folder)
        sent = [process for process in found if end_tree.send(process, signal.SIGKILL)]
        if not sent:
            break
        killed |= dict.fromkeys(process.pid for process in sent)
        end_tree.wait_for_end(sent, max(0.0, deadline - time.monotonic()), None)
    return list(killed)


def end_holders(lock: str, *, state_folder: str, deleted_only: bool = False) -> list[int]:
    """Kill the processes that hold this agent's lock and everything below them: for holders that no longer react.

    A process that also holds another agent's lock, such as a busy launcher, is left alone; so are holders below it.
    With `deleted_only`, only those whose lock file has been removed from under them.
    """
    deadline = time.monotonic() + end_tree.SWEEP_SECONDS
    own = os.path.dirname(lock)  # noqa: PTH120 - a string is what is compared
    killed: dict[int, None] = {}

    def is_other_holder(pid: int) -> bool:
        return agent_processes.holds_fleet_lock(pid, state_folder, but_not=own)

    holders = [one for one in processes.snapshot().values() if has_locked(one.pid, lock, deleted_only)]
    holders = [one for one in holders if not is_other_holder(one.pid)]
    for holder in holders:
        # Orphans that the holder adopts are still below it, as long as it lives itself.
        while time.monotonic() < deadline:
            below = processes.descendants(processes.snapshot(), holder.pid, stop_at=is_other_holder)
            victims = [process for process in below if process.is_alive]
            if not victims:
                break
            killed |= dict.fromkeys(one.pid for one in victims if end_tree.send(one, signal.SIGKILL))
            end_tree.wait_for_end(victims, 0.1, None)
        if end_tree.send(holder, signal.SIGKILL):
            killed[holder.pid] = None
    end_tree.wait_for_end(holders, max(0.0, deadline - time.monotonic()), None)
    return list(killed)


def has_locked(pid: int, lock: str, deleted_only: bool) -> bool:
    """Whether an open file of the process holds this lock; having the file open without the lock does not count."""
    if pid == os.getpid():
        return False
    path = os.path.realpath(lock)
    wanted = {f"{path} (deleted)"} if deleted_only else {path, f"{path} (deleted)"}
    return any(
        target in wanted and b"FLOCK" in processes.content(f"/proc/{pid}/fdinfo/{number}")
        for number, target in processes.open_descriptors(pid)
    )


# ── suspected ───────────────────────────────────────────────────────────────────────────────────────────────────


def working_in(folders: Mapping[str, int], table: ProcessTable) -> dict[str, list[Process]]:
    """The user's processes without a terminal that work in one of these folders or have a file there open.

    Each folder comes with the start of its agent's last keeper: older processes are not the agent's.
    """
    inside = {f"{os.path.realpath(folder)}/": folder for folder in folders}
    found: dict[str, list[Process]] = {}
    if not inside:
        return found
    for process in table.values():
        if not process.is_alive or process.pid == os.getpid() or not _is_ours(process.pid):
            continue
        places = _places(process.pid)
        for real, folder in inside.items():
            works_there = any(f"{place}/".startswith(real) for place in places)
            if works_there and process.started >= folders[folder] and not _has_tty(process.pid):
                found.setdefault(folder, []).append(process)
    return found


def _places(pid: int) -> list[str]:
    """The process's working directory and open files."""
    try:
        place = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - asked for all processes
    except OSError:
        return []
    return [place, *(target for _, target in processes.open_descriptors(pid))]


def _has_tty(pid: int) -> bool:
    """Whether the process belongs to a terminal, as a user's shell in the worktree does."""
    data = processes.content(f"/proc/{pid}/stat")
    fields = data[data.rfind(b")") + 2 :].split()
    return len(fields) > 4 and fields[4] != b"0"


def named(found: Collection[Process]) -> str:
    """Pids with program names, for a message."""
    return ", ".join(
        f"{process.pid} ({processes.content(f'/proc/{process.pid}/comm').decode(errors='replace').strip()})"
        for process in found
    )
