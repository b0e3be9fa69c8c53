"""Starts a command when the program's turn has ended: the checkpoint of what the turn has changed.

The command is given by the launcher, and is all that a holder knows of checkpoints. It runs as a child of the screen
server, so that neither the keeper nor a usage sample takes it for the agent's, at most one at a time. Whether it succeeds,
or can be started at all, changes nothing: the package may have been removed since.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from typing import Any

from fleet_tui.models import Status

GAP_SECONDS = 5.0
"""Between two starts. What ends in between is covered by the next one."""
_BUSY = frozenset({Status.WORKING, Status.BLOCKED})
_CALM = frozenset({Status.DONE, Status.IDLE, Status.LIMITED, Status.ERROR})
_DEFAULT_SIGNALS = (
    signal.SIGTERM,
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
)


class TurnEndCommand:
    def __init__(self, command: tuple[str, ...], *, keep_from_it: Sequence[int] = ()) -> None:
        """`keep_from_it`: inheritable descriptors that it must not get."""
        self._command = command
        self._keep_from_it = keep_from_it
        self._in_turn = False
        self._due: float | None = None
        self._next = 0.0
        """The earliest time of the next start."""
        self._pid = 0

    def observed(self, status: Status, now: float) -> None:
        """The program's status has changed."""
        if status in _BUSY:
            self._in_turn = True
        elif status in _CALM and self._in_turn:
            self._in_turn = False
            self._due = now

    def due(self) -> float | None:
        """When to call `tick`."""
        return None if self._due is None else max(self._due, self._next)

    def tick(self, now: float) -> None:
        """Start the command if it is due, and none is running."""
        due = self.due()
        if due is None or now < due:
            return
        if self._is_running():
            self._next = now + GAP_SECONDS
        else:
            self._start(now)

    def program_ended(self, now: float, *, by_itself: bool) -> None:
        """Start the command at once for a turn that is not covered yet; its result is not waited for.

        A program that has ended by itself has ended its turn; one that was stopped was interrupted in it.
        """
        if ((by_itself and self._in_turn) or self._due is not None) and not self._is_running():
            self._start(now)

    def _start(self, now: float) -> None:
        self._due, self._in_turn, self._next = None, False, now + GAP_SECONDS
        if not self._command:
            return
        actions: list[Any] = [(os.POSIX_SPAWN_CLOSE, number) for number in self._keep_from_it]
        actions += [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        with contextlib.suppress(OSError):
            self._pid = os.posix_spawn(
                self._command[0], self._command, os.environ, file_actions=actions, setsigdef=_DEFAULT_SIGNALS
            )

    def _is_running(self) -> bool:
        if self._pid:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                    return True
            self._pid = 0
        return False

    def reap(self) -> None:
        """Reap the command if it has ended."""
        self._is_running()
