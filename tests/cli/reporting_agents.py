"""Agents whose status a test chooses: they report what the test writes to a file."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

from fleet_tui.models import Agent
from tests import scripted
from tests.agent_pool import AgentPool
from tests.holder.holders import wait_until

COMMAND = f"exec {shlex.join(scripted.agent('reports', 'said'))}"


def reporting(pool: AgentPool, state: str = "working", text: str = "") -> Agent:
    """A running agent with this status."""
    agent = pool.take("shell", COMMAND)
    report(agent, state, text)
    wait_until(
        lambda: pool.fleet.find(agent.id).status == state.partition(":")[0], f"{agent.name} is {state}"
    )
    return pool.fleet.find(agent.id)


def report(agent: Agent, state: str, text: str = "") -> None:
    """Have the agent report a status such as working or blocked:kind=permission."""
    message = f":msg={base64.b64encode(text.encode()).decode()}" if text else ""
    _write(agent, f"state={state}{message}")


def exit_with(agent: Agent, code: int) -> None:
    _write(agent, f"exit {code}")


def _write(agent: Agent, line: str) -> None:
    new = Path(agent.worktree) / "new"
    new.write_text(line)
    new.replace(Path(agent.worktree) / "said")


def ended(pool: AgentPool, agent: Agent) -> Agent:
    wait_until(lambda: pool.fleet.find(agent.id).has_ended, f"{agent.name} ends")
    return pool.fleet.find(agent.id)
