"""The model of the dashboard, without a screen."""

from __future__ import annotations

import pytest

from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import FleetState, Status
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.widgets.rows import Filter
from tests.tui import fleet_states

pytestmark = pytest.mark.pure


def view() -> FleetView:
    made = FleetView(fleet_states.BIG)
    made.keep_selection()
    return made


def test_the_cursor_stays_with_its_agent_and_goes_to_a_neighbor_when_that_is_not_listed() -> None:
    there = view()
    there.move(1)
    second = there.selected
    first, third = there.listed[0].id, there.listed[2].id
    there.take_state(fleet_states.with_status(fleet_states.BIG, there.listed[0].name, Status.KILLED))
    assert first not in [agent.id for agent in there.listed]
    assert there.selected == second
    agent = there.agent
    assert agent is not None
    there.take_state(fleet_states.with_status(there.state, agent.name, Status.KILLED))
    assert there.selected == third


def test_the_cursor_begins_in_the_project_that_the_dashboard_was_opened_in() -> None:
    there = view()
    other = there.listed[-1].project
    assert there.listed[0].project != other
    there.take_project(replace(fleet_states.PLACE, project=other))
    assert there.agent is there.listed[0]
    assert there.agent.project == other

    moved = view()
    moved.move(1)
    chosen = moved.selected
    moved.take_project(replace(fleet_states.PLACE, project=other))
    assert moved.selected == chosen, "the user was there first"

    typing = view()
    typing.type_to(typing.selected)
    typing.take_project(replace(fleet_states.PLACE, project=other))
    assert typing.selected == typing.typing


def test_a_killed_agent_is_neither_marked_nor_pinned() -> None:
    there = view()
    agent = there.agent
    assert agent is not None
    there.toggle_pin()
    there.toggle_mark()
    assert there.marked == {agent.id}
    there.take_state(fleet_states.with_status(fleet_states.BIG, agent.name, Status.KILLED))
    assert (there.marked, there.pinned) == (frozenset(), ())


def test_selecting_an_agent_unfolds_its_batch() -> None:
    there = view()
    agent = there.agent
    assert agent is not None
    there.toggle_fold((agent.project, agent.batch))
    assert agent not in there.listed
    there.select(agent.id)
    assert agent in there.listed
    assert there.selected == agent.id


def test_each_change_is_announced_once_and_no_change_is_not() -> None:
    there = view()
    changes: list[str] = []
    there.on_change = changes.append
    there.move(1)
    there.type_to(there.selected)
    there.type_to(there.selected)
    there.take_state(there.state)
    assert changes == ["selected", "typing"]


def test_a_filter_narrows_the_list_and_targets_are_the_marked_agents_or_the_selected_one() -> None:
    there = view()
    assert there.targets == [there.agent]
    there.change_rows(replace(there.shown, filter=Filter("s:blocked")))
    assert there.listed
    assert all(agent.status is Status.BLOCKED for agent in there.listed)
    there.toggle_mark()
    there.clear_filter()
    assert [agent.id for agent in there.targets] == list(there.marked)


def test_keys_act_on_no_agent_that_a_filter_or_a_folded_batch_hides() -> None:
    there = view()
    selected = there.selected
    there.filter("no agent is called this")
    assert (there.agent, there.targets) == (None, [])
    there.type_to(selected)
    assert there.agent is there.by_id(selected)
    there.type_to("")
    there.clear_filter()
    assert there.targets == [there.by_id(selected)]
    for agent in there.listed:
        if (agent.project, agent.batch) not in there.shown.folded:
            there.toggle_fold((agent.project, agent.batch))
    assert there.targets == []


def test_a_selected_agent_that_is_hidden_is_not_looked_at() -> None:
    there = view()
    assert there.looked_at == {there.selected}
    there.filter("no agent is called this")
    assert there.looked_at == frozenset()
    there.type_to(there.selected)
    assert there.looked_at == {there.selected}


def test_a_pinned_agent_stays_selected_when_its_batch_is_folded() -> None:
    there = view()
    there.toggle_pin()
    there.filter("no agent is called this")
    assert there.targets == [there.by_id(there.selected)]


def test_a_change_of_the_fleet_leaves_the_cursor_on_an_agent_that_only_its_pane_shows() -> None:
    there = view()
    pinned, other = there.listed[0], there.listed[-1]
    there.toggle_pin()
    there.filter(other.name)
    there.select(pinned.id)
    there.take_state(fleet_states.with_status(there.state, other.name, Status.ERROR))
    assert there.targets == [pinned]
    there.toggle_pin()
    there.select(other.id)
    there.filter("s:error")
    there.type_to(other.id)
    there.take_state(fleet_states.with_status(there.state, other.name, Status.WORKING))
    there.take_state(fleet_states.with_status(there.state, pinned.name, Status.ERROR))
    assert there.agent is not None
    assert there.agent.id == other.id


def test_an_empty_fleet_has_no_agent() -> None:
    there = FleetView(FleetState((), ()))
    there.keep_selection()
    assert there.is_empty
    assert there.agent is None
    assert not there.move(1)
