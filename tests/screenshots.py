"""Takes the pictures in screenshots/: the real dashboard with the agents of the demo.

python -m tests.screenshots
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from fleet_tui.tui.app import FleetApp
from fleet_tui.tui.demo import tour
from fleet_tui.tui.settings import DashboardSettings
from tests.places import REPOSITORY

FOLDER = REPOSITORY / "screenshots"
EXPORT_COLORS = {"#292929": "background", "#c5c8c6": "foreground"}
"""Colors that Textual's export uses for the terminal's own, and the theme colors to show instead."""
WIDE, NARROW = (160, 45), (80, 24)
OPENING = frozenset("cdgGk")
"""Keys after which the pictures wait a moment."""


async def until(pilot: Pilot[None], condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the tour did not get that far")
        await pilot.pause(0.1)


def typed(text: str) -> list[str]:
    """The keys that type a text."""
    return [{" ": "space", ".": "full_stop"}.get(char, char) for char in text]


async def take(
    project: Path,
    name: str,
    size: tuple[int, int],
    *keys: str,
    theme: str = "fleet-dark",
    until_text: str = "",
) -> None:
    fleet = Fleet(project)
    app = FleetApp(fleet, project, DashboardSettings(theme=theme))
    async with app.run_test(size=size) as pilot:
        dashboard = app.dashboard
        await until(
            pilot, lambda: any(agent.status is Status.BLOCKED for agent in dashboard.view.state.agents)
        )
        await until(
            pilot, lambda: any(agent.status is Status.LIMITED for agent in dashboard.view.state.agents)
        )
        await until(pilot, lambda: len(dashboard.view.listed) == tour.COUNT and dashboard.view.live.usage)
        await pilot.pause(1.0)
        for key in keys:
            await pilot.press(key)
            # A screen opens in the background, and must be there before the next key.
            await pilot.pause(0.8 if key in OPENING else 0.02)
        await until(
            pilot, lambda: until_text in "\n".join(row.text for row in app.screen._compositor.render_strips())
        )
        await pilot.pause(0.8)
        picture = app.export_screenshot(title="fleet-tui")
    fleet.close()
    for color, role in EXPORT_COLORS.items():
        picture = picture.replace(color, app.theme_variables[role])
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


async def take_all(project: Path) -> None:
    await take(project, "dashboard", WIDE)
    await take(project, "answer", WIDE, "right_square_bracket", "a")
    await take(project, "typing", WIDE, "right_square_bracket", "enter")
    await take(project, "which-key", WIDE, "right_square_bracket", "enter", "ctrl+right_square_bracket")
    await take(project, "fan-out", WIDE, "f", *typed("Replace the session cookie by signed tokens."))
    await take(project, "help", WIDE, "question_mark")
    await take(project, "narrow", NARROW, "right_square_bracket")
    await take(
        project, "review", WIDE, "G", "k", "d", *("j",) * 7, "c", *typed("Say what it raises."), "enter"
    )
    await take(project, "compare", WIDE, "g", "c", until_text="✗ 3 tests")
    await take(project, "light", WIDE, theme="fleet-light")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tour.staged() as project:
        asyncio.run(take_all(project))


if __name__ == "__main__":
    main()
