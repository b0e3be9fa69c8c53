"""How long it takes until agents run, beside git checking out the same worktrees."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import paths
from fleet_tui.lifecycle import spares
from fleet_tui.store.database import Store
from tests.bench.figures import Row, compared, interleaved
from tests.bench.workspace import Workspace, git, timed, wait_until

BATCH = 5
LOOKS_AFTER = "waits 60 ms for a program that ends at once"


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    yield from _fanout(workspace, 2 if quick else 7)
    yield from _create(workspace, 4 if quick else 11)
    yield from _create_with_spare(workspace, 4 if quick else 11)


def _fanout(workspace: Workspace, rounds: int) -> Iterator[Row]:
    repository = workspace.large()
    returned: list[float] = []

    def ours() -> float:
        running, whole = start_agents(workspace, repository, "fanout", str(BATCH), "fan", count=BATCH)
        returned.append(whole)
        return running

    running, serial, at_once = interleaved(
        rounds,
        ours,
        lambda: (
            sum(_bare_add(workspace, repository, number) for number in range(BATCH))
            + _forget(workspace, repository)
        ),
        lambda: _all_at_once(workspace, repository),
    )
    name = f"fleet fanout {BATCH}"
    yield compared(f"{name}: all running", running, "5 git worktree add", serial, at_most=0.75)
    yield compared(f"{name}: command ended", returned, "5 git worktree add", serial, note=LOOKS_AFTER)
    yield compared("five bare adds at once", at_once, "5 git worktree add", serial)


def _create(workspace: Workspace, rounds: int) -> Iterator[Row]:
    repository = workspace.large()
    returned: list[float] = []

    def ours() -> float:
        running, whole = start_agents(workspace, repository, "create", "one", count=1)
        returned.append(whole)
        return running

    def bare() -> float:
        return _bare_add(workspace, repository, 0) + _forget(workspace, repository)

    running, adds = interleaved(rounds, ours, bare)
    yield compared("fleet create: running", running, "git worktree add", adds, at_most=1.35)
    yield compared("fleet create: command ended", returned, "git worktree add", adds, note=LOOKS_AFTER)


def _create_with_spare(workspace: Workspace, rounds: int) -> Iterator[Row]:
    repository = workspace.large("spared")
    workspace.keep_spares(1)
    _timed_start(workspace, repository, "create", "first", count=1)
    numbers = iter(range(rounds))

    def ours() -> float:
        wait_until(lambda: _has_spare(repository), "a spare worktree")
        return _timed_start(workspace, repository, "create", f"spared-{next(numbers)}", count=1)[0]

    def bare() -> float:
        wait_until(lambda: _has_spare(repository), "a spare worktree")
        seconds = _bare_add(workspace, repository, 0)
        shutil.rmtree(workspace.folder / "bare")
        git(repository, "worktree", "prune")
        git(repository, "branch", "--quiet", "-D", "bare-0")
        return seconds

    running, adds = interleaved(rounds, ours, bare)
    yield compared("fleet create with a spare: running", running, "git worktree add", adds, at_most=0.35)
    wait_until(lambda: _has_spare(repository), "the end of the launcher")
    workspace.keep_spares(0)
    workspace.clear(repository)


def _has_spare(repository: Path) -> bool:
    """Whether a spare is ready and no launcher is at work any more."""
    store = Store(paths.store())
    with spares.alone() as is_alone:
        found = [Path(one.path).is_dir() for one in store.spares.ready(str(repository))]
    store.close()
    return is_alone and found == [True]


def start_agents(workspace: Workspace, repository: Path, *command: str, count: int) -> tuple[float, float]:
    """Seconds until the last program ran, and until the command ended; removes the agents afterwards."""
    seconds = _timed_start(workspace, repository, *command, count=count)
    workspace.clear(repository)
    return seconds


def _timed_start(workspace: Workspace, repository: Path, *command: str, count: int) -> tuple[float, float]:
    workspace.start_times()
    begin = time.time()
    prompt = () if command[0] == "create" else ("-p", "x")
    whole, _ = workspace.fleet(repository, *command, "-a", str(workspace.programs / "waiter"), *prompt)
    starts: list[float] = []

    def are_running() -> bool:
        starts.extend(workspace.start_times())
        return len(starts) >= count

    wait_until(are_running, f"the start of {count} programs")
    return max(starts) - begin, whole


def _bare_add(workspace: Workspace, repository: Path, number: int) -> float:
    return timed(_add_command(workspace, number), repository)[0]


def _all_at_once(workspace: Workspace, repository: Path) -> float:
    begin = time.perf_counter()
    running = [
        subprocess.Popen(_add_command(workspace, number), cwd=repository, stderr=subprocess.DEVNULL)
        for number in range(BATCH)
    ]
    if any(process.wait() for process in running):
        raise RuntimeError("git could not make five worktrees at once")
    return time.perf_counter() - begin + _forget(workspace, repository)


def _add_command(workspace: Workspace, number: int) -> list[str]:
    place = workspace.folder / "bare" / str(number)
    return ["git", "worktree", "add", "--quiet", "--no-track", "-b", f"bare-{number}", str(place)]


def _forget(workspace: Workspace, repository: Path) -> float:
    """Not part of the measured time."""
    shutil.rmtree(workspace.folder / "bare")
    workspace.forget_worktrees(repository)
    return 0.0
