"""Toasts: what they show, and that they cover nothing that is read."""

from __future__ import annotations

import pytest
from textual.geometry import Region
from textual.notifications import Notification
from textual.pilot import Pilot

from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.lines import length
from fleet_tui.tui.widgets.toasts import Toasts, lines_of, rows
from tests.tui.dashboard_app import StageApp, run_dashboard, until

LONG = "another program has the branch checked out in /srv/work/atlas-api-of-yesterday, so nothing was moved"
SIZES = pytest.mark.parametrize(
    "size",
    [(120, 40), pytest.param((160, 45), marks=pytest.mark.slow), (80, 24)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)


def text(notification: Notification, width: int, most: int) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in lines_of(notification, width, most)]


async def toasts(app: StageApp, pilot: Pilot[None]) -> Toasts:
    await until(pilot, lambda: any(toast.region for toast in app.screen.query(Toasts)))
    await pilot.pause()
    return app.screen.query_one(Toasts)


def overlaps(one: Region, other: Region) -> bool:
    return bool(one.intersection(other))


@pytest.mark.pure
def test_a_short_toast_is_one_line_and_a_long_one_is_wrapped_and_at_last_cut() -> None:
    assert text(Notification("1 agent", "stopped"), 40, 5) == ["▌ stopped  1 agent"]
    wrapped = text(Notification(LONG, "C stays"), 44, 5)
    assert wrapped[0] == "▌ C stays"
    assert " ".join(line.removeprefix("▌ ") for line in wrapped[1:]) == LONG
    cut = text(Notification(LONG, "C stays"), 44, 2)
    assert len(cut) == 2
    assert cut[1].endswith("…")
    assert text(Notification("one\ntwo"), 40, 1) == ["▌ one two"]
    assert all(length(line) <= 44 for line in lines_of(Notification(LONG, "漢字" * 30), 44, 5))


@pytest.mark.pure
def test_the_newest_toasts_are_shown_and_the_others_counted() -> None:
    shown = [Notification(f"note {number}") for number in range(5)]
    found = ["".join(part for part, _ in line) for line, _ in rows(shown, 30, 2)]
    assert [line.split()[1:] for line in found] == [["note", "3", "+3"], ["note", "4"]]
    assert rows(shown, 30, 0) == []


@SIZES
def test_a_toast_covers_neither_a_pane_nor_the_list(size: tuple[int, int]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        for number in range(4):
            dashboard.notify(LONG, title=f"title {number}")
        place = (await toasts(app, pilot)).region
        assert app.screen.region.contains_region(place)
        panes = [frame.pane.region for frame in dashboard.query_one(PaneGrid).frames]
        assert not any(overlaps(place, region) for region in [*panes, dashboard.query_one(FleetList).region])
        await pilot.press("z")
        await until(pilot, lambda: dashboard.view.is_zoomed)
        place = (await toasts(app, pilot)).region
        panes = [frame.pane.region for frame in dashboard.query_one(PaneGrid).frames]
        assert not any(overlaps(place, region) for region in panes)

    run_dashboard(go, size=size)


@pytest.mark.parametrize("size", [(60, 20), pytest.param((72, 24), marks=pytest.mark.slow), (80, 24)])
def test_a_toast_in_the_header_leaves_the_chip_of_those_who_need_you(size: tuple[int, int]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.dashboard.notify(LONG, title="a title of its own")
        place = (await toasts(app, pilot)).region
        header = app.dashboard.query_one(Header)
        assert place.y == header.region.y
        assert "◆ 1 needs you " in header.render_line(0).text[: place.x]

    run_dashboard(go, size=size)


@SIZES
def test_a_toast_is_never_over_a_dialog(size: tuple[int, int]) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("right_square_bracket")
        for key, kind in (("a", AnswerDialog), ("f", Dialog)):
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, kind))  # noqa: B023 - called at once
            app.screen.notify(LONG, title="a title of its own", severity="error")
            place = (await toasts(app, pilot)).region
            assert not overlaps(place, app.screen.query_one("#dialog").region)
            assert not any(toast.display for toast in app.dashboard.query(Toasts)), "it is shown once"
            await pilot.press("escape")
            await until(pilot, lambda: app.screen is app.dashboard)

    run_dashboard(go, size=size)


def test_what_a_toast_on_screen_says_is_not_said_again() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for severity in ("warning", "error"):
            app.notify("restart the dashboard", title="fleet-tui was updated", severity=severity)
        app.notify("restart the dashboard", title="another title")
        await toasts(app, pilot)

        assert [one.severity for one in app._notifications] == ["warning", "information"]

    run_dashboard(go, size=(120, 40))


def test_a_click_takes_one_toast_away() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.dashboard.notify("first")
        app.dashboard.notify("second")
        shown = await toasts(app, pilot)
        assert shown.size.height == 2
        await pilot.click(shown, offset=(5, 0))
        await until(pilot, lambda: [one.message for one in app._notifications] == ["second"])
        await pilot.click(shown, offset=(5, 0))
        await until(pilot, lambda: not shown.display)

    run_dashboard(go, size=(120, 40))


def test_a_toast_leaves_when_its_time_is_over() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        app.dashboard.notify("soon gone", timeout=0.2)
        shown = await toasts(app, pilot)
        await until(pilot, lambda: not shown.display)

    run_dashboard(go, size=(120, 40))


def test_a_toast_without_room_is_shown_when_there_is_some() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, Dialog))
        app.screen.query_one("#dialog").styles.max_height = "100%"
        app.screen.query_one("#dialog").styles.height = "100%"
        await pilot.pause()
        app.screen.notify("waits for its room", timeout=5.0)
        await until(pilot, lambda: any(one.time_left > one.timeout for one in app._notifications))
        assert not app.screen.query_one(Toasts).region
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert "waits for its room" in (await toasts(app, pilot)).render_line(0).text

    run_dashboard(go, size=(80, 24))
