"""How long checkpoints are kept, and deleting those that are over the limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Status
from fleet_tui.review.checkpoints import repository_of
from fleet_tui.store.database import Store
from fleet_tui.work import Checkpoint, CheckpointKind

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class CheckpointLimits:
    """How long checkpoints are kept."""

    days: int
    most: int
    """Of one agent; more are kept only while they are younger than a day."""


def prune(store: Store, limits: CheckpointLimits, *, now: float) -> int:
    """Delete checkpoints that are over the limits; returns how many.

    An agent that still has its worktree, in place or in the trash, keeps its newest checkpoint and those the user has
    named. After the worktree has left the trash, all of them go once they are too old.
    """
    removed = 0
    agents = {agent.id: agent for agent in store.agents.all()}
    for agent_id in store.checkpoints.agents():
        agent = agents.get(agent_id)
        # A damaged row of an agent says nothing about its checkpoints.
        if agent is None:
            continue
        chosen = over_limits(agent, store.checkpoints.of(agent_id), limits, now=now)
        if chosen:
            removed += len(chosen)
            _drop(store, agent, [one.number for one in chosen], now=now)
    return removed


def over_limits(
    agent: Agent, checkpoints: Sequence[Checkpoint], limits: CheckpointLimits, *, now: float
) -> list[Checkpoint]:
    """The checkpoints of an agent that are to go, oldest first."""
    too_old = [one for one in checkpoints if now - one.at > limits.days * DAY]
    if agent.status is Status.KILLED and not agent.trash and not Path(agent.worktree).is_dir():
        return too_old
    others = [one for one in checkpoints[:-1] if one.kind is not CheckpointKind.NAMED]
    aged = {one.number for one in too_old}
    surplus = others[: max(0, len(checkpoints) - limits.most)]
    aged |= {one.number for one in surplus if now - one.at > DAY}
    return [one for one in others if one.number in aged]


def _drop(store: Store, agent: Agent, numbers: Sequence[int], *, now: float) -> None:
    git_dir = repository_of(store, agent)
    # Rows first: a ref without a row is found again, a row without a ref could not be restored.
    with store.transaction(uses_reserve=False):
        store.checkpoints.remove(agent.id, numbers, now)
    if git_dir is not None:
        git.drop_checkpoints(git_dir, agent.id, numbers)
