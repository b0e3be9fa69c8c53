"""Client of the dashboard's worker process: spawns it, sends it calls, dispatches what it sends back.

Runs in the UI thread and never blocks it. A worker that ends is spawned again; calls that it owes an answer fail.
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
from fleet_tui.errors import FleetError, from_kind
from fleet_tui.faces.live import LiveData
from fleet_tui.tui.worker_protocol import (
    UNREADABLE,
    LandingNews,
    LaunchStep,
    Watch,
    WorkerAnswer,
    WorkerCall,
    WorkerFailure,
    greeting,
)

RESTART_SECONDS = 1.0
UPDATED = "fleet-tui was updated"
RESTART = "restart the dashboard; agents keep running"

OnStep = Callable[[Any], None]
"""Takes the news of a call: steps of a launch, or of a landing."""


class WorkerCrashed(Exception):
    """A verb failed with an unexpected error; `trace` is for the log."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class WorkerClient:
    """The dashboard's connection to its worker: spawned on first use, and again after it has ended."""

    def __init__(self, start: Path) -> None:
        self._start = start
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[asyncio.Future[Any], OnStep | None]] = {}
        self._watched = ""
        self._is_closed = False
        self._is_greeted = False
        self._is_outdated = False
        """The package was replaced while this dashboard is open: no worker understands it any more."""
        self.on_live_data: Callable[[LiveData], None] = lambda _: None
        self.on_failure: Callable[[str, str], None] = lambda _message, _trace: None
        self.on_outdated: Callable[[str, str], None] = lambda _message, _hint: None

    def start(self) -> None:
        """Spawn the worker now, so that the first call does not wait for its imports."""
        if self._connection is not None or self._is_closed or self._is_outdated:
            return
        self._is_greeted = False
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
        """Disconnect from the worker, which then ends; agents that it started live on."""
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
        """Run a verb in the worker and wait for its result; raises FleetError where the verb does."""
        if self._is_outdated:
            raise FleetError(UPDATED, hint=RESTART)
        self.start()
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (future, on_step)
        self._send(WorkerCall(number, verb, arguments, options))
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
        while self._connection is not None:
            try:
                if not self._connection.poll():
                    return
                message = self._connection.recv()
            except (EOFError, OSError):
                self._lost()
                return
            except Exception:  # noqa: BLE001 - unpickling raises anything when classes were moved or changed
                self._outdated()
                return
            self._take(message)

    def _take(self, message: object) -> None:
        if not self._is_greeted or message == UNREADABLE:
            self._is_greeted = message == greeting()
            if not self._is_greeted:
                self._outdated()
        elif isinstance(message, LiveData):
            self.on_live_data(message)
        elif isinstance(message, LaunchStep | LandingNews):
            _, on_step = self._waiting.get(message.number, (None, None))
            if on_step is not None:
                on_step(message)
        elif isinstance(message, WorkerAnswer):
            self._settle(message.number, message.value, None)
        elif isinstance(message, WorkerFailure):
            error = (
                WorkerCrashed(message.message, message.trace)
                if message.trace
                else from_kind(message.kind, message.message, hint=message.hint, exit_code=message.exit_code)
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

    def _outdated(self) -> None:
        """The worker is of another version: fail all calls, and spawn no other worker."""
        self._is_outdated = True
        self._forget()
        self._fail_all(UPDATED, RESTART)
        self.on_outdated(UPDATED, RESTART)

    def _fail_all(self, message: str, hint: str) -> None:
        for number in list(self._waiting):
            self._settle(number, None, FleetError(message, hint=hint))

    def _lost(self) -> None:
        """The worker has ended: fail the calls that it owes an answer, and spawn another."""
        self._forget()
        self._fail_all("the worker has ended", "try again; agents are not affected")
        if self._process is not None:
            self._process.poll()
        if not self._is_closed:
            asyncio.get_running_loop().call_later(RESTART_SECONDS, self.start)

    def _forget(self) -> None:
        if self._connection is not None:
            asyncio.get_running_loop().remove_reader(self._connection.fileno())
            self._connection.close()
            self._connection = None
