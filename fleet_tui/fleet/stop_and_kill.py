"""Stops and kills several agents of a fleet: a failure with one does not keep the others from being ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import FleetError, StoreUnwritable
from fleet_tui.models import Agent, Status
from fleet_tui.store import disk_reserve
from fleet_tui.system.identity import here
from fleet_tui.trashed import TrashReason

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.trash import KillResult
    from fleet_tui.store.database import Store


def stop(
    fleet: Fleet, store: Store, agents: Sequence[Agent], *, cause: str, grace: float
) -> list[FleetError]:
    """End the programs; returns an error for each agent that could not be stopped."""
    from fleet_tui.lifecycle import ending

    living = [agent for agent in agents if not agent.has_ended]
    stuck = ending.stop(living, cause=cause, grace=grace)
    fleet.refresh()
    failures = [_not_stopped(agent) for agent in stuck]
    for agent in map(fleet.current, agents):
        if agent.status is Status.LOST and cause == "stop":
            try:
                ending.end_lost(store, agent)
            except FleetError as error:
                failures.append(error)
    return failures


def kill(
    fleet: Fleet,
    store: Store,
    agents: Sequence[Agent],
    *,
    delete_branch: bool,
    grace: float,
    why: TrashReason,
) -> list[KillResult]:
    """End the programs and move the worktrees to the trash; raises the first failure after all were tried."""
    from fleet_tui.lifecycle import trash

    failures = [*_cancel_checks(store, agents), *stop(fleet, store, agents, cause="kill", grace=grace)]
    if fleet.unwritable:
        # The program that filled the disk may have ended just now, so the reserve can be released without losing it.
        disk_reserve.release_if_full(paths.state())
        fleet.refresh()
    now = time.time()
    killed: list[KillResult] = []
    ended = [agent for agent in map(fleet.current, agents) if agent.has_ended]
    for index, agent in enumerate(ended):
        try:
            moved = trash.to_trash(store, agent, delete_branch=delete_branch, now=now, why=why)
        except StoreUnwritable as error:
            # It would fail for the others as well, each after a long wait.
            failures.append(_unfinished(error, ended[index:]))
            break
        except FleetError as error:
            failures.append(_unfinished(error, [agent]) if fleet.unwritable else error)
        else:
            killed += [moved] if moved is not None else []
    raise_first(failures, "killed", [one.agent for one in killed])
    return killed


def _cancel_checks(store: Store, agents: Sequence[Agent]) -> list[FleetError]:
    """End the checks that run in the agents' worktrees, which are about to move."""
    if not store.checks.unfinished([agent.id for agent in agents]):
        return []
    from fleet_tui.review import checks

    try:
        checks.cancel(store, agents, "the agent was killed")
    except FleetError as error:
        return [error]
    return []


def left_running(agent: Agent, left: str) -> str:
    """The warning about processes that use the worktree of an ended agent."""
    return f"{agent.name} may have left these running, they use its worktree: {left}"


def raise_first(failures: Sequence[FleetError], done: str, others: Sequence[Agent]) -> None:
    """Raise the first of these errors, if any; its message names the agents that succeeded."""
    if failures:
        first = failures[0]
        if others:
            first.message += f"; {done}: {', '.join(agent.name for agent in others)}"
        raise first


def _not_stopped(agent: Agent) -> FleetError:
    if agent.machine != here():
        return FleetError(
            f"{agent.name} runs in another container and does not react", hint="stop it from there"
        )
    return FleetError(f"{agent.name} could not be stopped", hint="run: fleet doctor")


def _unfinished(error: FleetError, agents: Sequence[Agent]) -> FleetError:
    """The error of agents whose programs have ended, but whose worktrees could not be moved to the trash."""
    names = ", ".join(agent.name for agent in agents)
    have, are = ("has", "is") if len(agents) == 1 else ("have", "are")
    error.message = f"{names} {have} ended, but {are} not recorded in the trash: {error.message}"
    again = f"fleet kill {' '.join(agent.name for agent in agents)}"
    error.hint = f"{error.hint}, then: {again}" if error.hint else f"try again: {again}"
    return error
