"""Scripted agents as a fleet starts them: executable files that take the prompt as their last argument."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

from tests.places import AGENTS

FLEET = [sys.executable, "-c", "from fleet_tui.cli import main; main()"]
"""Runs the command line as a separate process."""


def agent(name: str, *arguments: object) -> list[str]:
    """The command that runs one of tests/agents; they need no installed package."""
    return [sys.executable, "-S", str(AGENTS / f"{name}.py"), *map(str, arguments)]


def program(folder: Path, name: str, *arguments: object) -> str:
    """An executable file that runs one of tests/agents with these arguments."""
    file = folder / f"run-{name}"
    file.write_text(f'#!/bin/sh\nexec {shlex.join(agent(name, *arguments))} "$@"\n')
    file.chmod(0o755)
    return str(file)


def start_cli(folder: Path, *arguments: str, nice: int = 0) -> subprocess.Popen[str]:
    """Start `fleet …` in a folder."""
    return subprocess.Popen(
        ["nice", "-n", str(nice), *FLEET, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def is_alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
