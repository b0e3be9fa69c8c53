"""Where keys land is what the screen says, whatever happens to the terminal, the list and the agent meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import FleetState, Status
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.widgets.rows import Filter
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.installed_dashboard import LEAVE, PROGRAM, InstalledDashboard, open_dashboard
from tests.tui.test_dashboard import footer
from tests.watched_fleet import WatchedFleet

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


@pytest.fixture
def dashboard(tmp_path: Path) -> Iterator[InstalledDashboard]:
    with open_dashboard(tmp_path, {"one": (), "two": ()}) as opened:
        yield opened


def going(dashboard: InstalledDashboard) -> set[str]:
    with contextlib.closing(WatchedFleet(dashboard.folder / "project")) as fleet:
        return {agent.name for agent in fleet.agents() if not agent.has_ended}


@pytest.mark.slow
@needs_program
def test_keys_stay_with_the_agent_while_the_terminal_is_too_small(dashboard: InstalledDashboard) -> None:
    dashboard.type_to("two")
    dashboard.app.resize(20, 10)
    dashboard.app.wait_for_text("too small")
    dashboard.app.resize(120, 40)
    dashboard.wait_until_typing("two")
    dashboard.app.send(b"xx")
    dashboard.app.wait_for(lambda: dashboard.received("two") == b"xx", "the keys at the agent")
    assert going(dashboard) == {"one", "two"}


@pytest.mark.slow
@needs_program
def test_keys_for_an_agent_that_was_killed_elsewhere_do_nothing_until_the_user_leaves(
    dashboard: InstalledDashboard,
) -> None:
    dashboard.type_to("one")
    with contextlib.closing(WatchedFleet(dashboard.folder / "project")) as fleet:
        fleet.kill([fleet.find("one")])
    dashboard.app.wait_for_text("one is gone")
    dashboard.app.send(b"xx\x1b[27u\rXX")
    dashboard.app.send(LEAVE)
    dashboard.app.wait_for(
        lambda: " LIST " in dashboard.app.text and "one is gone" not in dashboard.app.text, "the list"
    )
    assert going(dashboard) == {"two"}
    assert dashboard.received("two") == b""
    assert dashboard.typed("two", b"word") == b"word"


def test_keys_stay_with_the_agent_when_others_come_before_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("j", "enter")
        await until(pilot, lambda: dashboard.view.typing == "id-refactor-auth-b")
        first, *others = dashboard.view.state.agents
        more = [replace(first, id=f"id-{n}", name=f"more-{n}") for n in range(3)]
        dashboard.view.take_state(FleetState((*more, first, *others), dashboard.view.state.batches, 2))
        await pilot.pause()
        assert_keys_go_to(app, "id-refactor-auth-b")

    run_dashboard(go)


@pytest.mark.slow
def test_keys_stay_with_the_agent_that_a_filter_has_come_to_hide() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("enter")
        await until(pilot, lambda: dashboard.view.typing == "id-refactor-auth-a")
        dashboard.view.change_rows(replace(dashboard.view.shown, filter=Filter("s:blocked")))
        await pilot.pause()
        assert_keys_go_to(app, "id-refactor-auth-a")

    run_dashboard(go)


@pytest.mark.slow
def test_a_click_into_the_filter_ends_typing() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("slash", *"auth", "enter", "enter")
        await until(pilot, lambda: bool(dashboard.view.typing))
        await pilot.click("#filter")
        await until(pilot, lambda: " FILTER " in footer(app))
        assert dashboard.view.typing == ""
        assert dashboard.focused is dashboard.query_one("#filter")

    run_dashboard(go)


def assert_keys_go_to(app: StageApp, agent_id: str) -> None:
    dashboard = app.dashboard
    assert dashboard.view.typing == agent_id
    frame = dashboard.query_one(PaneGrid).frame_of(agent_id)
    assert frame is not None
    assert dashboard.focused is frame.pane
    assert [one for one in dashboard.query_one(PaneGrid).frames if one.pane.is_typing] == [frame]
    assert frame.has_class("typing")


def test_typing_to_an_agent_that_has_ended_says_so_and_how_to_leave() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        dashboard = app.dashboard
        await pilot.press("enter")
        await until(pilot, lambda: "TYPING → refactor-auth-A" in footer(app))
        dashboard.view.take_state(
            fleet_states.with_status(dashboard.view.state, "refactor-auth-A", Status.EXITED)
        )
        await pilot.pause()
        assert " ENDED → refactor-auth-A " in footer(app)
        assert "ctrl+q back to the list" in footer(app)
        assert "keys do nothing" in footer(app)
        frame = dashboard.query_one(PaneGrid).frame_of("id-refactor-auth-a")
        assert frame is not None
        assert "ENDED" in str(frame.border_subtitle)
        await pilot.press("x", "x")
        assert not any(call[0] == "stop" for call in app.worker.asked)
        await pilot.press("ctrl+q")
        assert " LIST " in footer(app)

    run_dashboard(go)
