"""Client of the launcher: spawn it early, send it the agents to create, read its progress.

The launcher is the program `fleet_tui.lifecycle.launcher`. A command spawns it before anything else, so that it loads
while the command parses and plans. This module imports next to nothing: every millisecond delays the agents' start.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from fleet_tui.fast_dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleet_tui.models import LaunchStage

_spawned: list[Launcher] = []
_detached: list[Launcher] = []
"""Launchers at work whose progress is no longer read; they still have to be reaped."""


def spawn() -> None:
    """Spawn a launcher in advance, because a command is about to start agents."""
    # If this fails, `take` fails the same way, where the error is reported.
    with contextlib.suppress(OSError):
        _spawned.append(Launcher())


def take() -> Launcher:
    """The launcher spawned in advance, or a new one."""
    return _spawned.pop() if _spawned else Launcher()


def dismiss() -> None:
    """End a launcher that was spawned in advance and is not needed."""
    while _spawned:
        _spawned.pop().dismiss()


@dataclass(frozen=True, slots=True)
class LaunchProgress:
    """A step in the launch of one agent."""

    agent: str
    step: LaunchStage
    note: str = ""


class Launcher:
    """A launcher process. It loads its imports at once and does nothing until `start`."""

    def __init__(self) -> None:
        _detached[:] = [one for one in _detached if not one._has_ended(os.WNOHANG)]
        # Agents inherit this environment; FLEET_* of an agent that runs this command is not theirs.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
        for name in ("FLEET_DEBUG", "AI_FLEET_DEBUG"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self._line, theirs = socket.socketpair()
        self._reported, reports = os.pipe()
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                # -P: never import from the current folder.
                [sys.executable, "-P", "-m", "fleet_tui.lifecycle.launcher"],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_DUP2, reports, 1),
                    # The launcher opens its own log.
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                ],
                setsid=True,
            )
        except OSError:
            os.close(self._reported)
            self._line.close()
            raise
        finally:
            os.close(reports)
            theirs.close()
        self._is_started = False

    def start(self, locks: Mapping[str, int], *, parallel: int) -> Iterator[LaunchProgress]:
        """Send the agents to create with their held locks; yields progress.

        The launcher goes on if the caller stops reading.
        """
        import json

        self._is_started = True
        header = json.dumps({"parallel": parallel, "agents": list(locks)}).encode()
        try:
            self._line.sendall(header)
            # Linux passes at most 253 descriptors at once; a batch is smaller.
            socket.send_fds(self._line, [b"\n"], list(locks.values()))
        except OSError:
            # The launcher is gone. It reports nothing, and reconciling rolls the intents back.
            self._line.close()
        for descriptor in locks.values():
            os.close(descriptor)
        return self._progress()

    def _progress(self) -> Iterator[LaunchProgress]:
        import json

        with os.fdopen(self._reported, "rb", closefd=False) as reports:
            for line in reports:
                # A killed launcher may leave half a line.
                with contextlib.suppress(ValueError):
                    values = json.loads(line)
                    yield LaunchProgress(values["agent"], values["step"], values.get("note", ""))
        self._has_ended()

    def dismiss(self) -> None:
        """Stop reading progress. Kill a launcher that was not started."""
        self._line.close()
        os.close(self._reported)
        if not self._is_started:
            import signal

            # Its process group is the worker and the forker, which have only loaded their imports.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            self._has_ended()
        elif not self._has_ended(os.WNOHANG):
            _detached.append(self)

    def _has_ended(self, options: int = 0) -> bool:
        """Reap the process; with WNOHANG, returns whether it has ended."""
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                if not os.waitpid(self._pid, options)[0]:
                    return False
            self._pid = 0
        return True
