"""The installed dashboard in a real terminal, on real agents that record every byte they are sent.

It has its own home folder, so that the tests of a module can share it. Use::

    with open_dashboard(folder, {"plain": (), "modern": (">1u",)}) as dashboard:
        assert dashboard.typed("plain", b"\\x02") == b"\\x02"
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests import scripted
from tests.conftest import GIT_IDENTITY, end_all, git
from tests.tui.ptyapp import PtyApp
from tests.watched_fleet import WatchedFleet

PROGRAM = Path(sys.executable).with_name("fleet-tui")
LEAVE, LEAVE_TOO, LEADER = b"\x11", b"\x1b[24~", b"\x1d"


@dataclass(frozen=True, slots=True)
class InstalledDashboard:
    app: PtyApp
    agents: Mapping[str, Agent]
    folder: Path

    def received(self, name: str) -> bytes:
        record = self.folder / f"{name}.received"
        return record.read_bytes() if record.exists() else b""

    def to_list(self) -> None:
        if " LIST " not in self.app.text:
            self.app.send(LEAVE_TOO)
            self.app.wait_for_text(" LIST ")

    def select(self, name: str) -> None:
        """Move the cursor to the first agent, then down to this one."""
        self.to_list()
        place = sorted(self.agents).index(name)
        self.app.send(b"g" + b"j" * place)

    def type_to(self, name: str) -> None:
        self.select(name)
        self.app.send(b"\r")
        self.wait_until_typing(name)

    def wait_until_typing(self, name: str) -> None:
        self.app.wait_for_text(f"TYPING → {name}")

    def typed(self, name: str, data: bytes) -> bytes:
        """The bytes that an agent receives when these are sent to the host terminal; typing mode must go on."""
        self.type_to(name)
        before = len(self.received(name))
        self.app.send(data)
        self.app.send(b"~")
        self.app.wait_for(lambda: self.received(name)[before:].endswith(b"~"), f"{data!r} at the agent")
        assert f"TYPING → {name}" in self.app.text
        return self.received(name)[before:-1]


@contextlib.contextmanager
def open_dashboard(
    folder: Path, agents: Mapping[str, Sequence[str]], *, env: Mapping[str, str] | None = None
) -> Iterator[InstalledDashboard]:
    """Open a dashboard on these agents, each with the terminal modes that it sets; `env` is the dashboard's."""
    short = tempfile.mkdtemp(prefix="ft-")
    own = {
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": short,
        "XDG_CACHE_HOME": f"{tempfile.gettempdir()}/fleet-tui-test-cache-{os.getuid()}",
        **GIT_IDENTITY,
    }
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, short, ignore_errors=True)
        for name in list(os.environ):
            if name.startswith(("FLEET_", "XDG_", "GIT_", "TMUX", "ZELLIJ")):
                patch.delenv(name)
        for name, value in own.items():
            patch.setenv(name, value)
        fleet = stack.enter_context(contextlib.closing(WatchedFleet(_repository(folder))))
        stack.callback(end_all, fleet)
        made = {name: _create(fleet, folder, name, modes) for name, modes in sorted(agents.items())}
        app = stack.enter_context(
            PtyApp([], program=PROGRAM, is_warm=True, cols=120, rows=40, cwd=folder / "project", env=env)
        )
        app.wait_for_text(" LIST ")
        app.wait_for(lambda: app.text.count("ready") >= min(2, len(made)), "the panes of the agents")
        yield InstalledDashboard(app, made, folder)


def _repository(folder: Path) -> Path:
    (folder / "home").mkdir()
    project = folder / "project"
    project.mkdir()
    git(project, "init", "-q", "-b", "main")
    (project / "readme.txt").write_text("hello\n")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    return project


def _create(fleet: Fleet, folder: Path, name: str, modes: Sequence[str]) -> Agent:
    command = scripted.agent("record", str(folder / f"{name}.received"), *modes)
    return fleet.create(name, profile="shell", prompt=f"exec {shlex.join(command)}")
