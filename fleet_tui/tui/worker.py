"""The dashboard's worker process: runs the verbs and the observer, so that the UI thread never waits.

Run as a program with one socket, over which both ends send pickled, frozen data (`worker_protocol`). It ends when the
dashboard does; agents that it has started live on. Loads no Textual.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import FleetError, StoreError
from fleet_tui.faces import calls
from fleet_tui.faces.observer import Observer
from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingProgress
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

if TYPE_CHECKING:
    from fleet_tui.lifecycle.launcher_client import LaunchProgress
    from fleet_tui.models import Agent

VERBS_AT_ONCE = 4


class DashboardWorker:
    """Serves one dashboard: calls in a pool of threads, the observer in a thread of its own."""

    def __init__(self, connection: Connection, start: Path) -> None:
        self._connection = connection
        self._start = start
        self._sending = threading.Lock()
        self._threads = threading.local()
        self._pool = ThreadPoolExecutor(VERBS_AT_ONCE)
        self._observer = Observer(start, self.send)

    def send(self, message: object) -> None:
        with self._sending:
            try:
                self._connection.send(message)
            except OSError:
                # The dashboard is gone, which ends the reading loop as well.
                os._exit(0)

    def serve(self) -> None:
        """Run calls until the dashboard is gone."""
        self.send(greeting())
        threading.Thread(target=self._observe, daemon=True).start()
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(0)
            except Exception:  # noqa: BLE001 - unpickling raises anything when the dashboard is of an earlier version
                self.send(UNREADABLE)
                continue
            if isinstance(message, WorkerCall) and _waits(message):
                threading.Thread(target=self._answer_once, args=(message,), daemon=True).start()
            elif isinstance(message, WorkerCall):
                self._pool.submit(self._answer, message)
            elif isinstance(message, Watch):
                self._observer.watch(message.selected)

    def _observe(self) -> None:
        try:
            self._observer.run()
        except Exception as error:  # noqa: BLE001 - the dashboard shows it and spawns another worker
            self.send(WorkerFailure(0, f"watching the fleet: {error}", trace=traceback.format_exc()))
            os._exit(1)
        # The store was replaced. Every thread has the old one open, so the dashboard has to spawn another worker.
        os._exit(0)

    def _answer_once(self, call: WorkerCall) -> None:
        """Answer a call in a thread that was made for it."""
        self._answer(call)
        found: Fleet | None = getattr(self._threads, "fleet", None)
        if found is not None:
            found.close()

    def _answer(self, call: WorkerCall) -> None:
        def report(agent: Agent, progress: LaunchProgress | LandingProgress) -> None:
            if isinstance(progress, LandingProgress):
                self.send(LandingNews(call.number, agent, progress))
            else:
                self.send(LaunchStep(call.number, agent, progress.step, progress.note))

        try:
            value = calls.run(self._fleet(), call.verb, call.arguments, call.options, report)
            self.send(WorkerAnswer(call.number, value))
        except FleetError as error:
            kind, exit_code = type(error).__name__, error.exit_code
            self.send(WorkerFailure(call.number, error.message, error.hint, kind=kind, exit_code=exit_code))
        except Exception as error:  # noqa: BLE001 - the caller waits for an answer, whatever went wrong
            self.send(WorkerFailure(call.number, f"{call.verb}: {error}", trace=traceback.format_exc()))

    def _fleet(self) -> Fleet:
        """This thread's fleet, which sees the repository as it is now."""
        found: Fleet | None = getattr(self._threads, "fleet", None)
        if found is None:
            if not paths.store().exists():
                raise StoreError("the store no longer exists", hint="run: fleet list --repair")
            found = self._threads.fleet = Fleet(self._start)
        found.reread_repository()
        return found


def _waits(call: WorkerCall) -> bool:
    verb = calls.REMOTE.get(call.verb)
    return verb is not None and verb.waits


def main() -> None:
    descriptor, start = int(sys.argv[1]), Path(sys.argv[2])
    DashboardWorker(Connection(socket.socket(fileno=descriptor).detach()), start).serve()


if __name__ == "__main__":
    main()
