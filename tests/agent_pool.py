"""A pool of running agents, started together by one launcher: starting an agent takes longer than most tests.

The tests of a module that use `pool` share its home, project and fleet within one test process, so each test looks at
its own agents only. Import the fixtures: `from tests.agent_pool import AgentPool, pool, module_pool`.
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
from tests.cli.commands import lay_out
from tests.conftest import end_all, nothing_left, settle_in
from tests.watched_fleet import WatchedFleet

SIZE = 6
"""How many agents are started together."""


@dataclass(slots=True)
class AgentPool:
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
        """An agent that was started with this prompt and that no other test uses.

        If the pool has none, start `together` agents, or one for each of the prompts `beside` this one.
        """
        if not self._waiting.get((profile, prompt)):
            tasks = [(self.name(), one) for one in beside or [prompt] * together]
            for agent in self.fleet.multi(tasks, profile=profile, headless=headless):
                self._waiting.setdefault((profile, agent.prompt), []).append(agent)
        return self.fleet.store.agents.get(self._waiting[profile, prompt].pop(0).id)

    def name(self) -> str:
        """A name that no agent has yet."""
        self._count += 1
        return f"pool{self._count}"


@pytest.fixture(scope="module")
def module_pool(first_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentPool]:
    """The pool of a module: home, project and fleet."""
    folder = tmp_path_factory.mktemp("pool")
    home, project = folder / "user", folder / "project"
    runtime = Path(tempfile.mkdtemp(prefix="ft-"))
    shutil.copytree(first_repository, project)
    with pytest.MonkeyPatch.context() as patch, nothing_left(home, runtime):
        settle_in(home, runtime, patch)
        lay_out(folder / "bin", patch)
        made = AgentPool(home, project, runtime, WatchedFleet(project))
        yield made
        settle_in(home, runtime, patch)
        end_all(made.fleet)
        made.fleet.close()


@pytest.fixture
def pool(module_pool: AgentPool, home: Path, monkeypatch: pytest.MonkeyPatch) -> AgentPool:
    """The module's pool; its home becomes the home of this test."""
    settle_in(module_pool.home, module_pool.runtime, monkeypatch)
    monkeypatch.chdir(module_pool.project)
    return module_pool


@pytest.fixture
def project(pool: AgentPool) -> Path:
    """For tests of commands: the pool's project."""
    return pool.project


@pytest.fixture
def fleet(pool: AgentPool) -> Fleet:
    """For tests of commands: the pool's fleet."""
    return pool.fleet
