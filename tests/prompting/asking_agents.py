"""Agents that ask a question with numbered choices, and what they wrote down of the answers."""

from __future__ import annotations

import shlex
from pathlib import Path

from fleet_tui.models import Agent
from tests import scripted
from tests.agent_pool import SIZE, AgentPool
from tests.holder.holders import wait_until

CHOICES = ("Yes", "Yes, always", "No")
COMMAND = scripted.agent("chooses", "permission", "run rm?", *CHOICES)


def asking(pool: AgentPool, *more: str) -> Agent:
    """An agent that has asked and waits."""
    together = 1 if more else SIZE
    agent = pool.take("shell", f"exec {shlex.join([*COMMAND, *more])}", together=together)

    def is_asking() -> bool:
        evidence = pool.fleet.find(agent.id).evidence
        return evidence is not None and bool(evidence.choices)

    wait_until(is_asking, f"{agent.name} asking")
    return pool.fleet.find(agent.id)


def written(agent: Agent, name: str) -> list[str]:
    """The lines of a file in its worktree; none while there is no such file."""
    file = Path(agent.worktree) / name
    return file.read_text().splitlines() if file.exists() else []
