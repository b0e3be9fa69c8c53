"""The timeline as pictures."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from fleet_tui.fast_dataclasses import replace
from fleet_tui.tui.review.stacked_diff import StackedDiff
from fleet_tui.tui.review.timeline import TimelineScreen
from tests.tui.dashboard_app import StageApp, until
from tests.tui.review_states import AGENT
from tests.tui.timeline_states import TIMELINE, TimelineWorker

Compare = Callable[..., bool]


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TZ", "UTC")


async def open_timeline(app: StageApp, pilot: Pilot[None]) -> None:
    """Open the timeline, and wait for all lines and their colors."""
    app.dashboard.view.select(AGENT)
    await pilot.press("H")
    screen = app.screen
    assert isinstance(screen, TimelineScreen)
    await until(pilot, lambda: screen.timeline is not None)
    view = screen.query_one(StackedDiff)
    if screen.rows:
        await until(pilot, lambda: view._rows or view._sentence)
        view._color(float("inf"), view.size.height)
        view.redraw(everything=True)
    await pilot.pause()


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((120, 40), "fleet-dark"),
        pytest.param((80, 24), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((200, 60), "fleet-dark", marks=pytest.mark.slow),
        pytest.param((120, 40), "fleet-light", marks=pytest.mark.slow),
    ],
    ids=["120x40", "80x24", "200x60", "120x40-light"],
)
def test_timeline(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = StageApp(theme=theme, worker=TimelineWorker(TIMELINE))

    async def pose(pilot: Pilot[None]) -> None:
        await open_timeline(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=pose)


@pytest.mark.slow
def test_an_empty_timeline(snap_compare: Compare) -> None:
    app = StageApp(worker=TimelineWorker(replace(TIMELINE, checkpoints=TIMELINE.checkpoints[:1])))

    async def pose(pilot: Pilot[None]) -> None:
        await open_timeline(app, pilot)

    assert snap_compare(app, terminal_size=(120, 40), run_before=pose)
