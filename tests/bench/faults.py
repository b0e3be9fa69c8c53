"""What is left running after a kill, and what is lost when everything except keepers is killed at random."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent
from fleet_tui.system import agent_processes, processes
from tests.bench.figures import Row, alone
from tests.bench.workspace import Workspace, screen_server, wait_until
from tests.holder.screens import wait_for_screen

AGENTS = 8


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    yield _orphans(workspace)
    kills = 8 if quick else 20
    repository = workspace.repository("faults", 200)
    with workspace.agents(repository, AGENTS, "waiter") as (fleet, agents):
        chance = random.Random()
        ways = (_kill_face, _kill_launcher, _kill_screen_server)
        for number in range(kills):
            ways[number % len(ways)](workspace, repository, chance.choice(agents), chance)
        lost = [agent for agent in agents if not _is_well(fleet, agent)]
    yield alone(f"agents lost in {kills} random kills", [len(lost)], "", at_most=0)


# ── orphans ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _orphans(workspace: Workspace) -> Row:
    repository = workspace.small()
    with workspace.agents(repository, 5, "escaper") as (_fleet, agents):
        for agent in agents:
            with open_session(agent) as session:
                wait_for_screen(session, lambda view: "all escaped" in "\n".join(view.text()), seconds=10)
        most = len(_marked(agents))
        workspace.fleet(repository, "kill", "escaper-*", "-f")
        left = _marked(agents)
    note = f"of {most}: children, own groups, setsid, nohup, double forks"
    return alone("processes left after fleet kill of 5", [len(left)], "", at_most=0, note=note)


def _marked(agents: list[Agent]) -> list[int]:
    table = processes.snapshot()
    return [
        pid
        for agent in agents
        for pid in agent_processes.marked(agent.id, table, started_after=0)
        if table[pid].is_alive
    ]


# ── kills ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _kill_face(workspace: Workspace, repository: Path, agent: Agent, chance: random.Random) -> None:
    """One process that lists agents, and one that watches them."""
    for arguments in (["list"], ["logs", agent.id, "-f"]):
        face = _start(repository, arguments)
        time.sleep(chance.uniform(0.0, 0.3))
        face.kill()
        face.wait()


def _kill_launcher(workspace: Workspace, repository: Path, _agent: Agent, chance: random.Random) -> None:
    """A creation whose launcher is killed on the way: unfinished agents fail, finished ones stay."""
    name = f"doomed-{chance.randrange(1 << 40):x}"
    face = _start(repository, ["create", name, "-a", str(workspace.programs / "waiter")])
    launchers: list[int] = []
    deadline = time.monotonic() + 5
    while not launchers and face.poll() is None and time.monotonic() < deadline:
        launchers = [
            one.pid for one in processes.descendants(processes.snapshot(), face.pid) if _launches(one.pid)
        ]
    time.sleep(chance.uniform(0.0, 0.3))
    for pid in launchers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    face.wait()


def _kill_screen_server(_ground: Workspace, _repository: Path, agent: Agent, _chance: random.Random) -> None:
    old = screen_server(agent)
    os.kill(old, signal.SIGKILL)
    wait_until(lambda: screen_server(agent) not in (0, old), "a new screen server")


def _start(repository: Path, arguments: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("fleet")), *arguments],
        cwd=repository,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _launches(pid: int) -> bool:
    try:
        return b"fleet_tui.lifecycle.launcher" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _is_well(fleet: Fleet, agent: Agent) -> bool:
    """Whether the agent runs, its record says so, and its holder answers."""
    now = fleet.find(agent.id)
    if now.has_ended or now.pid != agent.pid or not is_held(paths.lock(agent.id)):
        return False
    program = processes.look_up(agent.pid or 0)
    with open_session(agent, rate=0) as session:
        session.ask("ping")
    return program is not None and program.is_alive
