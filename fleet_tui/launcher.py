"""A face's end of a launcher: called while it is still being planned what to make, told when that is known, listened to.

The launcher itself is the program of launch.py. Little is imported here: a command calls one before anything else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.values import dataclass

_called: list[Launcher] = []


def call() -> None:
    """Something is about to be started: what makes it comes up while that is being read and planned."""
    # Where there is no place to write to, that is said by whatever has to be written.
    with contextlib.suppress(OSError, FleetError):
        _called.append(Launcher())


def called() -> Launcher:
    """The one that was called, or one that has yet to come up."""
    return _called.pop() if _called else Launcher()


def dismiss() -> None:
    """Nothing was started after all."""
    while _called:
        _called.pop().dismiss()


@dataclass(frozen=True, slots=True)
class Progress:
    """One step of one agent on its way up."""

    agent: str
    step: str
    """worktree, files, starting, setup, failed."""
    note: str = ""


class Launcher:
    """Loads what it needs from the moment it is called; one that is dismissed untold has done nothing."""

    def __init__(self) -> None:
        self._line, theirs = socket.socketpair()
        # Inherited by all that agents start; what calls this one is not theirs.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
        for name in ("FLEET_DEBUG", "AI_FLEET_DEBUG"):
            if name in os.environ:
                environment[name] = os.environ[name]
        problems = os.open(
            paths.log() / "launch.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(problems, "ab") as log, theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "fleet_tui.launch"],
                env=environment,
                cwd="/",
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        self._is_told = False

    def start(self, locks: Mapping[str, int], *, parallel: int) -> Iterator[Progress]:
        """Have these agents made, whose locks are held and pass to the launcher; reports what it does.

        Whoever stops listening stops nothing.
        """
        self._is_told = True
        header = json.dumps({"parallel": parallel, "agents": list(locks)}).encode()
        try:
            self._line.sendall(header)
            # The system takes some 250 at once, more than there may be.
            socket.send_fds(self._line, [b"\n"], list(locks.values()))
        except OSError:
            # A launcher that is gone, or is not told all, has nothing to report; the intents are found and taken back.
            self._line.close()
        for descriptor in locks.values():
            os.close(descriptor)
        return self._reports()

    def _reports(self) -> Iterator[Progress]:
        if self._process.stdout is None:
            return
        for line in self._process.stdout:
            # A launcher that was killed may have left half a line.
            with contextlib.suppress(ValueError):
                values = json.loads(line)
                yield Progress(values["agent"], values["step"], values.get("note", ""))
        self._process.wait()

    def dismiss(self) -> None:
        """Nobody listens any more, and one that was not told anything ends."""
        self._line.close()
        if not self._is_told:
            # Both of its processes, which have begun nothing but to load themselves.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
