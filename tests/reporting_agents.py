"""Agents whose status a test chooses: they report what the test has them report, through a file in their worktree."""

from __future__ import annotations

import base64
import shlex
from pathlib import Path

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests import scripted
from tests.agent_pool import AgentPool
from tests.holder.holders import wait_until

COMMAND = f"exec {shlex.join(scripted.agent('reports', 'said'))}"


def reporting(pool: AgentPool, state: str = "working", text: str = "") -> Agent:
    """An agent of the pool with this status."""
    agent = pool.take("shell", COMMAND)
    report(agent, state, text)
    _wait_for(pool.fleet, agent, state)
    return pool.fleet.find(agent.id)


def reporters(fleet: Fleet, *names: str, state: str = "working") -> list[Agent]:
    """New agents of one batch, started together, with this status."""
    agents = fleet.multi([(name, COMMAND) for name in names], profile="shell")
    for agent in agents:
        report(agent, state)
    for agent in agents:
        _wait_for(fleet, agent, state)
    return agents


def _wait_for(fleet: Fleet, agent: Agent, state: str) -> None:
    wait_until(lambda: fleet.find(agent.id).status == state.partition(":")[0], f"{agent.name} is {state}")


def report(agent: Agent, state: str, text: str = "") -> None:
    """Have the agent report a status such as working or blocked:kind=permission."""
    message = f":msg={base64.b64encode(text.encode()).decode()}" if text else ""
    _write(agent, f"state={state}{message}")


def exit_with(agent: Agent, code: int) -> None:
    _write(agent, f"exit {code}")


def _write(agent: Agent, line: str) -> None:
    """In one step, as the agent reads the file all the time."""
    new = Path(agent.worktree) / "new"
    new.write_text(line)
    new.replace(Path(agent.worktree) / "said")


def ended(pool: AgentPool, agent: Agent) -> Agent:
    wait_until(lambda: pool.fleet.find(agent.id).has_ended, f"{agent.name} ends")
    return pool.fleet.find(agent.id)
