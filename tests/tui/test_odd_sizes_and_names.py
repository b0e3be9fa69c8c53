"""Awkward terminals and names: tiny, resized under a dialog, with wide or joined characters, too long."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from fleet_tui.faces.live import LiveData
from fleet_tui.models import Agent, Batch, Evidence, FleetState, Status
from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.widgets.detail import Detail
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.lines import clean, wrap
from fleet_tui.tui.widgets.row_lines import Look, draw, full_row
from fleet_tui.tui.widgets.rows import AgentRow, BatchRow, RowFilter, rows
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.test_dialogs import plain, text_of

ASKED = "どちらの方法にしますか、速いほうですか?"
LONG = "a-name-that-goes-on-and-on-" * 6


def one(name: str, status: Status = Status.WORKING, **changes: object) -> Agent:
    return replace(fleet_states.agent(name, status, batch="b"), **changes)  # type: ignore[arg-type]  # fields by name


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text", [ASKED, "run rm -rf build/ dist/ && python -m build?", "x" * 90, "a 漢字 b " * 9]
)
@pytest.mark.parametrize("width", [7, 12, 30])
def test_a_text_is_wrapped_by_cells_and_nothing_of_it_is_lost(text: str, width: int) -> None:
    lines = wrap(text, width, 99)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_words_are_kept_whole_where_they_fit() -> None:
    assert wrap("run rm -rf build/ dist/", 10, 2) == ["run rm -rf", "build/ dist/"]
    assert wrap("one two", 20, 2) == ["one two"]
    assert wrap("", 20, 2) == [""]


def test_a_question_in_wide_characters_is_not_cut_in_its_first_line() -> None:
    agent = one("asks-A", Status.BLOCKED, status_detail="question", evidence=Evidence("osc7501", ASKED))
    _, first, second = plain(full_row(AgentRow(agent, "A"), Look(), 42))
    assert cell_len(first) == cell_len(second) == 42
    assert "…" not in first
    assert first.split("question")[1].strip() + second.split(" a answer")[0].strip() == ASKED


def test_formatting_characters_are_left_out_of_names() -> None:
    assert clean("👩\u200d👧") == "👩👧"
    assert clean("a\u202eb\u2066c") == "abc", "nothing turns the writing round"
    assert clean("a\x1b[31mb\x07") == "a�[31mb�", "what could move a cursor is shown to be there"


def test_a_batch_with_a_long_name_still_says_how_many_it_has() -> None:
    agents = (one(f"{LONG}-A"), one(f"{LONG}-B"))
    for is_folded, end in ((False, "…  2 "), (True, "…  2 ●2 ")):
        row = BatchRow(("p", "b"), "project", LONG, agents, is_folded)
        line = plain([draw([row], Look(is_stacked=True), 60, 10)[0][0]])[0]
        assert line.endswith(end)
        assert cell_len(line) == 60


def test_the_columns_of_a_wide_list_go_through_all_batches_and_no_wide_name_is_cut() -> None:
    agents = (replace(one("漢字漢字漢字"), batch="b"), replace(one("F"), batch="c"))
    batches = (Batch("b", fleet_states.ATLAS, 1.0), Batch("c", fleet_states.ATLAS, 2.0))
    for width in (80, 42):
        found = rows(FleetState(agents, batches, 1), RowFilter())
        lines = plain([line for line, _ in draw(found, Look(is_stacked=True), width, 9)])
        assert any("漢字漢字漢字 " in line for line in lines)
        if width == 80:
            columns = {cell_len(line.split("working")[0]) for line in lines if "working" in line}
            assert len(columns) == 1, lines


def test_the_title_of_a_pane_says_the_status_however_long_the_name() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "… ─ working ─╮" in text_of(app))

    run_dashboard(go, FleetState((one(LONG),), (Batch("b", fleet_states.ATLAS, 1.0),), 1), size=(120, 40))


# ── small terminals ─────────────────────────────────────────────────────────────────────────────────────────────


def header(width: int) -> str:
    made = Header()
    made._agents = fleet_states.SMALL.agents
    made._live = fleet_states.LIVE
    made._today, made._clock = 3.12, "14:02"
    return plain(made.lines(width, 1))[0]


def test_the_cost_stays_in_the_header_of_a_narrow_terminal() -> None:
    assert header(80).endswith("  $3.12   14:02 ")
    assert header(80).startswith(" fleet    ◆ 1 needs you    ✗ 1  ◔ 1")


def test_a_narrow_list_keeps_the_names_and_ages_of_its_agents() -> None:
    agent = fleet_states.SMALL.agents[0]
    look = Look(live=fleet_states.LIVE, now=fleet_states.NOW)
    for width in range(22, 60):
        who, *_ = plain(full_row(AgentRow(agent, "A-long-one"), look, width))
        assert cell_len(who) == width
        assert who.startswith("  ● A-long-one ")
        assert who.endswith(" 12m ")
        assert ("+120" in who) == (width >= 32)
        assert ("claude" in who) == (width >= 40)


def test_whole_counts_leave_a_tiny_header_the_least_urgent_first() -> None:
    for width in range(36, 80):
        line = header(width)
        assert cell_len(line) == width
        assert "…" not in line
        assert "◆ 1 needs you" in line
        assert line.endswith(" 14:02 ")
    assert "✗ 1 " in header(40)
    assert "○ 1" not in header(40)


@pytest.mark.slow
def test_a_tiny_terminal_has_all_choices_of_a_question() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        await until(pilot, lambda: " 3   No, and tell it" in text_of(app))
        assert "$ rm -rf build/ dist/" in text_of(app)
        assert "esc later" in text_of(app)

    run_dashboard(go, size=(40, 12))


@pytest.mark.slow
def test_a_pane_of_few_rows_says_how_to_see_more_of_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "z zoom ─╯" in text_of(app))
        await pilot.press("z")
        await until(pilot, lambda: "z zoom ─╯" not in text_of(app))
        await pilot.press("z")
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "z zoom ─╯" not in text_of(app))

    run_dashboard(go, size=(40, 12))


def test_help_says_the_way_out_before_anything_else() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("question_mark")
        await until(pilot, lambda: "esc close" in text_of(app))

    run_dashboard(go, size=(40, 12))


@pytest.mark.parametrize("state", [fleet_states.SMALL, fleet_states.EMPTY], ids=["agents", "none"])
def test_a_dashboard_that_does_not_fit_says_so_and_returns_when_it_fits(state: FleetState) -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "20×6 is too small" in text_of(app))
        assert "it needs 30×10" in text_of(app)
        assert "fleet" not in text_of(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: " LIST " in text_of(app) and "too small" not in text_of(app))

    run_dashboard(go, state, size=(20, 6))


MANY = FleetState(
    tuple(one(f"task-{number}-A") for number in range(60)), (Batch("b", fleet_states.ATLAS, 1.0),), 1
)


def shows_the_selected(app: StageApp) -> bool:
    listed = app.dashboard.query_one(FleetList)
    return any("▌" in listed.render_line(y).text for y in range(listed.size.height))


def test_the_selected_agent_stays_in_view_when_others_appear_above_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("G")
        more = tuple(one(f"task-{number}-B") for number in range(7))
        app.dashboard.view.take_state(replace(MANY, agents=(*more, *MANY.agents)))
        await pilot.pause()
        assert shows_the_selected(app)

        await pilot.resize_terminal(80, 24)
        assert shows_the_selected(app)
        app.dashboard.view.take_state(MANY)
        await pilot.pause()
        assert shows_the_selected(app)

    run_dashboard(go, MANY, size=(120, 40))


def test_a_list_that_was_scrolled_away_from_the_selected_agent_stays_there() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("G")
        listed = app.dashboard.query_one(FleetList)
        for _ in range(20):
            listed.on_mouse_scroll_up()
        await until(pilot, lambda: not shows_the_selected(app))
        app.dashboard.show()
        await pilot.pause()
        assert not shows_the_selected(app)

    run_dashboard(go, MANY, size=(120, 40))


# ── another size while a dialog is open ─────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_an_answer_moves_to_its_row_when_the_terminal_grows() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, AnswerDialog))
        await pilot.resize_terminal(160, 45)
        await until(pilot, lambda: app.screen.query_one("#dialog").region.x == 48)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: app.screen.query_one("#dialog").region.right <= 80)

    run_dashboard(go, size=(80, 24))


@pytest.mark.slow
def test_a_dialog_survives_any_size_and_keeps_what_was_written() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        for chord in ("f", "n", "M", "question_mark", "p", "e", "colon", "Q"):
            await pilot.press(chord)
            await until(pilot, lambda: app.screen is not app.dashboard)
            await pilot.press("x", "y")
            for size in ((40, 12), (20, 6), (250, 70), (120, 40)):
                await pilot.resize_terminal(*size)
            assert app.screen is not app.dashboard, chord
            if chord != "e":
                await until(pilot, lambda: "xy" in text_of(app))
            while app.screen is not app.dashboard:
                await pilot.press("escape")

    run_dashboard(go, size=(120, 40))


def test_two_hundred_agents_are_drawn_at_every_size() -> None:
    agents = tuple(one(f"task-{number}-A", list(Status)[number % 9]) for number in range(200))
    state = FleetState(agents, (Batch("b", fleet_states.ATLAS, 1.0),), 1)
    found = [AgentRow(agent, agent.name, 12) for agent in agents]
    for width in (28, 42, 76, 120):
        lines = [line for line, _ in draw(found, Look(agents[7].id, live=LiveData()), width, 30)]
        assert len(lines) >= len(state.agents)
        assert all(cell_len(line) == width for line in plain(lines))


# ── the detail panel ────────────────────────────────────────────────────────────────────────────────────────────


def about(width: int, name: str = "refactor-auth-A", **live: object) -> list[str]:
    detail = Detail()
    agent = replace(fleet_states.SMALL.agents[0], branch=name)
    detail._agent, detail._now = agent, fleet_states.NOW
    detail._live = replace(fleet_states.LIVE, **live)  # type: ignore[arg-type]  # fields by name
    return [line.strip() for line in plain(detail.lines(width, 15))]


def test_a_branch_says_how_far_it_has_come_in_the_room_there_is() -> None:
    assert "branch  refactor-auth-A 3 ahead of e41c0d2" in about(46)
    assert "branch  refactor-auth-A 3 ahead" in about(42)
    assert any(line.endswith("… 3 ahead") for line in about(42, LONG))
    assert "branch  refactor-auth-A at e41c0d2" in about(46, ahead=0)
    assert "branch  refactor-auth-A from e41c0d2" in about(46, ahead=None), "while it is not known"


def test_a_changed_git_file_is_named_where_the_changes_would_be() -> None:
    changed = {fleet_states.SMALL.agents[0].id: "its .git was changed"}
    assert "branch  refactor-auth-A ! its .git was changed" in about(60, link_problems=changed)
    assert any(line.endswith("… ! its .git was changed") for line in about(42, LONG, link_problems=changed))
    agent = fleet_states.SMALL.agents[0]
    live = replace(fleet_states.LIVE, link_problems=changed)
    for width in (76, 120):
        row = AgentRow(agent, agent.name, 12)
        drawn = plain([line for line, _ in draw([row], Look(live=live), width, 30)])
        assert any("! .git" in line for line in drawn)
        assert not any("+" in line for line in drawn)


def test_the_log_has_times_where_there_is_activity_and_lines_where_there_are_none() -> None:
    shown = about(46)
    assert shown[-1].endswith("Bash pytest -q tests/auth")
    assert shown[-1][2] == ":"
    assert about(46, recent_activity=())[-1] == "214 passed in 38.20s"
    of_another = about(46, log=("id-somebody", ("not mine",)))
    assert not any("pytest -q tests/auth" in line and ":" in line[:3] for line in of_another)
