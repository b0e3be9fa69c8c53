"""The screen server's process: forked by the keeper, watched for its beat, and replaced when it dies or hangs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import NoReturn

from fleet_tui.holder.control import DRAINED, ControlSocket
from fleet_tui.holder.run_spec import RunSpec

WATCHDOG_SECONDS = 30.0
"""A server without a beat for this long hangs, and is replaced."""
RETRY_SECONDS = 1.0
"""Before another attempt when the system has no process or descriptor to give."""
CRASH_WINDOW, FREE_CRASHES = 30.0, 3
"""After this many starts within the window, further restarts are delayed, twice as long each time."""
FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0

ServerMain = Callable[[RunSpec, int, socket.socket, bool], NoReturn]


class ServerProcess:
    def __init__(
        self, spec: RunSpec, master: int, serve: ServerMain, become_child: Callable[[], None]
    ) -> None:
        self._spec = spec
        self._master = master
        self._serve = serve
        self._become_child = become_child
        """Closes in the child what belongs to the keeper alone."""
        self.pid = 0
        """0 while there is none."""
        self.is_drained = False
        """All output has been read and recorded."""
        self.lost_output = 0
        """Bytes of output that all servers of this run together could not write."""
        self.restart_at: float | None = None
        self._lost_earlier = 0
        self._beat = 0.0
        self._starts: list[float] = []
        self._control: ControlSocket | None = None

    def start(self) -> None:
        """Fork a server; if that fails, the program goes on without one until the next attempt."""
        try:
            ours, theirs = socket.socketpair()
        except OSError:
            self.restart_at = time.monotonic() + RETRY_SECONDS
            return
        try:
            pid = os.fork()
        except OSError:
            ours.close()
            theirs.close()
            self.restart_at = time.monotonic() + RETRY_SECONDS
            return
        if pid == 0:
            try:
                ours.close()
                self._become_child()
                if self._control is not None:
                    self._control.close()
                self._serve(self._spec, self._master, theirs, bool(self._starts))
            finally:
                os._exit(70)
        theirs.close()
        if self._control is not None:
            self._control.close()
        self._control = ControlSocket(ours)
        self.pid, self._beat = pid, time.monotonic()
        self._starts.append(self._beat)
        self._lost_earlier = self.lost_output
        self.restart_at = None

    def fileno(self) -> int:
        """Descriptor to wait on for `read`; -1 while there is no connection."""
        return self._control.fileno() if self._control is not None else -1

    def read(self) -> None:
        if self._control is None:
            return
        messages = self._control.receive()
        if messages is None:
            self._control.close()
            self._control = None
            return
        self._beat = time.monotonic()
        for message in messages:
            self.is_drained = self.is_drained or message.get("t") == DRAINED
            # From a process that hostile output may have corrupted.
            with contextlib.suppress(ValueError, TypeError):
                self.lost_output = self._lost_earlier + int(message.get("lost", 0))

    def send(self, kind: str, **fields: object) -> None:
        if self._control is not None:
            self._control.send(kind, **fields)

    def died(self) -> None:
        """Plan a restart: at once, or with a growing delay when it keeps crashing."""
        self.pid = 0
        now = time.monotonic()
        recent = sum(1 for start in self._starts if now - start < CRASH_WINDOW)
        delay = FIRST_DELAY * 2 ** (recent - FREE_CRASHES) if recent >= FREE_CRASHES else 0.0
        self.restart_at = now + min(LONGEST_DELAY, delay)

    def watch(self) -> None:
        """Kill a server that hangs, and start one that is due."""
        now = time.monotonic()
        if self.pid and now - self._beat > WATCHDOG_SECONDS:
            self.kill()
            self._beat = now
        if self.restart_at is not None and now >= self.restart_at:
            self.start()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
