"""How news reach the dashboard: the store is polled, the worker is listened to.

Only reads the store; every change is asked of the worker. Nothing here blocks the thread that paints.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState
from fleet_tui.tui.exchange import Answer, Call, Failure, Sights, Step, Watch

RESTART_SECONDS = 1.0

OnStep = Callable[[Step], None]


class WorkerCrashed(Exception):
    """A verb failed in a way nobody foresaw; `trace` is for the log."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class StateFeed:
    """The fleet as the store has it, looked at again only when somebody has written."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._version = -1

    def poll(self) -> FleetState | None:
        """The state if it may have changed since the last time."""
        version = self._fleet.version()
        if version == self._version and not self._fleet.is_disk_full():
            return None
        state = self.read()
        self._version = version
        return state

    def read(self) -> FleetState:
        return self._fleet.snapshot()


class WorkerLink:
    """Our end of the worker: started when first needed, and again after it has died."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], OnStep | None]] = {}
        self._watched = ""
        self._is_closed = False
        self.on_sights: Callable[[Sights], None] = lambda _: None
        self.on_failure: Callable[[str, str], None] = lambda _message, _trace: None

    def start(self) -> None:
        """Start the worker now, so that its first answer does not wait for its imports."""
        if self._connection is not None or self._is_closed:
            return
        if self._process is not None:
            self._process.poll()
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-P", "-m", "fleet_tui.tui.worker", str(theirs.fileno()), str(self._start)]
        with theirs, (paths.log() / "worker.log").open("ab") as problems:
            os.fchmod(problems.fileno(), 0o600)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=problems,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        asyncio.get_running_loop().add_reader(self._connection.fileno(), self._receive)
        if self._watched:
            self.watch(self._watched)

    def close(self) -> None:
        """Let the worker go; it ends by itself, and what it has started goes on."""
        self._is_closed = True
        if self._connection is not None:
            self._forget()
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(2.0)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()

    def watch(self, selected: str) -> None:
        self._watched = selected
        if self._connection is not None:
            self._send(Watch(selected))

    async def call(self, verb: str, *arguments: Any, on_step: OnStep | None = None, **options: Any) -> Any:
        """Have a verb done and wait for its answer; raises FleetError as the verb did."""
        self.start()
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (future, on_step)
        self._send(Call(number, verb, arguments, options))
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    def _send(self, message: object) -> None:
        if self._connection is not None:
            try:
                self._connection.send(message)
            except OSError:
                self._lost()

    def _receive(self) -> None:
        try:
            while self._connection is not None and self._connection.poll():
                self._take(self._connection.recv())
        except (EOFError, OSError):
            self._lost()

    def _take(self, message: object) -> None:
        if isinstance(message, Sights):
            self.on_sights(message)
        elif isinstance(message, Step):
            _, on_step = self._waiting.get(message.number, (None, None))
            if on_step is not None:
                on_step(message)
        elif isinstance(message, Answer):
            self._settle(message.number, message.value, None)
        elif isinstance(message, Failure):
            error = (
                WorkerCrashed(message.message, message.trace)
                if message.trace
                else FleetError(message.message, hint=message.hint)
            )
            if message.number:
                self._settle(message.number, None, error)
            else:
                self.on_failure(message.message, message.trace)

    def _settle(self, number: int, value: Any, error: Exception | None) -> None:
        future, _ = self._waiting.get(number, (None, None))
        if future is None or future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)

    def _lost(self) -> None:
        """The worker is gone: what was asked of it fails, and another is started."""
        self._forget()
        for number in list(self._waiting):
            self._settle(
                number, None, FleetError("the worker has ended", hint="try again; agents are not affected")
            )
        if self._process is not None:
            self._process.poll()
        if not self._is_closed:
            asyncio.get_running_loop().call_later(RESTART_SECONDS, self.start)

    def _forget(self) -> None:
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            self._connection.close()
            self._connection = None
