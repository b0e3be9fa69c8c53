"""How long a kill takes, beside git deleting the same worktrees."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Row, compared, interleaved
from tests.bench.ground import Ground, timed

COUNT = 10


def measure(ground: Ground, *, quick: bool) -> Iterator[Row]:
    repository = ground.large()
    kills, removes = interleaved(
        1 if quick else 5, lambda: _kill(ground, repository), lambda: _remove(ground, repository)
    )
    yield compared(f"fleet kill of {COUNT}", kills, f"{COUNT} git worktree remove", removes, at_most=0.3)


def _kill(ground: Ground, repository: Path) -> float:
    with ground.agents(repository, COUNT, "waiter"):
        seconds, _ = ground.fleet(repository, "kill", "waiter-*", "-f")
    return seconds


def _remove(ground: Ground, repository: Path) -> float:
    places = [str(ground.folder / "bare" / f"end{number}") for number in range(COUNT)]
    for number, place in enumerate(places):
        command = ["git", "worktree", "add", "--quiet", "--no-track", "-b", f"end-{number}", place]
        subprocess.run(command, cwd=repository, check=True)
    seconds = sum(timed(["git", "worktree", "remove", place], repository)[0] for place in places)
    ground.forget_worktrees(repository)
    return seconds
