"""Conflicts on the dashboard: marks come and go with the agents' work, and the keys that do something about them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fleet_tui.faces.conflict_wording import conflict_prompt, marks
from fleet_tui.faces.live import ConflictDetails, LiveData
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, FleetState
from fleet_tui.tui.dialogs.prompt import PromptDialog
from fleet_tui.tui.review.screen import ReviewScreen
from fleet_tui.tui.widgets.conflict_lines import conflict_lines, shared_line
from fleet_tui.tui.widgets.lines import length
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.row_lines import Look, draw
from fleet_tui.tui.widgets.rows import RowFilter, rows
from fleet_tui.work import Conflict, ConflictingFile, ConflictPlace
from tests.tui import fleet_states
from tests.tui.dashboard_app import StageApp, run_dashboard, until
from tests.tui.running_dashboard import Driven, drive, opened

A, B, C = fleet_states.SMALL.agents[:3]


def marked_rows(driven: Driven) -> list[str]:
    return [line for line in driven.text().splitlines() if "≠" in line]


def colliding(fleet: Fleet) -> tuple[Agent, Agent]:
    """Two agents of a batch that have added the same file."""
    one, other = fleet.multi(
        [("task-A", "read x; echo $x; exec cat"), ("task-B", "exec cat")], profile="shell"
    )
    for agent in (one, other):
        (Path(agent.worktree) / "same.txt").write_text(f"{agent.name}\n")
    return one, other


def test_both_rows_are_marked_when_two_collide_and_a_kill_takes_the_marks_away(
    fleet: Fleet, repository: Path
) -> None:
    one, other = colliding(fleet)

    async def go() -> None:
        async with opened(repository) as driven:
            view = driven.dashboard.view
            await driven.until(
                lambda: view.live.conflict_marks == {one.id: "B", other.id: "A"}, "both are marked"
            )
            await driven.until(lambda: "same.txt  both added it" in driven.text(), "the detail tells where")
            shown = driven.text()
            assert "A  ≠ B" in shown
            assert "B  ≠ A" in shown
            assert "≠ 2" in shown.splitlines()[0]
            assert "conflicts with task-B" in shown
            assert "= diff of the two" in shown

            fleet.kill([other], grace=0.2)
            await driven.until(lambda: not view.live.conflict_marks, "the marks are gone", 30.0)

    drive(go())


@pytest.mark.slow
def test_the_marks_go_when_the_two_merge_again_and_no_row_moves(fleet: Fleet, repository: Path) -> None:
    one, _ = colliding(fleet)

    async def go() -> None:
        async with opened(repository) as driven:
            view = driven.dashboard.view
            await driven.until(lambda: len(view.live.conflict_marks) == 2, "both are marked")
            order = [agent.name for agent in view.listed]

            (Path(one.worktree) / "same.txt").write_text("task-B\n")
            fleet.prompts.send(one, "go on", now=True)
            await driven.until(lambda: not view.live.conflict_marks, "the marks are gone", 30.0)
            await driven.until(lambda: "≠" not in driven.text(), "nothing says so any more")
            assert [agent.name for agent in view.listed] == order

    drive(go())


def test_the_prompt_begins_with_the_conflict_and_typing_replaces_it() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        area = app.screen.query_one(PromptArea)
        await until(pilot, lambda: area.text)
        assert area.text.startswith("Your work does not merge with that of refactor-auth-C")
        assert "lines 37–46 issue()" in area.text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        assert not app.dashboard.groups.prompts._drafts.text(f"prompt {A.id}", "prompt")

        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        await pilot.press("h", "i")
        await until(pilot, lambda: app.screen.query_one(PromptArea).text == "hi")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        await pilot.press("p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        assert app.screen.query_one(PromptArea).text == "hi"

    run_dashboard(go, live=fleet_states.IN_CONFLICT)


def test_the_diff_of_the_two_opens_and_an_agent_without_a_conflict_has_none() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("equals_sign")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen))
        [review] = [screen for screen in app.screen_stack if isinstance(screen, ReviewScreen)]
        model = review.model
        assert (model.agent.id, model.against) == (A.id, C.name)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        await pilot.press("j", "equals_sign")
        await until(
            pilot, lambda: any("conflicts with nobody" in toast.message for toast in app._notifications)
        )
        assert app.screen is app.dashboard

    run_dashboard(go, live=fleet_states.IN_CONFLICT)


def test_an_agent_without_a_conflict_gets_an_empty_prompt() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.press("j", "p")
        await until(pilot, lambda: isinstance(app.screen, PromptDialog))
        assert app.screen.query_one(PromptArea).text == ""

    run_dashboard(go, live=fleet_states.IN_CONFLICT)


def test_a_click_on_the_count_goes_from_one_to_the_other() -> None:
    async def go(app: StageApp, pilot: Pilot[None]) -> None:
        await pilot.pause()
        text = "".join(segment.text for segment in app.screen._compositor.render_strips()[0])
        place = text.index("≠ 2")
        await pilot.click("#header", offset=(place, 0))
        await until(pilot, lambda: app.dashboard.view.selected == C.id)
        await pilot.click("#header", offset=(place, 0))
        await until(pilot, lambda: app.dashboard.view.selected == A.id)

    run_dashboard(go, live=fleet_states.IN_CONFLICT)


# ── lines ───────────────────────────────────────────────────────────────────────────────────────────────────────


def drawn(
    live: LiveData, width: int, state: FleetState = fleet_states.SMALL, *, height: int = 100
) -> list[str]:
    look = Look(live=live, now=fleet_states.NOW, is_stacked=height < 30)
    return [
        "".join(text for text, _ in line) for line, _ in draw(rows(state, RowFilter()), look, width, height)
    ]


@pytest.mark.pure
@pytest.mark.parametrize("width", [28, 34, 44, 48, 60, 80, 120])
@pytest.mark.parametrize("height", [100, 10])
def test_the_mark_stays_whatever_has_to_be_cut(width: int, height: int) -> None:
    long = replace(A, name="refactor-auth-A-name-that-is-far-too-long-for-any-row-of-a-list")
    state = replace(fleet_states.SMALL, agents=(long, *fleet_states.SMALL.agents[1:]))

    found = drawn(fleet_states.IN_CONFLICT, width, state, height=height)

    assert sum("≠ " in line for line in found) == 2
    assert all(length(((line, ""),)) <= width for line in found)


@pytest.mark.pure
def test_marks_neither_add_lines_nor_move_rows() -> None:
    plain, marked = drawn(fleet_states.LIVE, 48), drawn(fleet_states.IN_CONFLICT, 48)
    assert len(plain) == len(marked)
    assert [line for line in plain if "≠" in line] == []
    assert sum(one != other for one, other in zip(plain, marked, strict=True)) == 2


def detail(details: ConflictDetails, width: int, most: int, agent: Agent = A) -> list[str]:
    found = conflict_lines(details, agent, fleet_states.SMALL.agents, width, most)
    assert all(length(line) <= width for line in found), found
    return ["".join(text for text, _ in line).rstrip() for line in found]


@pytest.mark.pure
def test_the_detail_tells_who_where_and_what_merges(monkeypatch: pytest.MonkeyPatch) -> None:
    assert detail(fleet_states.IN_CONFLICT.conflict_details, 41, 10) == [
        f" ≠ conflicts with refactor-auth-C  {time.strftime('%H:%M', time.localtime(fleet_states.NOW - 240))}",
        "   src/auth/session.py  37–46 issue()",
        "   src/auth/claims.py   both added it",
        " ✓ merges with main and with B",
        "   both touch pyproject.toml, it merges",
    ]


@pytest.mark.pure
@pytest.mark.parametrize("width", [20, 30, 41, 50])
@pytest.mark.parametrize("most", [0, 1, 2, 3, 4, 6, 12])
def test_many_conflicts_are_counted_where_there_is_no_room(width: int, most: int) -> None:
    files = tuple(f"a/very/deep/folder/of/the/project/with/module{number}.py" for number in range(9))
    several = tuple(
        (
            Conflict(A.id, other, "main", files, 0.0),
            tuple(
                ConflictingFile(path, "both changed", (ConflictPlace(1, 2, "function_name()"),))
                for path in files
            ),
        )
        for other in (C.id, B.id, "")
    )

    found = detail(ConflictDetails(A.id, several), width, most)

    assert len(found) <= most
    if most >= 2:
        assert "≠" in found[0]
    if most == 12:
        assert any("more files" in line for line in found)


@pytest.mark.pure
def test_files_that_others_changed_too_are_named_when_nothing_conflicts() -> None:
    details = ConflictDetails(A.id, (), "main", (B.id,), ("pyproject.toml",))
    line = shared_line(details, A, fleet_states.SMALL.agents)
    assert "".join(text for text, _ in line) == " shared  pyproject.toml with B, merges"
    assert shared_line(details, B, fleet_states.SMALL.agents) == ()
    assert shared_line(fleet_states.IN_CONFLICT.conflict_details, A, fleet_states.SMALL.agents) == ()


@pytest.mark.pure
def test_names_from_outside_are_sanitized_wherever_a_conflict_is_told() -> None:
    evil = "e\x1b[31m\u202ev\x9bil\n"
    file = ConflictingFile(evil, "both changed", (ConflictPlace(1, 2, evil),), evil)
    conflicts = (Conflict(A.id, "", evil, (evil,), 0.0), Conflict(A.id, C.id, evil, (evil,), 0.0))
    details = ConflictDetails(A.id, tuple((one, (file,)) for one in conflicts), "", (B.id,), (evil,))
    agents = tuple(replace(one, name=f"{evil}{one.name}", branch=evil) for one in fleet_states.SMALL.agents)
    live = replace(
        fleet_states.LIVE,
        conflicts=conflicts,
        conflict_details=details,
        conflict_marks=marks(agents, conflicts),
    )
    state = replace(fleet_states.SMALL, agents=agents)

    found = [
        *drawn(live, 80, state),
        *detail(details, 60, 12),
        *conflict_prompt(agents[0], live, agents).split("\n"),
    ]

    assert any("≠" in line for line in found)
    assert all(line.isprintable() for line in found), found
