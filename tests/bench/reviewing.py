"""How long it takes to compare a worktree with thousands of changes, beside git doing the same without untracked files."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.figures import Row, compared, interleaved
from tests.bench.workspace import Workspace, timed

CHANGED = 2000


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    rounds = 5 if quick else 15
    repository = workspace.large()
    with workspace.agents(repository, 1, "waiter") as (fleet, [agent]):
        worktree = Path(agent.worktree)
        files = sorted(path for path in worktree.rglob("*") if path.is_file() and path.name != ".git")
        for path in files[:CHANGED]:
            path.write_text("changed\n" + path.read_text())
        first = fleet.review.diff(agent).files
        one = files[CHANGED]

        def refreshed() -> float:
            one.write_text(f"{time.monotonic_ns()}\n")
            return _milliseconds(lambda: fleet.review.diff(agent))

        def hunks() -> float:
            path = random.choice(first).path
            return _milliseconds(lambda: fleet.review.file_diff(agent, path))

        names, by_git, after, lines = interleaved(
            rounds,
            lambda: _milliseconds(lambda: fleet.review.diff(agent, counts=False)),
            lambda: timed(["git", "diff", "--raw", agent.base], worktree)[0] * 1000,
            refreshed,
            hunks,
        )
    other = "git diff --raw"
    yield compared(f"diff of {CHANGED} files: names", names, other, by_git, unit="ms", at_most=2.5)
    yield compared("the same with counts, one file changed", after, other, by_git, unit="ms", at_most=3.5)
    yield compared("hunks of one of its files", lines, other, by_git, unit="ms", at_most=0.3)


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return (time.monotonic() - began) * 1000
