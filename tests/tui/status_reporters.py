"""Agents whose status a test decides: each reports what the test has it report."""

from __future__ import annotations

import base64
import shlex
from dataclasses import dataclass
from pathlib import Path

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests import scripted
from tests.holder.holders import wait_until


@dataclass(frozen=True, slots=True)
class Reporter:
    agent: Agent
    file: Path

    def say(self, state: str, *, kind: str = "", text: str = "") -> None:
        said = [f"state={state}"]
        said += [f"kind={kind}"] if kind else []
        said += [f"msg={base64.b64encode(text.encode()).decode()}"] if text else []
        self._write(":".join(said))

    def leave(self, code: int) -> None:
        self._write(f"exit {code}")

    def _write(self, text: str) -> None:
        """In one step: it is being looked at all the time."""
        fresh = self.file.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.file)


def reporters(fleet: Fleet, folder: Path, *names: str, state: str = "working") -> list[Reporter]:
    """One for each name, all of one batch, started together."""
    files = [folder / f"{name}.says" for name in names]
    agents = fleet.multi(
        [(name, _reporting(file)) for name, file in zip(names, files, strict=True)], profile="shell"
    )
    made = [Reporter(agent, file) for agent, file in zip(agents, files, strict=True)]
    for one in made:
        one.say(state)
    for agent in agents:
        wait_until(lambda agent=agent: fleet.find(agent.id).status == state, f"{agent.name} {state}")  # type: ignore[misc]  # a default binds the loop's value
    return made


def _reporting(file: Path) -> str:
    return f"exec {shlex.join(scripted.agent('reports', file))}"
