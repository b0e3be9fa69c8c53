"""Agents that one launcher has started together, for tests that take one each: starting takes longer than they do.

The tests of a module that ask for a `crew` share its home, project and fleet, as far as one process runs them, so
each speaks of its own agents only. Import the fixtures: `from tests.crews import Crew, crew, ground`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.commands import lay_out
from tests.conftest import end_all, nothing_left, settle_in

SIZE = 6
"""How many are started together."""


@dataclass(slots=True)
class Crew:
    home: Path
    project: Path
    runtime: Path
    fleet: Fleet
    _waiting: dict[tuple[str, str], list[Agent]] = field(default_factory=dict)
    _count: int = 0

    def take(
        self,
        profile: str = "",
        prompt: str = "x",
        *,
        together: int = SIZE,
        beside: Sequence[str] = (),
        headless: bool = False,
    ) -> Agent:
        """One that has been started with this prompt and that nobody else has.

        When there is none, so many are started, or one for each of the prompts `beside` it.
        """
        if not self._waiting.get((profile, prompt)):
            tasks = [(self.name(), one) for one in beside or [prompt] * together]
            for agent in self.fleet.multi(tasks, profile=profile, headless=headless):
                self._waiting.setdefault((profile, agent.prompt), []).append(agent)
        return self.fleet.store.agent(self._waiting[profile, prompt].pop(0).id)

    def name(self) -> str:
        """One that no agent has yet."""
        self._count += 1
        return f"crew{self._count}"


@pytest.fixture(scope="module")
def ground(first_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """What lasts as long as the module's tests."""
    folder = tmp_path_factory.mktemp("crew")
    home, project = folder / "user", folder / "project"
    runtime = Path(tempfile.mkdtemp(prefix="ft-"))
    shutil.copytree(first_repository, project)
    with pytest.MonkeyPatch.context() as patch, nothing_left(home, runtime):
        settle_in(home, runtime, patch)
        lay_out(folder / "bin", patch)
        made = Crew(home, project, runtime, Fleet(project))
        yield made
        settle_in(home, runtime, patch)
        end_all(made.fleet)
        made.fleet.close()


@pytest.fixture
def crew(ground: Crew, home: Path, monkeypatch: pytest.MonkeyPatch) -> Crew:
    """Agents to take, at their own home, which is this test's as well."""
    settle_in(ground.home, ground.runtime, monkeypatch)
    monkeypatch.chdir(ground.project)
    return ground
