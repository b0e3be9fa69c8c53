"""The dashboard as a person has it: the installed program in a real terminal, driven by keys alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from tests.lifecycle.trusted_projects import write_trusted

PROGRAM = Path(sys.executable).parent / "fleet-tui"

pytestmark = pytest.mark.skipif(
    shutil.which("tmux") is None or not PROGRAM.exists(), reason="needs tmux and the installed program"
)


class Terminal:
    """One tmux session with the dashboard in it."""

    def __init__(self, folder: Path, project: Path, name: str = "tmux") -> None:
        self._socket = folder / name
        command = f"cd {project} && {PROGRAM}; echo left with $?; exec cat"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", command)

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments], capture_output=True, text=True, check=False
        )
        return done.stdout

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def text(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def wait_for(self, text: str, *, gone: bool = False, seconds: float = 20.0) -> str:
        deadline = time.monotonic() + seconds
        while (text in self.screen()) is gone:
            assert time.monotonic() < deadline, (
                f"{text!r} {'stays' if gone else 'does not come'}:\n{self.screen()}"
            )
            time.sleep(0.03)
        return self.screen()

    def dashboard_pid(self) -> int:
        shell = int(self.tmux("list-panes", "-F", "#{pane_pid}").split()[0])
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])


@pytest.fixture
def go_on(tmp_path: Path) -> Path:
    """A file that agents wait for in their setup: until then their progress can be seen."""
    return tmp_path / "go-on"


@pytest.fixture
def terminal(repository: Path, go_on: Path) -> Iterator[Terminal]:
    write_trusted(
        repository,
        f'[agent]\ndefault = "shell"\n[setup]\ncommands = ["until test -e {go_on}; do sleep 0.02; done"]\n',
    )
    opened = Terminal(Path(os.environ["XDG_RUNTIME_DIR"]), repository)
    yield opened
    opened.tmux("kill-server")


def test_a_first_session_with_a_fan_out_typing_and_a_kill(
    fleet: Fleet, terminal: Terminal, go_on: Path
) -> None:
    terminal.wait_for("many agents, one screen")
    terminal.wait_for("Fan-out")
    terminal.keys("f")
    terminal.wait_for("Will be started")
    terminal.text("while read line; do echo heard $line; done")
    terminal.wait_for("while-read-line-C")
    terminal.keys("C-s")
    terminal.wait_for("agents keep starting")
    terminal.wait_for("while-read-line-C  shell")
    go_on.touch()
    terminal.keys("Escape")
    terminal.wait_for("agents keep starting", gone=True)
    terminal.wait_for("▾ while-read-line  3")
    terminal.keys("Enter")
    terminal.wait_for("TYPING → while-read-line-A")
    terminal.text("q x")
    terminal.keys("Enter")
    terminal.wait_for("heard q x")
    terminal.keys("C-q")
    terminal.wait_for(" LIST ")
    terminal.keys("X")
    terminal.wait_for("X again")
    terminal.keys("X")
    terminal.wait_for("2 agents")
    terminal.keys("q")
    assert "left with 0" in terminal.wait_for("left with")
    living = sorted(agent.name for agent in fleet.agents() if not agent.has_ended)
    assert living == ["while-read-line-B", "while-read-line-C"]


@pytest.mark.slow
def test_a_dashboard_killed_during_a_fan_out_leaves_whole_agents_and_the_next_one_shows_them(
    fleet: Fleet, terminal: Terminal, go_on: Path
) -> None:
    terminal.wait_for("Fan-out")
    terminal.keys("f")
    terminal.wait_for("Will be started")
    terminal.text("sleep 1000")
    terminal.wait_for("sleep-1000-C")
    terminal.keys("C-s")
    terminal.wait_for("sleep-1000-A  shell")
    os.kill(terminal.dashboard_pid(), signal.SIGKILL)
    terminal.wait_for("left with 137")
    go_on.touch()

    deadline = time.monotonic() + 20.0
    while len([agent for agent in fleet.agents() if agent.pid and not agent.has_ended]) < 3:
        assert time.monotonic() < deadline, [
            (agent.name, agent.status, agent.status_detail) for agent in fleet.agents()
        ]
        time.sleep(0.05)
    assert all((Path(agent.worktree) / "readme.txt").exists() for agent in fleet.agents())

    # A server of its own: one that is just ending takes newcomers along.
    again = Terminal(Path(os.environ["XDG_RUNTIME_DIR"]), Path(fleet.find("sleep-1000-A").project), "again")
    try:
        again.wait_for("3 agents")
        again.keys("q")
        again.wait_for("3 agents keep running")
    finally:
        again.tmux("kill-server")
