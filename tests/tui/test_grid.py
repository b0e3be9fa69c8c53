"""Panes as the dashboard arranges them: their places, their titles, and looking back in them from the list."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState
from fleet_tui.tui.panes.grid import PaneGrid
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.running_dashboard import Driven, drive, opened
from tests.tui.test_dashboard import footer

LINES = "for i in $(seq 1 300); do echo line $i; done; exec sleep 1000"


def pane_text(driven: Driven) -> str:
    (frame,) = driven.dashboard.query_one(PaneGrid).frames
    return "\n".join(frame.pane.render_line(y).text for y in range(frame.pane.size.height))


def some(count: int) -> FleetState:
    return FleetState(fleet_states.BIG.agents[:count], fleet_states.BIG.batches)


@pytest.mark.slow
def test_the_last_pane_takes_the_cells_that_are_left() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        grid = app.dashboard.query_one(PaneGrid)
        await until(pilot, lambda: len(list(grid.frames)) == 5)
        *_, fourth, fifth = grid.frames
        await until(pilot, lambda: fifth.region.right == grid.region.right)
        assert fifth.region.width > 1.8 * fourth.region.width

    run_dashboard(go, some(5), size=(220, 50))


@pytest.mark.slow
def test_a_narrow_pane_keeps_its_name_and_lets_the_rest_go() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.dashboard.groups.layout.set_panes(9)
        frames = list(app.dashboard.query_one(PaneGrid).frames)
        await until(pilot, lambda: "claude" not in str(frames[0].border_title))
        assert "refactor-auth-A" in str(frames[0].border_title)

    run_dashboard(go, fleet_states.BIG, size=(120, 40))


@pytest.mark.slow
def test_the_list_looks_back_by_pages_and_copy_mode_says_that_it_has_the_keys(
    fleet: Fleet, repository: Path
) -> None:
    fleet.create("talker", profile="shell", prompt=LINES)

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.until(lambda: "line 300" in pane_text(driven))
            await driven.press("pageup", "pageup")
            await driven.until(lambda: "line 210" in pane_text(driven), "two pages back")
            await driven.press("pagedown")
            await driven.until(lambda: "line 260" in pane_text(driven), "a page forth")
            await driven.press("escape")
            await driven.until(lambda: "line 300" in pane_text(driven), "the end again")
            assert driven.dashboard.view.typing == ""

            await driven.press("V")
            await driven.until(lambda: " COPY   v select" in driven.text(), "the footer tells")
            await driven.press(*"/line 123", "enter")
            await driven.until(
                lambda: "1 × line 123" in pane_text(driven) and "line 120" in pane_text(driven), "it is found"
            )
            assert driven.text().count("esc leave") == driven.text().count("v select") == 1, "said once"
            await driven.press("v", "dollar_sign")
            await driven.until(lambda: " COPY   y copy" in driven.text(), "what a selection is for")
            assert "esc clear the selection" in driven.text()
            await driven.press("y")
            await driven.until(lambda: driven.app.clipboard == "line 123")
            await driven.until(lambda: " LIST " in driven.text())
            await driven.press("enter")
            await driven.until(lambda: "TYPING →" in driven.text())
            await driven.press("ctrl+right_square_bracket", "y")
            await driven.until(lambda: " COPY   v select" in driven.text(), "also while typing")
            assert "every other key goes to the agent" not in driven.text()
            await driven.press("q")
            await driven.until(lambda: "TYPING →" in driven.text())

    drive(go())


def test_what_a_second_tap_would_do_is_never_cut() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for key in ("X", "x"):
            await pilot.press(key)
            frame = app.dashboard.query_one("#list")
            assert f"{key} again" in str(frame.border_subtitle)
            assert "…" not in str(frame.border_subtitle)
        assert " LIST " in footer(app)

    run_dashboard(go, size=(100, 30))
