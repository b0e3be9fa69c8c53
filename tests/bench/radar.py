"""The conflict radar on fifty worktrees of a large repository: after one file has changed, and from nothing.

The reference is one `git status` in one of the worktrees: what it costs to look for changed files at all.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.bench.figures import Row, alone
from tests.bench.workspace import Workspace, git, timed

AGENTS = 50
FILES_EACH = 6
SHARED = "package1/part1/shared.py"


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    repository = workspace.large()
    with workspace.agents(repository, AGENTS, "waiter") as (fleet, agents):
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(_work, enumerate(agents)))
        before = _size(repository)
        cold = [_cold(repository, agents) for _ in range(1 if quick else 3)]
        report = fleet.conflicts.check(agents)
        if report.unread or report.problem:
            raise RuntimeError(f"not all could be compared: {report.problem or report.unread}")
        rounds = range(5 if quick else 21)
        overlaps = [_after_a_change(fleet, agents, number, merges=False) for number in rounds]
        merges = [_after_a_change(fleet, agents, number, merges=True) for number in rounds]
        status = [timed(["git", "status", "--porcelain"], Path(agents[0].worktree))[0] * 1000 for _ in rounds]
        grown = _size(repository) - before
    note = f"{len(report.conflicts)} conflicts, {len(report.overlaps)} overlaps"
    against = "git status"
    yield alone(
        f"path overlap after a change, {AGENTS} agents",
        overlaps,
        "ms",
        at_most=50,
        against=against,
        reference=status,
    )
    yield alone("merges of one with all others", merges, "ms", at_most=250, against=against, reference=status)
    yield alone(f"all pairs of {AGENTS} from nothing", cold, "s", at_most=3, note=note)
    yield alone("growth of the repository", [grown], "bytes", at_most=0)


def _work(numbered: tuple[int, Agent]) -> None:
    """Each agent has committed a few files, some of which others have changed too, and has begun another."""
    number, agent = numbered
    folder = Path(agent.worktree)
    files = sorted((folder / f"package{number % 31}").rglob("*.py"))[:FILES_EACH]
    for place, file in enumerate(files):
        lines = file.read_text().split("\n")
        lines[min(place * 3, len(lines) - 1)] += f"  # {number // 31}"
        file.write_text("\n".join(lines))
    git(folder, "commit", "--quiet", "--all", "-m", "work")
    _change(agent, number)


def _change(agent: Agent, value: object) -> None:
    file = Path(agent.worktree) / SHARED.replace("shared", f"new{agent.name}")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"value = {value}\n")


def _after_a_change(fleet: Fleet, agents: list[Agent], number: int, *, merges: bool) -> float:
    """Milliseconds from a change to the answer, in a process that has looked before."""
    agent = agents[number % len(agents)]
    _change(agent, time.time())
    begin = time.perf_counter()
    if merges:
        fleet.conflicts.check([agent])
    else:
        fleet.conflicts.overlaps([agent])
    return (time.perf_counter() - begin) * 1000


def _cold(repository: Path, agents: list[Agent]) -> float:
    """Seconds for a first check without anything in the cache."""
    shutil.rmtree(paths.cache(), ignore_errors=True)
    fleet = Fleet(repository)
    begin = time.perf_counter()
    fleet.conflicts.check(agents)
    seconds = time.perf_counter() - begin
    fleet.close()
    return seconds


def _size(repository: Path) -> int:
    return sum(one.lstat().st_size for one in (repository / ".git" / "objects").rglob("*") if one.is_file())
