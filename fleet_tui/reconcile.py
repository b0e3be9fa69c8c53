"""Brings the store up to what holders have written and to who is still alive. Marks, and never deletes.

A row is judged only after its lock has been tried, and the record of its end is read after that: whoever holds the
lock is alive, whatever else seems to be the case.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths, stored
from fleet_tui.errors import FleetError
from fleet_tui.holder import Exit, read_events, read_exit, read_holder, trying_lock
from fleet_tui.models import Agent, Evidence, Status, Wish
from fleet_tui.processes import boot_id, machine_id
from fleet_tui.store import Store
from fleet_tui.values import replace

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
    """All agents of this machine that have not ended as far as the store knows."""
    if store.is_newer:
        return
    if store.is_empty():
        # No row is ever deleted: if there are agents' files, the store was lost, and not the agents.
        from fleet_tui import rebuilding

        rebuilding.restore(store)
    # Locks hold across the namespaces of one machine; pids are only used where they mean the same.
    machine = machine_id()
    for agent, read_to in store.live():
        if agent.machine.split("/")[0] == machine:
            _reconcile_one(store, agent, read_to)
    _capture(store, machine)


def _capture(store: Store, machine: str) -> None:
    """Find out which conversations those agents have begun whose programs choose the ids themselves."""
    agents = store.without_conversation(time.time() - JUST_ENDED_SECONDS)
    waiting = [agent for agent in agents if agent.machine.split("/")[0] == machine]
    if waiting:
        from fleet_tui import conversations

        conversations.capture(store, waiting)


def _reconcile_one(store: Store, agent: Agent, read_to: int) -> None:
    lock = paths.lock(agent.id)
    folder = lock.with_name(str(agent.run))
    with trying_lock(lock) as is_free:
        _take_over_events(store, agent, folder, read_to)
        if agent.pid is None:
            _take_over_start(store, agent, folder)
        if is_free:
            # Somebody else may have started or judged it since the row was read.
            current = store.agent(agent.id)
            if not current.has_ended and current.run == agent.run:
                _mark_end(store, current, folder)


def _take_over_start(store: Store, agent: Agent, folder: Path) -> None:
    """A launcher that was killed may have started the program without saying so in the store."""
    found = read_holder(folder)
    if found is None:
        return
    with store.transaction(uses_reserve=False):
        current = store.agent(agent.id)
        if current.pid is None and current.run == agent.run:
            store.change(
                agent.id,
                time.time(),
                only_from=LIVING,
                pid=found.pid,
                keeper_pid=found.keeper_pid,
                started_at=found.started_at,
            )


def _take_over_events(store: Store, agent: Agent, folder: Path, read_to: int) -> None:
    try:
        size = os.stat(folder / "events.jsonl").st_size  # noqa: PTH116 - asked for every agent, several times a second
    except OSError:
        return
    if size == read_to:
        return
    read_to, events = read_events(folder, read_to)
    if not events:
        return
    with store.transaction(uses_reserve=False):
        fit = [event for event in events if stored.is_recordable(event)]
        for event in store.take_over(agent.id, agent.run, read_to, fit):
            # The agent runs as the same user and may write anything there; one bad event must not stop all commands.
            with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):
                _project(store, agent, event)


def _project(store: Store, agent: Agent, event: Mapping[str, Any]) -> None:
    data, at = event.get("data", {}), event["at"]
    if event["kind"] == "status" and data.get("status") in set(Status):
        evidence = Evidence(
            str(data.get("source", "")),
            str(data.get("text", "")),
            at,
            str(data.get("rule", "")),
            _choices(data),
            data.get("takes_words") is True,
            Wish.from_plain(data.get("wish")),
        )
        store.change(
            agent.id,
            at,
            only_from=LIVING,
            status=Status(data["status"]),
            status_detail=stored.written(data.get("detail", "")),
            evidence=evidence,
        )
    elif event["kind"] == "title":
        store.change(agent.id, at, title=stored.written(data.get("text", "")))
    elif event["kind"] == "receipt" and data.get("state") in stored.RECEIPT_STATES:
        store.move_receipt(
            stored.written(data.get("prompt", "")), data["state"], stored.written(data.get("reason", "")), at
        )
    elif event["kind"] == "output-lost":
        store.change(agent.id, at, lost_output=min(max(0, int(data.get("bytes", 0))), stored.LARGEST - 1))
    elif event["kind"] == "session" and data.get("id"):
        store.change(agent.id, at, session_id=stored.written(data["id"]))


def _choices(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    given = data.get("choices", ())
    return tuple((str(one[0]), str(one[1])) for one in given if isinstance(one, list) and len(one) == 2)


def as_found(agent: Agent) -> Agent:
    """The agent as its files and its lock show it now: for a store in which nothing can be recorded."""
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
        store.change(
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
        store.close_receipts(agent.id, "the program has ended", end.at)
    unlock_worktree(store, agent)


def _end_without_record(store: Store, agent: Agent, folder: Path) -> Exit:
    """Nobody holds it, and nobody wrote down how it ended."""
    end = _probable_end(agent, folder)
    if end.cause == "failed":
        _undo_intent(store, agent)
    return end


def _probable_end(agent: Agent, folder: Path) -> Exit:
    now = time.time()
    if agent.pid is None and read_holder(folder) is None:
        return Exit("failed", now, reason="interrupted while creating")
    if agent.boot_id and agent.boot_id != boot_id():
        return Exit("interrupted", now, reason="the machine was restarted")
    return Exit("lost", now, reason="its keeper is gone without a record")


def _undo_intent(store: Store, agent: Agent) -> None:
    from fleet_tui import intents

    # What stands in the way stays visible through fleet doctor; the row must be judged all the same.
    with contextlib.suppress(FleetError, OSError):
        intents.undo(agent, intents.Intent.read(store.intent(agent.id)))


def unlock_worktree(store: Store, agent: Agent) -> None:
    from fleet_tui import git

    git_dir = store.git_dirs([agent]).get(agent.id)
    if git_dir is not None:
        with contextlib.suppress(FleetError, OSError):
            git.unlock(git_dir, Path(agent.worktree), agent.id)


def _how(end: Exit) -> str:
    if end.signal is not None:
        return f"signal {end.signal}"
    return f"code {end.code}" if end.code is not None else ""
