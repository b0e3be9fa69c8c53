"""Run the command line in tests, in this process or as the installed script, and list what it leaves behind.

Import the fixtures that a module uses: `from commands import cli, project`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from fleet_tui import cli as command_line
from fleet_tui import paths
from fleet_tui.cli.group import cli as group
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.store.database import Store
from tests.conftest import QUIET_CONFIG
from tests.holder.holders import wait_until
from tests.lifecycle.trusted_projects import write_trusted

FLEET = Path(sys.executable).with_name("fleet")
SECONDS = 10.0

ECHOER = """#!/bin/sh
# Prints its arguments one per line, then every line it is given.
for argument; do printf 'argument: %s\\n' "$argument"; done
echo ready
while read -r line; do printf 'got: %s\\n' "$line"; done
"""


def all_commands() -> dict[str, click.Command]:
    """Every command of `fleet` by its name; its module is imported."""
    context = click.Context(group)
    return {
        name: command
        for name in group.list_commands(context)
        if (command := group.get_command(context, name))
    }


@dataclass(frozen=True, slots=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """Its standard error, which must be one line."""
        lines = self.err.splitlines()
        assert len(lines) == 1, f"not one line: {self.err!r}"
        return lines[0]


class Cli:
    """`cli("list", "--json")` runs a command in this process; `cli.script(...)` the installed program."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        code = command_line.run(list(arguments))
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def ok(self, *arguments: str) -> str:
        ran = self(*arguments)
        assert ran.code == 0, ran
        return ran.out

    def script(
        self, *arguments: str, cwd: Path | None = None, stdin: str = "", env: dict[str, str] | None = None
    ) -> Ran:
        done = subprocess.run(
            [FLEET, *arguments],
            cwd=cwd or Path.cwd(),
            input=stdin,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def listed(self, *options: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.ok("list", "--json", *options))
        return found


@pytest.fixture
def project(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository as current folder, with the program `echoer` as default agent."""
    lay_out(tmp_path / "bin", monkeypatch)
    monkeypatch.chdir(repository)
    return repository


def lay_out(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an `echoer` into a folder on PATH, and make it the user's default agent."""
    programs.mkdir()
    (programs / "echoer").write_text(ECHOER)
    (programs / "echoer").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.delenv("NO_COLOR", raising=False)
    settings = '[defaults]\nagent = "echoer"\n[fleet]\nstop_grace = 0.5\n'
    paths.user_config().write_text(settings + QUIET_CONFIG)


@pytest.fixture
def cli(project: Path, fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(project, capsys)


def configure(project: Path, text: str) -> None:
    """Write the project's configuration, trusted."""
    write_trusted(project, text)


def eventually(condition: Callable[[], object], what: str = "it") -> None:
    wait_until(lambda: bool(condition()), what, seconds=SECONDS)


def prints(fleet: Fleet, agent: Agent, text: str) -> None:
    """Wait until an agent's screen or log has a text."""
    eventually(lambda: text in "\n".join(fleet.logs(agent, 200)), f"{agent.name} printing {text!r}")


def traces(project: Path) -> dict[str, object]:
    """Everything that creating an agent leaves behind."""
    store = Store(paths.store())
    try:
        rows = [(agent.name, agent.status) for agent in store.agents.all()]
    finally:
        store.close()
    agents = paths.state() / "agents"
    worktrees = Path.home() / ".local/share/fleet-tui"
    return {
        "branches": _git(project, "for-each-ref", "--format=%(refname) %(objectname)"),
        "worktrees": _git(project, "worktree", "list", "--porcelain"),
        "rows": rows,
        "agent folders": sorted(entry.name for entry in agents.iterdir()) if agents.is_dir() else [],
        "worktree folders": sorted(str(entry) for entry in worktrees.glob("worktrees/*/*")),
        "sockets": sorted(entry.name for entry in paths.sockets().iterdir()),
        "changes": _git(project, "status", "--porcelain", "--ignored"),
    }


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True)
    return done.stdout
