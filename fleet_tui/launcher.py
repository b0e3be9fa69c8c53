"""A face's end of a launcher: called while it is still being planned what to make, told when that is known, listened to.

The launcher itself is the program of launch.py. Next to nothing is imported here before it has been called, which a
command does before anything else: each millisecond of it is one that agents start later.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from fleet_tui.values import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_called: list[Launcher] = []
_unheard: list[Launcher] = []
"""Those that were told what to make and are not listened to any more: somebody has to take note of their end."""


def call() -> None:
    """Something is about to be started: what makes it comes up while that is being read and planned."""
    # Where there is no place to write to, that is said by whatever has to be written.
    with contextlib.suppress(OSError):
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
        _unheard[:] = [one for one in _unheard if not one._has_ended(os.WNOHANG)]
        # Inherited by all that agents start; what calls this one is not theirs.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FLEET_")}
        for name in ("FLEET_DEBUG", "AI_FLEET_DEBUG"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self._line, theirs = socket.socketpair()
        self._reported, reports = os.pipe()
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                # Nothing of the folder that this was called in is to be loaded.
                [sys.executable, "-P", "-m", "fleet_tui.launch"],
                environment,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), 0),
                    (os.POSIX_SPAWN_DUP2, reports, 1),
                    # It has a log of its own; where that cannot be written, there is no place to say so either.
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
        self._is_told = False

    def start(self, locks: Mapping[str, int], *, parallel: int) -> Iterator[Progress]:
        """Have these agents made, whose locks are held and pass to the launcher; reports what it does.

        Whoever stops listening stops nothing.
        """
        import json

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
        import json

        with os.fdopen(self._reported, "rb", closefd=False) as reports:
            for line in reports:
                # A launcher that was killed may have left half a line.
                with contextlib.suppress(ValueError):
                    values = json.loads(line)
                    yield Progress(values["agent"], values["step"], values.get("note", ""))
        self._has_ended()

    def dismiss(self) -> None:
        """Nobody listens any more, and one that was not told anything ends."""
        self._line.close()
        os.close(self._reported)
        if not self._is_told:
            import signal

            # Both of its processes, which have begun nothing but to load themselves.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
            self._has_ended()
        elif not self._has_ended(os.WNOHANG):
            _unheard.append(self)

    def _has_ended(self, options: int = 0) -> bool:
        """Whether it has, or will have when this returns; its end is taken note of, and that only once."""
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                if not os.waitpid(self._pid, options)[0]:
                    return False
            self._pid = 0
        return True
