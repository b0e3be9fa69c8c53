"""How long a kill takes, beside git deleting the same worktrees."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Row, compared, interleaved
from tests.bench.workspace import Workspace, timed

COUNT = 10


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    repository = workspace.large()
    kills, removes = interleaved(
        1 if quick else 5, lambda: _kill(workspace, repository), lambda: _remove(workspace, repository)
    )
    yield compared(f"fleet kill of {COUNT}", kills, f"{COUNT} git worktree remove", removes, at_most=0.3)


def _kill(workspace: Workspace, repository: Path) -> float:
    with workspace.agents(repository, COUNT, "waiter"):
        seconds, _ = workspace.fleet(repository, "kill", "waiter-*", "-f")
    return seconds


def _remove(workspace: Workspace, repository: Path) -> float:
    places = [str(workspace.folder / "bare" / f"end{number}") for number in range(COUNT)]
    for number, place in enumerate(places):
        command = ["git", "worktree", "add", "--quiet", "--no-track", "-b", f"end-{number}", place]
        subprocess.run(command, cwd=repository, check=True)
    seconds = sum(timed(["git", "worktree", "remove", place], repository)[0] for place in places)
    workspace.forget_worktrees(repository)
    return seconds
