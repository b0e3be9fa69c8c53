"""Processes of agents: found by the agent's id in their environment, and holders by the locks they have open."""

from __future__ import annotations

import os
from collections.abc import Collection

from fleet_tui.system.processes import (
    Process,
    ProcessTable,
    children_of_process,
    environment,
    look_up,
    open_descriptors,
)


def holds_fleet_lock(pid: int, state_folder: str, *, but_not: str = "") -> bool:
    """Whether a process has a file named `lock` below the state folder open, as keepers and launchers do.

    A lock below `but_not` (one agent's own folder) does not count. A process that cannot be read holds none.
    """
    inside = os.path.realpath(state_folder) + "/"
    outside = os.path.realpath(but_not) + "/" if but_not else ""
    for _, target in open_descriptors(pid):
        # The kernel appends this to the name of a file that has been unlinked.
        path = target.removesuffix(" (deleted)")
        is_fleets = path.endswith("/lock") and path.startswith(inside)
        if is_fleets and not (outside and path.startswith(outside)):
            return True
    return False


def marked(agent_id: str, table: ProcessTable, *, started_after: int) -> list[int]:
    """The user's processes with exactly FLEET_AGENT_ID=<id> in their environment, started at or after a time."""
    mark = f"FLEET_AGENT_ID={agent_id}".encode()
    return [
        process.pid
        for process in table.values()
        if process.started >= started_after
        and process.is_alive
        and process.pid != os.getpid()
        and mark in environment(process.pid)
    ]


def unmarked_below(
    root: int, agent_id: str, *, state_folder: str, spare: Collection[int] = ()
) -> list[Process] | None:
    """Descendants of a process without the agent's id in their environment; None if the system has no lists of children.

    Reads the kernel's lists of children, which is cheap for few processes. Leaves out other holders with everything
    below them, and `spare`.
    """
    mark = f"FLEET_AGENT_ID={agent_id}".encode()
    parents, found = [root], list[Process]()
    while parents:
        children = children_of_process(parents.pop())
        if children is None:
            return None
        for pid in children:
            if pid in spare:
                continue
            if mark not in environment(pid):
                process = look_up(pid)
                if process is None or not process.is_alive or holds_fleet_lock(pid, state_folder):
                    continue
                found.append(process)
            parents.append(pid)
    return found
