"""Stop agents, and end the processes that a lost agent left running."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

from fleet_tui import paths
from fleet_tui.errors import FleetError, Refused
from fleet_tui.holder.lock import is_held, take_lock
from fleet_tui.holder.run_folder import read_exit, read_holder, read_strays
from fleet_tui.holder.stop_requests import StopRequest, has_unread_requests, read_stop, request_stop
from fleet_tui.models import Agent, Status
from fleet_tui.store.database import Store
from fleet_tui.system import agent_processes, identity, leftovers, processes

LOCK_SECONDS = 2.0
"""To wait for another process that holds the lock only briefly."""
MARGIN_SECONDS = 15.0
"""Beyond the grace period: for ending leftover processes, or for a launcher to finish."""
ASK_SECONDS = 0.02
"""Between attempts to reach the holder."""


def stop(agents: Sequence[Agent], *, cause: str, grace: float, margin: float = MARGIN_SECONDS) -> list[Agent]:
    """Stop these agents in parallel; returns those whose holder did not release the lock in time.

    Writes nothing to the disk, which may be full, unless a holder is of an earlier version. An agent that was asked
    before is killed without further grace.
    """
    request = StopRequest(cause, grace, os.urandom(8).hex())
    waiting = [_Stopping(agent, request, margin) for agent in agents]
    stuck: list[Agent] = []
    pause = 0.001
    while waiting:
        for one in waiting:
            one.step(time.monotonic())
        stuck += [one.agent for one in waiting if one.is_stuck]
        waiting = [one for one in waiting if not one.has_ended and not one.is_stuck]
        if waiting:
            time.sleep(pause)
            pause = min(0.02, pause * 1.5)
    return stuck


class _Stopping:
    """Stops one agent: ask its holder, wait, and kill the holder if it does not react."""

    def __init__(self, agent: Agent, request: StopRequest, margin: float) -> None:
        self.agent = agent
        self.has_ended = False
        self.is_stuck = False
        self._request = request
        self._lock, self._folder = paths.lock(agent.id), paths.run(agent.id, agent.run)
        self._is_asked = False
        self._is_forced = False
        now = time.monotonic()
        self._ask_again_at = now
        self._react_by = now + margin
        self._end_by = now + request.grace + margin

    def step(self, now: float) -> None:
        """Do what is due now."""
        if not is_held(self._lock):
            self.has_ended = True
        elif now >= self._end_by or (now >= self._react_by and self._is_unread()):
            self._force(now)
        elif not self._is_asked and now >= self._ask_again_at:
            self._ask(now)

    def _ask(self, now: float) -> None:
        # A launcher that has just started does not listen yet; the request waits in a file.
        self._ask_again_at = now + ASK_SECONDS
        with contextlib.suppress(OSError):
            paths.private(self._folder)
        earlier = read_stop(self._folder)
        self._is_asked = request_stop(self._folder, self._lock, self._request)
        if self._is_asked and earlier not in (None, self._request) and read_stop(self._folder) != earlier:
            # A keeper of an earlier version ignores a second request during the grace period of the first.
            self._end_by = min(self._end_by, now + LOCK_SECONDS)

    def _is_unread(self) -> bool:
        """Whether the holder has not read the request."""
        return not self._is_asked or has_unread_requests(self._lock)

    def _force(self, now: float) -> None:
        if self._is_forced:
            self.is_stuck = True
            return
        self._is_forced = True
        self._react_by = self._end_by = now + LOCK_SECONDS
        if self.agent.machine == identity.here():
            leftovers.end_holders(str(self._lock), state_folder=str(paths.state()))


@contextlib.contextmanager
def holding(store: Store, agent: Agent) -> Iterator[Agent]:
    """Hold the lock of an ended agent, so that it cannot be started, trashed or restored; yields its current row."""
    paths.private(paths.agent(agent.id))
    lock = take_lock(paths.lock(agent.id), seconds=LOCK_SECONDS)
    if lock is None:
        raise Refused(f"{agent.name} is running, or another command is using it", hint="see fleet list")
    try:
        yield store.agents.get(agent.id)
    except OSError as error:
        raise FleetError(
            f"{agent.name}: {error.filename2 or error.filename or agent.worktree}: {error.strerror or error}",
            hint="check space and permissions",
        ) from error
    finally:
        os.close(lock)


def sweep(agent: Agent) -> str:
    """End the processes of a lost agent, whose keeper could not do it.

    Returns a description of processes that may be left; empty for none.
    """
    if agent.machine != identity.here() or not (was_lost(agent) or _is_hidden(agent)):
        return ""
    state = str(paths.state())
    # A keeper whose folder was deleted still runs, and no request can reach it.
    leftovers.end_holders(str(paths.lock(agent.id)), state_folder=state, deleted_only=True)
    leftovers.end(traces(agent), state_folder=state)
    return suspects(agent)


def end_lost(store: Store, agent: Agent) -> None:
    """End the processes of a lost agent, under its lock."""
    with holding(store, agent) as current:
        sweep(current)


def was_lost(agent: Agent) -> bool:
    """Whether the keeper of the last run died without recording the end, whatever the store says."""
    folder = paths.run(agent.id, agent.run)
    return agent.status is Status.LOST or (read_holder(folder) is not None and read_exit(folder) is None)


def _is_hidden(agent: Agent) -> bool:
    """Whether the keeper or the program that the store knows still runs, although the lock is free.

    An agent can remove or rename the lock, and write a record of its own end.
    """
    lock = str(paths.lock(agent.id))
    if agent.keeper_pid is not None and leftovers.has_locked(agent.keeper_pid, lock, deleted_only=True):
        return True
    program = processes.look_up(agent.pid) if agent.pid is not None else None
    return program is not None and bool(
        agent_processes.marked(agent.id, {program.pid: program}, started_after=0)
    )


def traces(agent: Agent) -> leftovers.Traces:
    """What identifies the processes of an agent's last run."""
    folder = paths.run(agent.id, agent.run)
    found = read_holder(folder)
    if found is None or found.boot_id != identity.boot_id():
        return leftovers.Traces(agent.id)
    return leftovers.Traces(agent.id, found.terminal, read_strays(folder))


def suspects(agent: Agent) -> str:
    """Describe processes that work in a lost agent's folders. This is no proof that they are its own."""
    found_holder = read_holder(paths.run(agent.id, agent.run))
    since = found_holder.keeper_started if found_holder is not None else 0
    folders = {folder: since for folder in (agent.worktree, agent.trash) if folder}
    found = leftovers.working_in(folders, processes.snapshot())
    running = {process.pid: process for group in found.values() for process in group}
    return leftovers.named(list(running.values()))
