"""Rows of the list: grouping, filtering and density."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet_tui.models import Batch, FleetState, Status
from fleet_tui.tui.panes.grid import follow, shape
from fleet_tui.tui.widgets.lines import length
from fleet_tui.tui.widgets.row_lines import Look, draw
from fleet_tui.tui.widgets.rows import (
    AgentRow,
    BatchRow,
    Filter,
    ProjectRow,
    RowFilter,
    agents_of,
    rows,
)
from tests.tui import fleet_states

pytestmark = pytest.mark.pure

LOOK = Look(selected="id-refactor-auth-a", live=fleet_states.LIVE, now=fleet_states.NOW)


def text(lines: list[tuple[tuple[tuple[str, str], ...], int]]) -> list[str]:
    return ["".join(part for part, _ in line).rstrip() for line, _ in lines]


def test_agents_are_listed_under_their_batch_and_project_by_their_suffix() -> None:
    found = rows(fleet_states.SMALL, RowFilter())
    assert [row.name for row in found if isinstance(row, ProjectRow)] == ["atlas-api", "pixel-web"]
    assert [row.name for row in found if isinstance(row, BatchRow)] == [
        "refactor-auth",
        "flaky-tests",
        "manual",
    ]
    assert [row.short for row in found if isinstance(row, AgentRow)] == [
        "A",
        "B",
        "C",
        "A",
        "B",
        "fix-432",
        "bump-deps",
    ]


def test_the_current_project_comes_first() -> None:
    found = rows(fleet_states.SMALL, RowFilter(here=fleet_states.PIXEL))
    assert isinstance(found[0], ProjectRow)
    assert found[0].name == "pixel-web"


def test_an_agent_keeps_its_place_whatever_happens_to_it() -> None:
    before = [agent.id for agent in agents_of(rows(fleet_states.SMALL, RowFilter()))]
    changed = fleet_states.with_status(fleet_states.SMALL, "flaky-tests-B", Status.BLOCKED)
    assert [agent.id for agent in agents_of(rows(changed, RowFilter()))] == before


def test_ordered_by_need_waiting_agents_come_first() -> None:
    found = agents_of(rows(fleet_states.SMALL, RowFilter(order="need")))
    assert [str(agent.status) for agent in found][:4] == ["blocked", "error", "limited", "done"]


def test_killed_agents_are_listed_only_when_asked_for() -> None:
    state = fleet_states.with_status(fleet_states.SMALL, "fix-432", Status.KILLED)
    assert "fix-432" not in [agent.name for agent in agents_of(rows(state, RowFilter()))]
    assert [agent.name for agent in agents_of(rows(state, RowFilter(Filter("s:killed"))))] == ["fix-432"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("s:blocked", ["refactor-auth-B"]),
        ("s:perm", ["refactor-auth-B"]),
        ("a:codex", ["refactor-auth-B", "flaky-tests-B"]),
        ("b:flaky", ["flaky-tests-A", "flaky-tests-B"]),
        ("b:flaky a:codex", ["flaky-tests-B"]),
        ("432", ["fix-432"]),
        ("no such thing", []),
    ],
)
def test_the_filter_takes_words_and_status_batch_and_agent(words: str, names: list[str]) -> None:
    assert [agent.name for agent in agents_of(rows(fleet_states.SMALL, RowFilter(Filter(words))))] == names


def test_a_folded_batch_shows_what_is_inside_most_urgent_first() -> None:
    found = rows(fleet_states.SMALL, RowFilter(folded=frozenset({(fleet_states.ATLAS, "fan1")})))
    lines = text(draw(found, LOOK, 46, 40))
    assert any("▸ refactor-auth  3" in line and line.endswith("◆1 ✓1 ●1") for line in lines)
    assert len(agents_of(found)) == 4


@pytest.mark.parametrize("width", [30, 42, 46, 50, 78, 120])
@pytest.mark.parametrize("height", [8, 16, 22, 40])
def test_every_line_is_exactly_as_wide_as_the_list(width: int, height: int) -> None:
    for line, _ in draw(rows(fleet_states.BIG, RowFilter()), LOOK, width, height):
        assert not line or length(line) <= width


def test_density_follows_attention() -> None:
    found = rows(fleet_states.BIG, RowFilter())
    roomy, tight = draw(found, LOOK, 46, 60), draw(found, LOOK, 46, 24)
    assert len(tight) <= 24 < len(roomy)
    shown = "\n".join(text(tight))
    assert "permission" in shown
    assert "question" in shown
    assert "working  pytest" in shown, "the selected one keeps its two lines"
    assert "limited" not in shown, "the others have one line, and the glyph stands for the word"


def test_a_question_is_wrapped_rather_than_cut_and_names_its_key() -> None:
    lines = text(draw(rows(fleet_states.SMALL, RowFilter()), LOOK, 46, 40))
    asked = next(number for number, line in enumerate(lines) if "permission" in line)
    assert lines[asked].endswith("dist/ &&")
    assert "python -m build?" in lines[asked + 1]
    assert lines[asked + 1].endswith("a answer")


@pytest.mark.parametrize(
    ("counted", "wide", "narrow"),
    [
        ((120, 14), "+120  −14", "+120  −14"),
        ((12345, 678), "+12345 −678", "+12k −678"),
        ((30_000, 18_000), "+30k −18k", "+30k −18k"),
        ((999_999, 999_999), "+999k −999k", "+999k−999k"),
        ((1_234_567, 3), "+1M   −3", "+1M   −3"),
    ],
)
def test_numbers_are_never_cut_but_shown_in_thousands(
    counted: tuple[int, int], wide: str, narrow: str
) -> None:
    agent = fleet_states.SMALL.agents[0]
    state = FleetState((agent,), (Batch("fan1", fleet_states.ATLAS, 0.0),))
    look = replace(LOOK, live=replace(fleet_states.LIVE, diffs={agent.id: counted}))
    full = "\n".join(text(draw(rows(state, RowFilter()), look, 46, 40)))
    short = "\n".join(text(draw(rows(state, RowFilter()), replace(look, is_stacked=True), 78, 40)))

    assert f" {wide} " in full
    assert f" {narrow} " in short


def test_control_characters_of_others_never_reach_the_terminal() -> None:
    rude = replace(fleet_states.SMALL.agents[0], name="a\x1b[31m\n\x07b", prompt="\x1b]0;x\x07")
    state = FleetState((rude,), (Batch("fan1", fleet_states.ATLAS, 0.0),))
    for line in text(draw(rows(state, RowFilter()), LOOK, 46, 40)):
        assert line.isprintable()


def test_panes_follow_the_selection_by_pages_and_pinned_ones_stay() -> None:
    agents = list(fleet_states.BIG.agents)
    ids = [agent.id for agent in agents]
    assert [agent.id for agent in follow(agents, ids[0], 4, ())] == ids[:4]
    assert [agent.id for agent in follow(agents, ids[3], 4, ())] == ids[:4], "the same page: nothing moves"
    assert [agent.id for agent in follow(agents, ids[5], 4, ())] == ids[4:8]
    pinned = follow(agents, ids[9], 4, agents[:2])
    assert [agent.id for agent in pinned][:2] == ids[:2]
    assert ids[9] in [agent.id for agent in pinned]
    full = follow(agents, ids[9], 2, agents[:2])
    assert [agent.id for agent in full] == [ids[0], ids[9]], "the selected one is always shown"


def test_the_grid_is_no_larger_than_the_agents_in_it() -> None:
    assert [shape(count, 76, 40) for count in (1, 2, 3, 4, 5, 7)] == [
        (1, 1),
        (1, 2),
        (1, 3),
        (2, 2),
        (3, 2),
        (3, 3),
    ]
    assert shape(2, 200, 40) == (2, 1)
    assert shape(3, 112, 40) == (2, 2), "two and one, where there is room for two beside each other"
