"""Reconcile the store with reality: import what holders have written, and mark agents whose holders are gone.

Idempotent; several processes may do it at once. It changes rows and never deletes any. An agent is alive if and only
if its lock is held, so the lock is tried before the record of its end is read. Reading the store does not reconcile:
`Fleet` does that as a step of its own.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.holder.event_log import EVENTS_FILE, read_events
from fleet_tui.holder.lock import trying_lock
from fleet_tui.holder.run_folder import Exit, read_exit, read_holder
from fleet_tui.models import Agent, Evidence, Status
from fleet_tui.store import row_decoder
from fleet_tui.store.database import Store
from fleet_tui.system.identity import boot_id, machine_id

JUST_ENDED_SECONDS = 5.0

LIVING = [status for status in Status if not status.has_ended]

_CAUSES = {
    "exited": Status.EXITED,
    "stop": Status.STOPPED,
    "kill": Status.STOPPED,
    "shutdown": Status.INTERRUPTED,
    "failed": Status.FAILED,
    "interrupted": Status.INTERRUPTED,
    "lost": Status.LOST,
}


def reconcile(store: Store) -> None:
    """Bring the rows of this machine's living agents up to date. No-op for a store of a newer version."""
    if store.db.is_newer:
        return
    if store.agents.is_empty():
        # Rows are never deleted, so agents' folders without rows mean that the store was lost.
        from fleet_tui.lifecycle import rebuild

        rebuild.restore(store)
    # A damaged journal is reported now, and not only once there is something to record.
    store.journal.last_id()
    # Locks work across the namespaces of one machine, pids do not: compare the machine without its namespace.
    machine = machine_id()
    for agent, read_to in store.agents.live():
        if agent.machine.split("/")[0] == machine:
            _reconcile_one(store, agent, read_to)
    _capture(store, machine)


def _capture(store: Store, machine: str) -> None:
    """Look for the conversations of agents whose programs choose the ids themselves."""
    agents = store.agents.without_conversation(time.time() - JUST_ENDED_SECONDS)
    waiting = [agent for agent in agents if agent.machine.split("/")[0] == machine]
    if waiting:
        from fleet_tui.lifecycle import conversations

        conversations.capture(store, waiting)


def _reconcile_one(store: Store, agent: Agent, read_to: int) -> None:
    lock = paths.lock(agent.id)
    folder = lock.with_name(str(agent.run))
    with trying_lock(lock) as is_free:
        _import_events(store, agent, folder, read_to)
        if agent.pid is None:
            _import_start(store, agent, folder)
        if is_free:
            # Another process may have started or reconciled it since the row was read.
            current = store.agents.get(agent.id)
            if not current.has_ended and current.run == agent.run:
                _mark_end(store, current, folder)


def _import_start(store: Store, agent: Agent, folder: Path) -> None:
    """Record a start that a launcher did not record because it was killed."""
    found = read_holder(folder)
    if found is None:
        return
    with store.transaction(uses_reserve=False):
        current = store.agents.get(agent.id)
        if current.pid is None and current.run == agent.run:
            store.agents.change(
                agent.id,
                time.time(),
                only_from=LIVING,
                pid=found.pid,
                keeper_pid=found.keeper_pid,
                started_at=found.started_at,
            )


def _import_events(store: Store, agent: Agent, folder: Path, read_to: int) -> None:
    try:
        size = os.stat(folder / EVENTS_FILE).st_size  # noqa: PTH116 - called for every agent, several times a second
    except OSError:
        return
    if size == read_to:
        return
    read_to, events = read_events(folder, read_to)
    if not events:
        return
    with store.transaction(uses_reserve=False):
        fit = [event for event in events if row_decoder.fits_journal(event)]
        for event in store.agents.import_events(agent.id, agent.run, read_to, fit):
            # An agent runs as the same user and may write anything there. A malformed event must not break commands.
            with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):
                _project(store, agent, event)


def _project(store: Store, agent: Agent, event: Mapping[str, Any]) -> None:
    data, at = event.get("data", {}), event["at"]
    if event["kind"] == "status" and data.get("status") in set(Status):
        store.agents.change(
            agent.id,
            at,
            only_from=LIVING,
            status=Status(data["status"]),
            status_detail=row_decoder.storable_text(data.get("detail", "")),
            evidence=Evidence.from_plain(data, at),
        )
    elif event["kind"] == "title":
        store.agents.change(agent.id, at, title=row_decoder.storable_text(data.get("text", "")))
    elif event["kind"] == "receipt" and data.get("state") in row_decoder.RECEIPT_STATES:
        store.receipts.advance(
            row_decoder.storable_text(data.get("prompt", "")),
            agent.id,
            data["state"],
            row_decoder.storable_text(data.get("reason", "")),
            at,
        )
    elif event["kind"] == "output-lost":
        store.agents.change(
            agent.id, at, lost_output=min(max(0, int(data.get("bytes", 0))), row_decoder.LARGEST - 1)
        )
    elif event["kind"] == "session" and data.get("id"):
        store.agents.change(agent.id, at, session_id=row_decoder.storable_text(data["id"]))


def as_found(agent: Agent) -> Agent:
    """The agent's state by its lock and files, for when the store cannot be written."""
    if agent.has_ended or agent.machine.split("/")[0] != machine_id():
        return agent
    lock = paths.lock(agent.id)
    folder = lock.with_name(str(agent.run))
    with trying_lock(lock) as is_free:
        if not is_free:
            return agent
        end = read_exit(folder) or _probable_end(agent, folder)
    return replace(
        agent,
        status=_CAUSES.get(end.cause, Status.LOST),
        status_detail=end.reason or _how(end),
        exit_code=end.code,
        exit_signal=end.signal,
        ended_at=end.at,
        lost_output=max(agent.lost_output, end.lost_output),
    )


def _mark_end(store: Store, agent: Agent, folder: Path) -> None:
    end = read_exit(folder) or _end_without_record(store, agent, folder)
    status = _CAUSES.get(end.cause, Status.LOST)
    with store.transaction(uses_reserve=False):
        store.agents.change(
            agent.id,
            time.time(),
            only_from=LIVING,
            status=status,
            status_detail=end.reason or _how(end),
            exit_code=end.code,
            exit_signal=end.signal,
            ended_at=end.at,
            lost_output=max(agent.lost_output, end.lost_output),
            evidence=Evidence(
                "reconcile" if status is Status.LOST else "exit", end.reason or _how(end), end.at
            ),
        )
        store.receipts.close(agent.id, "the program has ended", end.at)
    unlock_worktree(store, agent)


def _end_without_record(store: Store, agent: Agent, folder: Path) -> Exit:
    """How an agent ended whose holder recorded nothing; rolls back a launch that did not get as far as a program."""
    end = _probable_end(agent, folder)
    if end.cause == "failed":
        _roll_back_intent(store, agent)
    return end


def _probable_end(agent: Agent, folder: Path) -> Exit:
    now = time.time()
    if agent.pid is None and read_holder(folder) is None:
        return Exit("failed", now, reason="its creation was interrupted")
    if agent.boot_id and agent.boot_id != boot_id():
        return Exit("interrupted", now, reason="the machine was restarted")
    return Exit("lost", now, reason="its keeper is gone without a record")


def _roll_back_intent(store: Store, agent: Agent) -> None:
    from fleet_tui.lifecycle import intent

    # The row must be marked even if this fails; fleet doctor reports what is left.
    with contextlib.suppress(FleetError, OSError):
        intent.roll_back(agent, intent.Intent.read(store.agents.intent(agent.id)))


def unlock_worktree(store: Store, agent: Agent) -> None:
    """Remove git's lock of an ended agent's worktree."""
    from fleet_tui import git

    git_dir = store.agents.git_dirs([agent]).get(agent.id)
    if git_dir is not None:
        with contextlib.suppress(FleetError, OSError):
            git.unlock(git_dir, Path(agent.worktree), agent.id)


def _how(end: Exit) -> str:
    if end.signal is not None:
        return f"signal {end.signal}"
    return f"code {end.code}" if end.code is not None else ""
