"""How long it takes to compare a worktree with thousands of changes, beside git doing the same without untracked files."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fleet_tui.tui.review.file_rows import in_order
from tests.bench.dashboard import COLS, PROGRAM, ROWS, Host
from tests.bench.figures import Row, compared, interleaved
from tests.bench.workspace import SECONDS, Workspace, timed
from tests.tui.ptyapp import PtyApp

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
        opened = _opened(repository, worktree / in_order(first)[0].path, rounds)
    other = "git diff --raw"
    yield compared(f"diff of {CHANGED} files: names", names, other, by_git, unit="ms", at_most=2.5)
    yield compared("the same with counts, one file changed", after, other, by_git, unit="ms", at_most=3.5)
    yield compared("hunks of one of its files", lines, other, by_git, unit="ms", at_most=0.3)
    what = f"opening a {CHANGED}-file diff, key to first lines"
    yield compared(what, opened, other, by_git, unit="ms", at_most=3.5)


def _opened(repository: Path, file: Path, rounds: int) -> list[float]:
    """Milliseconds from the key to the lines of the first file in the dashboard."""
    took = []
    with PtyApp([], program=PROGRAM, cols=COLS, rows=ROWS, cwd=repository) as app:
        app.wait_for_text("1 agent", seconds=SECONDS)
        host = Host(app)
        for number in range(rounds + 1):
            # A word that is nowhere else on the screen: it is seen when the file is.
            wanted = f"first{number:03}line"
            file.write_text(f"{wanted}\n")
            host.rest(2.0)
            took.append(_until(host, b"d", wanted.encode()))
            app.send(b"\x1b")
    # The first time, the changed files are hashed.
    return took[1:]


def _until(host: Host, key: bytes, wanted: bytes) -> float:
    found = bytearray()
    began = time.perf_counter()
    host.app.send(key)
    while wanted not in found:
        if time.perf_counter() - began > SECONDS:
            raise RuntimeError("the diff was never painted")
        found += host.read(1.0)
    return (time.perf_counter() - began) * 1000


def _milliseconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return (time.monotonic() - began) * 1000
