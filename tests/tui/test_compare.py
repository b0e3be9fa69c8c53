"""The compare screen: what its keys do, and how it follows checks and agents."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from fleet_tui.errors import FleetError
from fleet_tui.models import Status
from fleet_tui.tui.compare.compare_help import CompareHelp
from fleet_tui.tui.compare.panels import across, landing, matrix, prompt_lines, reasons
from fleet_tui.tui.compare.ranking_table import TableLook, table
from fleet_tui.tui.compare.screen import CompareScreen
from fleet_tui.tui.dialogs.confirm import Confirm
from fleet_tui.tui.dialogs.logs import LogScreen, LogView
from fleet_tui.tui.widgets.lines import Line
from fleet_tui.work import CheckState
from tests.tui.compare_states import (
    CHECKED,
    IDS,
    PROMPT,
    RUNNING,
    STATE,
    UNCHECKED,
    CompareWorker,
    check,
    compared,
    comparison,
)
from tests.tui.dashboard_app import StageApp, until
from tests.tui.keyboard import Keyboard


def in_loop(steps: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test of these steps in an event loop."""

    @functools.wraps(steps)
    def run() -> None:
        asyncio.run(steps())

    return run


def stage(worker: CompareWorker | None = None) -> StageApp:
    return StageApp(STATE, worker=worker or CompareWorker())


async def comparing(app: StageApp, pilot: Pilot[None]) -> CompareScreen:
    """The screen, once it shows a comparison."""
    app.dashboard.view.select(IDS["A"])
    await pilot.press("c")
    screen = app.screen
    assert isinstance(screen, CompareScreen)
    await until(pilot, lambda: screen.model.found is not None)
    return screen


def asked(app: StageApp, verb: str) -> list[tuple[Any, ...]]:
    return [call[1:] for call in app.worker.asked if call[0] == verb]


def text(lines: list[Line]) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line in lines]


# ── what is opened ──────────────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_c_compares_the_batch_of_the_selected_agent() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)

        assert asked(app, "comparison.of")[0][0] == [agent.id for agent in STATE.agents]
        assert [one.label for one in screen.model.compared] == ["C", "A", "E", "D", "B"]
        assert screen.model.selected == IDS["C"]
        await pilot.press("escape")
        assert app.screen is app.dashboard


@in_loop
async def test_c_compares_the_marked_agents() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        app.dashboard.view.select(IDS["A"])
        await pilot.press("space", "space", "c")
        await until(pilot, lambda: asked(app, "comparison.of"))

        assert asked(app, "comparison.of")[0][0] == [IDS["A"], IDS["B"]]


@in_loop
async def test_an_agent_alone_has_nobody_to_be_compared_with() -> None:
    app = StageApp(replace(STATE, agents=STATE.agents[:1]), worker=CompareWorker())
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        await pilot.press("c")
        await pilot.pause()

        assert app.screen is app.dashboard


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_keys_move_mark_and_sort() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)

        await pilot.press("j", "space", "G", "space", "k", "space")
        assert screen.model.marked == (IDS["B"], IDS["D"])
        await pilot.press("o")
        assert screen.model.order == "size"
        assert [one.label for one in screen.model.compared] == ["D", "C", "B", "A", "E"]
        assert screen.model.selected == IDS["D"]
        await pilot.press("question_mark")
        assert isinstance(app.screen, CompareHelp)


@in_loop
async def test_keeping_one_asks_first_and_then_trashes_the_others() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)

        await pilot.press("K")
        assert isinstance(app.screen, Confirm)
        await pilot.press("escape")
        assert not asked(app, "comparison.keep")
        await pilot.press("K", "y")
        await until(pilot, lambda: not screen.is_attached)

        others = [agent.id for agent in STATE.agents if agent.id != IDS["C"]]
        assert asked(app, "comparison.keep") == [(IDS["C"], others, {})]


@in_loop
async def test_the_output_of_a_check_is_followed() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        await comparing(app, pilot)

        await pilot.press("L")
        screen = app.screen
        assert isinstance(screen, LogScreen)
        await until(pilot, lambda: screen.query_one(LogView).place == "3 of 3")
        assert asked(app, "checks.output")[0][0] == IDS["C"]


@in_loop
async def test_two_marked_agents_are_reviewed_against_each_other() -> None:
    app = stage()
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)
        opened: list[tuple[str, str]] = []
        around = replace(screen._around, review=lambda agent, against: opened.append((agent.name, against)))
        screen._around = around

        await pilot.press("d", "equals_sign")
        assert opened == [("refactor-auth-C", "")]
        await pilot.press("space", "j", "equals_sign")
        assert opened[1] == ("refactor-auth-C", "refactor-auth-A")


# ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────────


@in_loop
async def test_work_without_a_check_of_its_own_is_checked_when_it_is_looked_at() -> None:
    stale = replace(CHECKED.agents[0], is_check_current=False)
    worker = CompareWorker(comparison(stale, *CHECKED.agents[1:], command="make test"))
    app = stage(worker)
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        await comparing(app, pilot)
        await until(pilot, lambda: asked(app, "checks.start"))

        assert asked(app, "checks.start") == [([IDS["C"]], {})]


@in_loop
async def test_without_a_command_nothing_is_checked_and_the_reason_is_shown() -> None:
    app = stage(CompareWorker(UNCHECKED))
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)
        await pilot.press("r")
        await pilot.pause()

        assert not asked(app, "checks.start")
        assert "no check command" in screen._notice()[0][0]


@in_loop
async def test_r_checks_all_again_and_x_cancels() -> None:
    worker = CompareWorker()
    app = stage(worker)
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)

        worker.known["comparison.of"] = RUNNING
        worker.known["checks.runs"] = {one.id: one.check for one in RUNNING.agents}
        await pilot.press("r")
        await until(pilot, lambda: len(screen.model.running) == 2)
        assert asked(app, "checks.start") == [([IDS[label] for label in "CAEDB"], {})]
        await pilot.press("x")
        await until(pilot, lambda: asked(app, "checks.cancel"))


@pytest.mark.slow
@in_loop
async def test_a_check_that_ends_is_compared_anew() -> None:
    worker = CompareWorker(RUNNING)
    app = stage(worker)
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)
        before = len(asked(app, "comparison.of"))
        await until(pilot, lambda: len(asked(app, "checks.runs")) > 1)
        assert len(asked(app, "comparison.of")) == before

        worker.known["checks.runs"] = {one.id: one.check for one in CHECKED.agents}
        worker.known["comparison.of"] = CHECKED
        await until(pilot, lambda: not screen.model.running)

        assert [one.label for one in screen.model.compared] == ["C", "A", "E", "D", "B"]


@pytest.mark.slow
@in_loop
async def test_a_failure_is_shown_and_what_was_known_stays() -> None:
    worker = CompareWorker()
    app = stage(worker)
    async with app.run_test(size=(120, 40), notifications=True):
        pilot = Keyboard(app)
        screen = await comparing(app, pilot)

        async def fail(verb: str, *_: Any, **__: Any) -> Any:
            raise FleetError("the repository is gone")

        screen.model._around = replace(screen._around, call=fail)
        changed = replace(STATE.agents[0], status=Status.WORKING)
        app.dashboard.view.take_state(replace(STATE, agents=(changed, *STATE.agents[1:])))
        await until(pilot, lambda: screen._failure is not None)

        assert screen.model.found is not None
        assert "the repository is gone" in str(screen._notice())


# ── lines ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.pure
@pytest.mark.parametrize("width", [40, 60, 78, 98, 118, 198])
@pytest.mark.parametrize("height", [3, 6, 11, 17, 40])
def test_the_table_fits_any_size_and_shows_the_selected_agent(width: int, height: int) -> None:
    rows = table(CHECKED, TableLook(IDS["B"]), width, height)

    assert len(rows) <= height
    assert all(len("".join(part for part, _ in line)) <= width for line, _ in rows)
    assert any(agent == IDS["B"] for _, agent in rows)


@pytest.mark.pure
def test_a_table_says_what_it_has_room_for() -> None:
    wide = text([line for line, _ in table(CHECKED, TableLook(), 118, 17)])
    narrow = text([line for line, _ in table(CHECKED, TableLook(), 58, 11)])

    assert wide[0].split() == [
        "#",
        "agent",
        "profile",
        "check",
        "diff",
        "files",
        "tests",
        "conflicts",
        "cost",
        "time",
    ]
    assert narrow[0].split() == ["#", "agent", "check", "diff", "files", "conflicts"]
    assert wide[2].split()[:5] == ["1", "C", "claude", "✓", "214"]
    assert narrow[-2].split()[-1] == "login.py"


@pytest.mark.pure
def test_outdated_and_missing_checks_are_not_shown_as_results() -> None:
    stale = replace(CHECKED.agents[0], is_check_current=False)
    never = replace(CHECKED.agents[1], check=None)

    lines = text([line for line, _ in table(comparison(stale, never), TableLook(), 118, 17)])

    assert any("– outdated" in line for line in lines)
    assert any("– not run" in line for line in lines)


@pytest.mark.pure
def test_landing_names_its_steps_and_what_stops_it() -> None:
    first, last = CHECKED.agents[0], CHECKED.agents[-1]

    assert text(landing(CHECKED, first, "m")) == [
        " Landing C will  m",
        " 1 commit 4 uncommitted files",
        " 2 run the check again on main + C",
        " 3 merge it into main",
        " 4 offer the other 4 for the trash; u brings back",
    ]
    assert text(landing(CHECKED, last, "m"))[1:] == [" 1 stop: src/http/login.py conflicts with main"]


@pytest.mark.pure
def test_reasons_name_what_decided_and_what_a_check_changed() -> None:
    run = check("A", CheckState.PASSED, "3 passed", note="the check changed report.xml")
    found = comparison(
        compared("C", check("C", CheckState.PASSED, "3 passed"), 0.1, 1.0), compared("A", run, 0.2, 1.0)
    )

    lines = text(reasons(found, found.agents[1], 100))

    assert " behind C: 134 lines against 83" in lines
    assert lines[-1] == " check: the check changed report.xml"


@pytest.mark.pure
def test_the_matrix_begins_with_what_most_of_them_touch_and_counts_what_it_leaves_out() -> None:
    lines = text(matrix(CHECKED, IDS["C"], 78, 5))

    assert lines[0].split() == ["C", "A", "E", "D", "B"]
    assert lines[1].split()[0] == "src/auth/session.py"
    assert lines[-1] == " and 5 more files"
    assert text(across(CHECKED))[1] == " • all change middleware.py, session.py"
    assert len(prompt_lines(PROMPT, 30, 3)) == 3
