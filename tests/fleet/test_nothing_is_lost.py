"""Whatever is done in whatever order: every file that was in a worktree when it was removed can still be found.

It is in the trash, in an archive beside it, in a worktree, or in a commit of a branch or of a hidden ref.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.git.entries import remove_tree
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.fleet.test_landing import leftovers, on_main, take
from tests.fleet.test_landing_interrupted import AFTER, BEFORE
from tests.git.repositories import call, commit

__all__ = ["fleet", "module_pool", "on_main", "pool", "project"]

NAMES = ("a.txt", "src/b.py", "new/one", "two", "three.secret", "build/four", "shared.txt")
MOST_AGENTS = 3
SECTION = "line\n" * 6


class Story:
    """A random sequence of what users, agents and fleet-tui do, and every file that it has put at risk."""

    def __init__(self, fleet: Fleet, pool: AgentPool, seed: int) -> None:
        self._fleet, self._pool = fleet, pool
        self._chance = random.Random(seed)
        self._agents: list[Agent] = []
        self._count = 0
        self.at_risk: dict[str, str] = {}
        """By git's id of the content, where it was and when."""
        self.told: list[str] = []
        self._noted: dict[Path, tuple[str, str]] = {}

    def go(self, steps: int) -> None:
        verbs: dict[Callable[[], None], int] = {
            self._edit: 9, self._delete: 2, self._stage: 2, self._commit: 5, self._edit_main: 2, self._land: 4,
            self._land_killed: 3, self._kill: 2, self._undo: 4, self._restore: 2, self._empty: 1, self._remove_by_hand: 1,
        }  # fmt: skip
        for _ in range(steps):
            self._refill()
            verb = self._chance.choices(list(verbs), list(verbs.values()))[0]
            self.told.append(verb.__name__.strip("_"))
            try:
                verb()
            except FleetError as error:
                self.told[-1] += f": {error.message}"
            self._settle_risks()

    # ── what is done ──

    def _refill(self) -> None:
        rows = {agent.id: agent for agent in self._fleet.agents()}
        self._agents = [rows[one.id] for one in self._agents if rows[one.id].status is not Status.KILLED]
        while len(self._agents) < MOST_AGENTS:
            self._agents.append(take(self._pool))
            for name in self._chance.sample(NAMES, 3):
                self._write(Path(self._agents[-1].worktree), name)

    def _one(self) -> tuple[Agent, Path]:
        agent = self._chance.choice(self._agents)
        place = Path(agent.worktree)
        if not place.is_dir():
            raise FleetError(f"{agent.name} has no folder", hint="the story goes on")
        return agent, place

    def _text(self) -> str:
        self._count += 1
        return f"{self._count} {self._chance.random()}\n" + SECTION * self._chance.randrange(3)

    def _edit(self) -> None:
        self._write(self._one()[1], self._chance.choice(NAMES))

    def _write(self, place: Path, name: str) -> None:
        file = place / name
        if file.parent.is_file() or file.is_dir():
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self._text())

    def _delete(self) -> None:
        _, place = self._one()
        (place / self._chance.choice(NAMES)).unlink(missing_ok=True)

    def _stage(self) -> None:
        _, place = self._one()
        call(place, "add", "--all")

    def _commit(self) -> None:
        _, place = self._one()
        commit(place, {})

    def _edit_main(self) -> None:
        if self._chance.random() < 0.6:
            commit(self._pool.project, {self._chance.choice(NAMES): self._text()})
        else:
            (self._pool.project / "two").write_text(self._text())

    def _land(self) -> None:
        some = self._chance.sample(self._agents, self._chance.choice((1, 1, 2)))
        self._risk(*some)
        strategy = self._chance.choice(("merge", "squash", "rebase"))
        report = self._fleet.landing.land([self._fleet.current(agent) for agent in some], strategy=strategy)
        self.told[-1] += f" {strategy}: {len(report.landings)}, {report.stopped and report.stopped.message}"

    def _land_killed(self) -> None:
        agent, _ = self._one()
        self._risk(agent)
        step = self._chance.choice((*BEFORE, *AFTER))
        program = [
            sys.executable,
            "-m",
            "tests.fleet.landing_program",
            str(self._pool.project),
            agent.name,
            step,
        ]
        subprocess.run(program, start_new_session=True, capture_output=True, check=False)
        self._fleet.refresh()
        self.told[-1] += f" at {step}"

    def _kill(self) -> None:
        agent = self._chance.choice(self._agents)
        self._risk(agent)
        self._fleet.kill([agent], delete_branch=self._chance.random() < 0.5)

    def _undo(self) -> None:
        self._risk(*self._agents)
        self._fleet.undo()

    def _restore(self) -> None:
        agent, _ = self._one()
        self._fleet.checkpoints.make(agent, "before")
        self._edit()
        self._risk(agent)
        numbers = [one.number for one in self._fleet.checkpoints.all(agent)]
        self._fleet.checkpoints.restore(agent, self._chance.choice([0, *numbers]), force=True)

    def _empty(self) -> None:
        for agent, _ in self._fleet.trash.empty(self._fleet.trash.agents()):
            self.told[-1] += f" {agent.name}"

    def _remove_by_hand(self) -> None:
        """The user's own removal, of files that are then at no risk of ours."""
        if self._chance.random() < 0.3:
            agent, place = self._one()
            self._fleet.stop([agent])
            remove_tree(place)

    # ── what must be found ──

    def _risk(self, *agents: Agent) -> None:
        """Note every file of these worktrees, ignored ones included, before something that may remove them."""
        for agent in agents:
            for path in files_below(Path(agent.worktree)):
                self._noted[path] = (
                    blob_id(path.read_bytes()),
                    f"{agent.name}/{path.name} before {len(self.told)}",
                )

    def _settle_risks(self) -> None:
        """Of what was noted, that which is gone from its place was removed; the rest may be changed by its agent."""
        for path, (content, where) in self._noted.items():
            if not path.is_file() or blob_id(path.read_bytes()) != content:
                self.at_risk.setdefault(content, where)
        self._noted.clear()

    def lost(self) -> dict[str, str]:
        found = set(call(self._pool.project, "rev-list", "--objects", "--all", "--no-object-names").split())
        for agent in self._fleet.agents():
            root = Path(agent.worktree).parent
            if root.is_dir():
                found |= {blob_id(path.read_bytes()) for path in files_below(root)}
                for archive in paths.trash(root).glob("*.tar"):
                    found |= set(archived(archive))
                break
        return {one: where for one, where in self.at_risk.items() if one not in found}


def files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name != ".git":
            yield path


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()


def archived(archive: Path) -> Iterator[str]:
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None:
                yield blob_id(file.read())


@pytest.mark.parametrize(
    ("seed", "steps"),
    [
        *((seed, 14) for seed in range(2)),
        *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(100, 130)),
    ],
)
def test_nothing_is_lost(fleet: Fleet, pool: AgentPool, project: Path, seed: int, steps: int) -> None:
    story = Story(fleet, pool, seed)

    story.go(steps)

    lost = story.lost()
    told = [f"{number} {line}" for number, line in enumerate(story.told, 1)]
    assert not lost, "\n".join([*told, *lost.values()])
    assert len(story.at_risk) > 3
    fleet.landing.settle()
    assert leftovers(project) == [], "\n".join(story.told)
    call(project, "fsck", "--no-dangling")
