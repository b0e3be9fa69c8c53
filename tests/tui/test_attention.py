"""Who is announced, when, and in what words; decided on states made by hand, at times given by the test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.models import Evidence, FleetState, Status
from fleet_tui.tui.attention import (
    GAP_SECONDS,
    REPEAT_SECONDS,
    SETTLE_SECONDS,
    Attention,
    Gaze,
    Notice,
    Switches,
    changes,
)
from tests.tui.states import agent

pytestmark = pytest.mark.pure

AWAY = Gaze(has_focus=False)
LATER = SETTLE_SECONDS + 0.1


def fleet(**statuses: Status | tuple[Status, str]) -> FleetState:
    """Agents by name, each with a status and what it says."""
    made = []
    for name, given_ in statuses.items():
        status, says = given_ if isinstance(given_, tuple) else (given_, "")
        made.append(agent(name, status, batch="fan1", says=says))
    return FleetState(tuple(made), ())


def changed(state: FleetState, name: str, **values: object) -> FleetState:
    agents = tuple(replace(one, **values) if one.name == name else one for one in state.agents)  # type: ignore[arg-type]  # names and types are the dataclass's
    return replace(state, agents=agents)


def told(*states: FleetState, gaze: Gaze = AWAY, switches: Switches | None = None) -> Notice | None:
    """What is said when a fleet goes through these states at once."""
    attention = Attention(switches or Switches())
    attention.begin(states[0])
    for state in states[1:]:
        attention.take(state, gaze, 100.0)
    return attention.due(gaze, 100.0 + LATER)


# ── what is news ──


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status.BLOCKED, "a waits for you"),
        (Status.DONE, "a is done"),
        (Status.ERROR, "a has an error"),
        (Status.LIMITED, "a is limited"),
        (Status.FAILED, "a has failed"),
        (Status.LOST, "a is lost"),
        (Status.INTERRUPTED, "a was interrupted"),
        (Status.EXITED, "a is done"),
        (Status.WORKING, None),
        (Status.IDLE, None),
        (Status.STOPPED, None),
        (Status.KILLED, None),
        (Status.UNKNOWN, None),
        (Status.SETUP, None),
    ],
)
def test_a_change_is_told_by_what_it_means(status: Status, said: str | None) -> None:
    found = told(fleet(a=Status.WORKING), fleet(a=status))

    assert (found.title if found else None) == said


def test_a_program_that_ends_wrongly_is_told_with_how() -> None:
    running = fleet(a=Status.WORKING)

    assert told(running, changed(fleet(a=Status.EXITED), "a", exit_code=3)) == Notice("a has exited 3")
    by_signal = changed(fleet(a=Status.EXITED), "a", exit_code=None, exit_signal=9)
    assert told(running, by_signal) == Notice("a has exited, signal 9")


def test_what_was_so_before_is_not_news() -> None:
    for status in Status:
        assert told(fleet(a=status), fleet(a=status)) is None


def test_nothing_is_news_before_the_beginning() -> None:
    attention = Attention(Switches())
    attention.take(fleet(a=Status.WORKING), AWAY, 0.0)
    attention.take(fleet(a=Status.BLOCKED), AWAY, 1.0)

    assert attention.due(AWAY, 100.0) is None


def test_an_agent_that_is_new_and_waits_is_news() -> None:
    found = told(fleet(), fleet(a=(Status.BLOCKED, "rm x?")))

    assert found == Notice("a waits for you", "rm x?")


def test_coming_back_from_the_trash_is_no_news() -> None:
    assert told(fleet(a=Status.KILLED), fleet(a=Status.FAILED)) is None


def test_another_question_is_news_and_the_same_is_not() -> None:
    first, second = fleet(a=(Status.BLOCKED, "rm x?")), fleet(a=(Status.BLOCKED, "rm y?"))

    assert [change.agent.name for change in changes(first, second)] == ["a"]
    assert changes(first, first) == []


# ── where I look ──


def test_who_is_looked_at_is_not_announced() -> None:
    before, after = fleet(a=Status.WORKING, b=Status.WORKING), fleet(a=Status.DONE, b=Status.DONE)

    assert told(before, after, gaze=Gaze(frozenset({"id-a"}))) == Notice("b is done")
    assert told(before, after, gaze=Gaze(frozenset({"id-a", "id-b"}))) is None


def test_a_terminal_without_focus_shows_nobody_anything() -> None:
    found = told(
        fleet(a=Status.WORKING), fleet(a=Status.DONE), gaze=Gaze(frozenset({"id-a"}), has_focus=False)
    )

    assert found == Notice("a is done")


def test_who_is_looked_at_before_it_is_told_is_not_announced_either() -> None:
    attention = Attention(Switches())
    attention.begin(fleet(a=Status.WORKING))
    attention.take(fleet(a=Status.DONE), AWAY, 0.0)

    assert attention.due(Gaze(frozenset({"id-a"})), LATER) is None
    assert attention.due(AWAY, LATER + GAP_SECONDS) is None


# ── switches ──


@pytest.mark.parametrize(
    ("switches", "is_told"),
    [
        (Switches(), True),
        (Switches(on=("blocked",)), False),
        (Switches(on=()), False),
        (Switches(profiles=("claude",)), True),
        (Switches(profiles=("codex",)), False),
        (Switches(profiles=("!cl*",)), False),
        (Switches(profiles=("!codex",)), True),
        (Switches(batches=("fan*",)), True),
        (Switches(batches=("!fan1", "fan*")), False),
        (Switches(batches=("fan*", "!fan1")), True),
        (Switches(batches=("!other",)), True),
        (Switches(profiles=("claude",), batches=("other",)), False),
    ],
)
def test_switches_choose_by_kind_profile_and_batch(switches: Switches, is_told: bool) -> None:
    assert (told(fleet(a=Status.WORKING), fleet(a=Status.DONE), switches=switches) is not None) is is_told


def test_a_profile_that_is_a_path_goes_by_its_name() -> None:
    before = changed(fleet(a=Status.WORKING), "a", profile="/opt/bin/claude")
    after = changed(fleet(a=Status.DONE), "a", profile="/opt/bin/claude")

    assert told(before, after, switches=Switches(profiles=("!claude",))) is None


def test_a_muted_batch_is_quiet_until_it_is_not() -> None:
    attention = Attention(Switches())
    attention.begin(fleet(a=Status.WORKING))
    attention.muted.add((agent("a", Status.DONE, batch="fan1").project, "fan1"))
    attention.take(fleet(a=Status.DONE), AWAY, 0.0)
    assert attention.due(AWAY, LATER) is None

    attention.muted.clear()
    attention.take(fleet(a=Status.BLOCKED), AWAY, 10.0)
    assert attention.due(AWAY, 10.0 + LATER) == Notice("a waits for you")


# ── together, and not again ──


def test_ten_agents_at_once_are_one_notice() -> None:
    names = [f"agent-{letter}" for letter in "abcdefghij"]
    before = fleet(**dict.fromkeys(names, Status.WORKING))

    found = told(before, fleet(**dict.fromkeys(names, Status.DONE)))

    assert found == Notice("10 done", "agent-a, agent-b, agent-c, agent-d and 6 more")


def test_kinds_are_counted_the_most_urgent_first() -> None:
    before = fleet(**dict.fromkeys("abcde", Status.WORKING))
    after = fleet(a=Status.DONE, b=Status.BLOCKED, c=Status.LOST, d=Status.LIMITED, e=Status.BLOCKED)

    found = told(before, after)

    assert found == Notice("2 wait for you, 1 went wrong, 1 limited, 1 done", "b, e, c, d and 1 more")


def test_what_comes_soon_after_is_told_with_it_and_what_comes_later_waits_for_its_turn() -> None:
    attention = Attention(Switches())
    attention.begin(fleet(**dict.fromkeys("abc", Status.WORKING)))
    attention.take(fleet(a=Status.DONE, b=Status.WORKING, c=Status.WORKING), AWAY, 0.0)
    assert attention.due(AWAY, 0.5) is None
    attention.take(fleet(a=Status.DONE, b=Status.DONE, c=Status.WORKING), AWAY, 0.9)
    assert attention.due(AWAY, 1.1) == Notice("2 done", "a, b")

    attention.take(fleet(a=Status.DONE, b=Status.DONE, c=Status.DONE), AWAY, 2.0)
    assert attention.due(AWAY, 4.0) is None
    assert attention.due(AWAY, 1.1 + GAP_SECONDS) == Notice("c is done")


def test_what_is_gone_again_before_it_is_told_was_nothing() -> None:
    assert told(fleet(a=Status.WORKING), fleet(a=Status.DONE), fleet(a=Status.WORKING)) is None
    found = told(fleet(a=Status.WORKING), fleet(a=Status.DONE), fleet(a=Status.BLOCKED))
    assert found == Notice("a waits for you")


def test_what_flaps_is_told_once() -> None:
    attention = Attention(Switches())
    working, asks = fleet(a=Status.WORKING), fleet(a=(Status.BLOCKED, "rm x?"))
    attention.begin(working)
    notices = []
    now = 0.0
    while now < REPEAT_SECONDS - 10:
        attention.take(asks, AWAY, now)
        notices.append(attention.due(AWAY, now + LATER))
        attention.take(working, AWAY, now + 2.0)
        notices.append(attention.due(AWAY, now + 3.0))
        now += GAP_SECONDS

    assert [one for one in notices if one] == [Notice("a waits for you", "rm x?")]
    attention.take(fleet(a=(Status.BLOCKED, "rm y?")), AWAY, now)
    assert attention.due(AWAY, now + LATER) == Notice("a waits for you", "rm y?")


# ── words ──


def test_one_agent_is_told_with_its_question() -> None:
    asks = changed(fleet(a=(Status.BLOCKED, "run rm -rf build/?")), "a", status_detail="permission")

    assert told(fleet(a=Status.WORKING), asks) == Notice("a waits for you (permission)", "run rm -rf build/?")


@given(st.text(max_size=400), st.text(max_size=300))
def test_nothing_that_an_agent_says_can_end_a_sequence(name: str, says: str) -> None:
    told_of = replace(agent("x", Status.BLOCKED, batch="b"), name=name, evidence=Evidence("osc7501", says))
    found = told(FleetState((), ()), FleetState((told_of,), ()))

    assert found is not None
    for text in (found.title, found.text):
        assert text.isprintable()
        assert ";" not in text
        assert len(text) <= 200


def test_an_agent_is_never_announced_for_what_it_already_was() -> None:
    """However often the same state is taken."""
    attention = Attention(Switches())
    state = fleet(a=Status.BLOCKED, b=Status.DONE)
    attention.begin(state)
    for second in range(200):
        attention.take(state, AWAY, float(second))
        assert attention.due(AWAY, second + 0.5) is None
