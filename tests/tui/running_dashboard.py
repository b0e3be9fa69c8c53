"""The real dashboard on a real fleet, driven by a test: opened, waited for, looked at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual import events

from fleet_tui.tui.app import FleetApp
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.settings import DashboardSettings
from tests.tui.keyboard import Keyboard
from tests.watched_fleet import WatchedFleet

WAIT_SECONDS = 15.0


class Driven:
    """An open dashboard and a keyboard for it."""

    def __init__(self, app: FleetApp) -> None:
        self.app = app
        self.keyboard = Keyboard(app)

    @property
    def dashboard(self) -> Dashboard:
        return self.app.dashboard

    async def press(self, *keys: str) -> None:
        await self.keyboard.press(*keys)

    async def write(self, text: str) -> None:
        """Paste a text into the focused widget."""
        await self.keyboard.pause()
        self.app.post_message(events.Paste(text))
        await self.keyboard.pause()

    async def until(
        self, condition: Callable[[], object], what: str = "", seconds: float = WAIT_SECONDS
    ) -> None:
        begin = asked = time.monotonic()
        while not condition():
            assert asked < begin + seconds, f"{what or 'it'} did not happen\n{self.text()}"
            # Looking at a whole screen takes longer than most of what happens: what is waited for comes first.
            await asyncio.sleep(max(0.01, 4 * (time.monotonic() - asked)))
            asked = time.monotonic()
        await self.keyboard.pause()

    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(row.text for row in self.app.screen._compositor.render_strips())

    def toasts(self) -> str:
        """All notices so far, as one text."""
        return "\n".join(f"{toast.title} {toast.message}" for toast in self.app._notifications)

    def status(self, name: str) -> str:
        return next(
            (str(agent.status) for agent in self.dashboard.view.state.agents if agent.name == name), ""
        )


@asynccontextmanager
async def opened(
    project: Path, *, size: tuple[int, int] = (120, 40), settings: DashboardSettings | None = None
) -> AsyncIterator[Driven]:
    fleet = WatchedFleet(project)
    app = FleetApp(fleet, project, settings or DashboardSettings())
    try:
        async with app.run_test(size=size, notifications=True):
            driven = Driven(app)
            await driven.keyboard.pause()
            await driven.until(lambda: driven.dashboard.view.project is not None, "the worker answers")
            yield driven
    finally:
        fleet.close()


def drive(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)
