"""The same verbs in ai-fleet 0.1.3 for comparison, with its own environment and tmux server."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Row, compared
from tests.bench.workspace import Workspace, timed
from tests.places import REPOSITORY

PACKAGES = ("ai-fleet==0.1.3", "libtmux==0.46.*")
PLACE = REPOSITORY / "build" / "bench" / "ai-fleet"
"""Kept between runs, removed by `make clean`."""
COUNT = 5


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    rounds = 1 if quick else 3
    program = _installed()
    theirs = workspace.large("theirs")
    ours = workspace.large()
    folder = theirs / ".aifleet"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        f'[project]\nname = "theirs"\nworktree_root = "{workspace.folder}/aifleet"\n'
        '[agent]\ndefault = "waiter"\nclaude_flags = ""\n'
    )
    with _own_tmux(workspace):
        for what, mine, other in _verbs(workspace, ours, theirs, program, rounds):
            yield compared(what, mine, "ai-fleet", other)


def _verbs(
    workspace: Workspace, ours: Path, theirs: Path, program: str, rounds: int
) -> Iterator[tuple[str, list[float], list[float]]]:
    def call(*arguments: str) -> float:
        return timed([program, *arguments], theirs)[0]

    def mine(*arguments: str) -> float:
        return workspace.fleet(ours, *arguments)[0]

    waiter = str(workspace.programs / "waiter")
    results: dict[str, tuple[list[float], list[float]]] = {}
    for _ in range(rounds):
        steps = {
            "create": (("create", "one", "-a", waiter), ("create", "one", "-a", "waiter")),
            f"fanout {COUNT}": (
                ("fanout", str(COUNT), "fan", "-p", "x", "-a", waiter),
                ("fanout", str(COUNT), "fan", "-p", "x", "-a", "waiter"),
            ),
            f"list, {COUNT + 1} agents": (("list",), ("list",)),
            f"kill of {COUNT}": (("kill", "fan-*", "-f"), ("kill", "fan-*", "-f", "-d")),
        }
        for what, (own, other) in steps.items():
            mines, others = results.setdefault(what, ([], []))
            mines.append(mine(*own))
            others.append(call(*other))
        call("kill", "one", "-f", "-d")
        workspace.clear(ours)
    for what, pair in results.items():
        yield f"fleet {what}", *pair


def _installed() -> str:
    """The program, installed if necessary."""
    if shutil.which("tmux") is None:
        raise RuntimeError("ai-fleet needs tmux, which is not installed")
    program = PLACE / "bin" / "fleet"
    if not program.exists():
        try:
            timed([sys.executable, "-m", "venv", str(PLACE)], Path("/"))
            timed([str(PLACE / "bin" / "pip"), "install", "--quiet", *PACKAGES], Path("/"))
        except RuntimeError as error:
            shutil.rmtree(PLACE, ignore_errors=True)
            raise RuntimeError(f"ai-fleet cannot be installed: {str(error).splitlines()[-1]}") from error
    return str(program)


@contextlib.contextmanager
def _own_tmux(workspace: Workspace) -> Iterator[None]:
    """It uses the default tmux server, which this variable locates."""
    os.environ["TMUX_TMPDIR"] = str(workspace.folder)
    try:
        yield
    finally:
        subprocess.run(["tmux", "kill-server"], check=False, capture_output=True)
        del os.environ["TMUX_TMPDIR"]
