"""Requests of the dashboard's actions to the worker: run in the background, with every failure shown."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dialogs.crash import CrashDialog
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.worker_client import WorkerClient, WorkerCrashed


class WorkerRequests:
    """Calls verbs in the worker; failures become toasts, or a dialog when they are internal errors."""

    def __init__(self, display: Display, worker: WorkerClient) -> None:
        self._display = display
        self._worker = worker

    @property
    def call(self) -> Callable[..., Coroutine[Any, Any, Any]]:
        """Call one verb and wait for its result."""
        return self._worker.call

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run several calls in the background."""
        self._display.start(self._guarded(work))

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except FleetError as error:
            self._display.show_error(error)
        except WorkerCrashed as error:
            self._display.open(CrashDialog(str(error), error.trace))

    def ask(self, done: str, verb: str, *arguments: Any, **options: Any) -> None:
        """Call one verb in the background and notify when it is done."""

        async def work() -> None:
            await self._worker.call(verb, *arguments, **options)
            if done:
                self._display.notify(done)

        self.start(work())

    def watch(self, agent_id: str) -> None:
        """Name the agent whose log and output the worker follows."""
        self._worker.watch(agent_id)


def names_of(agents: Sequence[Agent]) -> str:
    """The name of one agent, or how many there are."""
    return clean(agents[0].name) if len(agents) == 1 else f"{len(agents)} agents"
