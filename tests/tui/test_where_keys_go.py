"""Where keys land is what the screen says, whatever happens to the terminal, the list and the agent meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fleet_tui.fleet import Fleet
from fleet_tui.models import FleetState, Status
from fleet_tui.tui.widgets.pane_grid import PaneGrid
from fleet_tui.tui.widgets.rows import Filter
from fleet_tui.values import replace
from tests.tui import states
from tests.tui.desk import LEAVE, PROGRAM, Desk, open_desk
from tests.tui.stage import StageApp, until
from tests.tui.test_dashboard import footer, on_stage

needs_program = pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_desk(tmp_path, {"one": (), "two": ()}) as opened:
        yield opened


def going(desk: Desk) -> set[str]:
    with contextlib.closing(Fleet(desk.folder / "project")) as fleet:
        return {agent.name for agent in fleet.agents() if not agent.has_ended}


@pytest.mark.slow
@needs_program
def test_keys_stay_with_the_agent_while_the_terminal_is_too_small(desk: Desk) -> None:
    desk.type_to("two")
    desk.app.resize(20, 10)
    desk.app.wait_for_text("too small")
    desk.app.resize(120, 40)
    desk.wait_until_typing("two")
    desk.app.send(b"xx")
    desk.app.wait_for(lambda: desk.received("two") == b"xx", "the keys at the agent")
    assert going(desk) == {"one", "two"}


@pytest.mark.slow
@needs_program
def test_keys_for_an_agent_that_was_killed_elsewhere_do_nothing_until_one_leaves(desk: Desk) -> None:
    desk.type_to("one")
    with contextlib.closing(Fleet(desk.folder / "project")) as fleet:
        fleet.kill([fleet.find("one")])
    desk.app.wait_for_text("one is gone")
    desk.app.send(b"xx\x1b[27u\rXX")
    desk.app.send(LEAVE)
    desk.app.wait_for(lambda: " LIST " in desk.app.text and "one is gone" not in desk.app.text, "the list")
    assert going(desk) == {"two"}
    assert desk.received("two") == b""
    assert desk.typed("two", b"word") == b"word"


def test_keys_stay_with_the_agent_when_others_come_before_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        desk = app.dashboard
        await pilot.press("j", "enter")
        await until(pilot, lambda: desk.typing == "id-refactor-auth-b")
        first, *others = desk.state.agents
        more = [replace(first, id=f"id-{n}", name=f"more-{n}") for n in range(3)]
        desk.state = FleetState((*more, first, *others), desk.state.batches, 2)
        await pilot.pause()
        assert_keys_go_to(app, "id-refactor-auth-b")

    on_stage(go)


@pytest.mark.slow
def test_keys_stay_with_the_agent_that_a_filter_has_come_to_hide() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        desk = app.dashboard
        await pilot.press("enter")
        await until(pilot, lambda: desk.typing == "id-refactor-auth-a")
        desk.show_rows(replace(desk.shown, filter=Filter("s:blocked")))
        await pilot.pause()
        assert_keys_go_to(app, "id-refactor-auth-a")

    on_stage(go)


@pytest.mark.slow
def test_a_click_into_the_filter_ends_typing() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        desk = app.dashboard
        await pilot.press("slash", *"auth", "enter", "enter")
        await until(pilot, lambda: bool(desk.typing))
        await pilot.click("#filter")
        await until(pilot, lambda: " FILTER " in footer(app))
        assert desk.typing == ""
        assert desk.focused is desk.query_one("#filter")

    on_stage(go)


def assert_keys_go_to(app: StageApp, agent_id: str) -> None:
    desk = app.dashboard
    assert desk.typing == agent_id
    frame = desk.query_one(PaneGrid).frame_of(agent_id)
    assert frame is not None
    assert desk.focused is frame.pane
    assert [one for one in desk.query_one(PaneGrid).frames if one.pane.is_typing] == [frame]
    assert frame.has_class("typing")


def test_typing_to_an_agent_that_has_ended_says_so_and_how_to_leave() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        desk = app.dashboard
        await pilot.press("enter")
        await until(pilot, lambda: "TYPING → refactor-auth-A" in footer(app))
        desk.state = states.with_status(desk.state, "refactor-auth-A", Status.EXITED)
        await pilot.pause()
        assert " ENDED → refactor-auth-A " in footer(app)
        assert "ctrl+q back to the list" in footer(app)
        assert "keys do nothing" in footer(app)
        frame = desk.query_one(PaneGrid).frame_of("id-refactor-auth-a")
        assert frame is not None
        assert "ENDED" in str(frame.border_subtitle)
        await pilot.press("x", "x")
        assert not any(call[0] == "stop" for call in app.worker.asked)
        await pilot.press("ctrl+q")
        assert " LIST " in footer(app)

    on_stage(go)
