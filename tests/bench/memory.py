"""Proportional memory (PSS) of a holder, at rest and after much output."""

from __future__ import annotations

import time
from collections.abc import Iterator

from fleet_tui.fleet import Fleet
from fleet_tui.holder.server.display import QUIET_SECONDS
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent
from tests.bench.figures import Row, alone
from tests.bench.proportional_memory import pss
from tests.bench.workspace import Workspace, screen_server
from tests.holder.screens import wait_for_screen

AGENTS = 20
LINES = 10_000


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    with workspace.agents(workspace.small(), AGENTS, "printer") as (fleet, agents):
        for agent in agents:
            _wait_for_server(fleet, agent)
        yield alone(f"keeper + screen server, at rest, {AGENTS} agents", _sizes(agents), "MB", at_most=8)
        servers = [pss([screen_server(agent)]) / 1e6 for agent in agents]
        yield alone("of which the screen server", servers, "MB")
        for agent in agents:
            _let_print(fleet, agent)
        time.sleep(QUIET_SECONDS + 1.0)
        what = f"keeper + screen server, after {LINES} lines"
        yield alone(
            what, _sizes(agents), "MB", at_most=14, note="scrollback is compressed when nothing is printed"
        )


def _sizes(agents: list[Agent]) -> list[float]:
    return [pss([agent.keeper_pid or 0, screen_server(agent)]) / 1e6 for agent in agents]


def _wait_for_server(fleet: Fleet, agent: Agent) -> None:
    with open_session(agent, rate=0) as session:
        session.ask("ping")


def _let_print(fleet: Fleet, agent: Agent) -> None:
    with open_session(agent, rate=30) as session:
        session.send("text", data=b"\r")
        if not wait_for_screen(session, lambda view: "all printed" in "\n".join(view.text()), seconds=30):
            raise RuntimeError(f"{agent.name} did not print its {LINES} lines")
