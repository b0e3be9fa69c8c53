"""Which changes cause notices, when, and with which text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.faces.notices import (
    GAP_SECONDS,
    REPEAT_SECONDS,
    SETTLE_SECONDS,
    Notice,
    NoticeTracker,
    NotifySettings,
    UserFocus,
    status_changes,
)
from fleet_tui.models import Evidence, FleetState, Status
from tests.tui.fleet_states import agent

pytestmark = pytest.mark.pure

AWAY = UserFocus(has_focus=False)
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


def announced(
    *states: FleetState, focus: UserFocus = AWAY, settings: NotifySettings | None = None
) -> Notice | None:
    """The notice after the fleet went through these states."""
    tracker = NoticeTracker(settings or NotifySettings())
    tracker.begin(states[0])
    for state in states[1:]:
        tracker.take(state, focus, 100.0)
    return tracker.due(focus, 100.0 + LATER)


# ── what is news ──


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (Status.BLOCKED, "a waits for you"),
        (Status.DONE, "a is done"),
        (Status.ERROR, "a has an error"),
        (Status.LIMITED, "a is rate limited"),
        (Status.FAILED, "a failed to start"),
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
def test_each_kind_of_change_has_its_own_title(status: Status, said: str | None) -> None:
    found = announced(fleet(a=Status.WORKING), fleet(a=status))

    assert (found.title if found else None) == said


def test_a_failed_program_is_announced_with_its_exit() -> None:
    running = fleet(a=Status.WORKING)

    assert announced(running, changed(fleet(a=Status.EXITED), "a", exit_code=3)) == Notice("a exited 3")
    by_signal = changed(fleet(a=Status.EXITED), "a", exit_code=None, exit_signal=9)
    assert announced(running, by_signal) == Notice("a exited, signal 9")


def test_an_unchanged_status_is_not_news() -> None:
    for status in Status:
        assert announced(fleet(a=status), fleet(a=status)) is None


def test_nothing_is_news_before_begin() -> None:
    tracker = NoticeTracker(NotifySettings())
    tracker.take(fleet(a=Status.WORKING), AWAY, 0.0)
    tracker.take(fleet(a=Status.BLOCKED), AWAY, 1.0)

    assert tracker.due(AWAY, 100.0) is None


def test_a_new_agent_that_waits_is_news() -> None:
    found = announced(fleet(), fleet(a=(Status.BLOCKED, "rm x?")))

    assert found == Notice("a waits for you", "rm x?")


def test_a_restored_agent_is_not_news() -> None:
    assert announced(fleet(a=Status.KILLED), fleet(a=Status.FAILED)) is None


def test_another_question_is_news_and_the_same_is_not() -> None:
    first, second = fleet(a=(Status.BLOCKED, "rm x?")), fleet(a=(Status.BLOCKED, "rm y?"))

    assert [change.agent.name for change in status_changes(first, second)] == ["a"]
    assert status_changes(first, first) == []


# ── where I look ──


def test_an_agent_in_view_is_not_announced() -> None:
    before, after = fleet(a=Status.WORKING, b=Status.WORKING), fleet(a=Status.DONE, b=Status.DONE)

    assert announced(before, after, focus=UserFocus(frozenset({"id-a"}))) == Notice("b is done")
    assert announced(before, after, focus=UserFocus(frozenset({"id-a", "id-b"}))) is None


def test_without_the_focus_no_agent_is_in_view() -> None:
    found = announced(
        fleet(a=Status.WORKING), fleet(a=Status.DONE), focus=UserFocus(frozenset({"id-a"}), has_focus=False)
    )

    assert found == Notice("a is done")


def test_an_agent_viewed_before_its_notice_is_due_is_not_announced() -> None:
    tracker = NoticeTracker(NotifySettings())
    tracker.begin(fleet(a=Status.WORKING))
    tracker.take(fleet(a=Status.DONE), AWAY, 0.0)

    assert tracker.due(UserFocus(frozenset({"id-a"})), LATER) is None
    assert tracker.due(AWAY, LATER + GAP_SECONDS) is None


# ── settings ──


@pytest.mark.parametrize(
    ("settings", "is_announced"),
    [
        (NotifySettings(), True),
        (NotifySettings(on=("blocked",)), False),
        (NotifySettings(on=()), False),
        (NotifySettings(profiles=("claude",)), True),
        (NotifySettings(profiles=("codex",)), False),
        (NotifySettings(profiles=("!cl*",)), False),
        (NotifySettings(profiles=("!codex",)), True),
        (NotifySettings(batches=("fan*",)), True),
        (NotifySettings(batches=("!fan1", "fan*")), False),
        (NotifySettings(batches=("fan*", "!fan1")), True),
        (NotifySettings(batches=("!other",)), True),
        (NotifySettings(profiles=("claude",), batches=("other",)), False),
    ],
)
def test_settings_select_by_kind_profile_and_batch(settings: NotifySettings, is_announced: bool) -> None:
    assert (
        announced(fleet(a=Status.WORKING), fleet(a=Status.DONE), settings=settings) is not None
    ) is is_announced


def test_a_profile_that_is_a_path_goes_by_its_name() -> None:
    before = changed(fleet(a=Status.WORKING), "a", profile="/opt/bin/claude")
    after = changed(fleet(a=Status.DONE), "a", profile="/opt/bin/claude")

    assert announced(before, after, settings=NotifySettings(profiles=("!claude",))) is None


def test_a_muted_batch_is_quiet_until_unmuted() -> None:
    tracker = NoticeTracker(NotifySettings())
    tracker.begin(fleet(a=Status.WORKING))
    tracker.muted.add((agent("a", Status.DONE, batch="fan1").project, "fan1"))
    tracker.take(fleet(a=Status.DONE), AWAY, 0.0)
    assert tracker.due(AWAY, LATER) is None

    tracker.muted.clear()
    tracker.take(fleet(a=Status.BLOCKED), AWAY, 10.0)
    assert tracker.due(AWAY, 10.0 + LATER) == Notice("a waits for you")


# ── together, and not again ──


def test_ten_agents_at_once_are_one_notice() -> None:
    names = [f"agent-{letter}" for letter in "abcdefghij"]
    before = fleet(**dict.fromkeys(names, Status.WORKING))

    found = announced(before, fleet(**dict.fromkeys(names, Status.DONE)))

    assert found == Notice("10 done", "agent-a, agent-b, agent-c, agent-d and 6 more")


def test_kinds_are_counted_the_most_urgent_first() -> None:
    before = fleet(**dict.fromkeys("abcde", Status.WORKING))
    after = fleet(a=Status.DONE, b=Status.BLOCKED, c=Status.LOST, d=Status.LIMITED, e=Status.BLOCKED)

    found = announced(before, after)

    assert found == Notice("2 wait for you, 1 with an error, 1 rate limited, 1 done", "b, e, c, d and 1 more")


def test_changes_within_the_settle_time_share_a_notice_and_later_ones_wait() -> None:
    tracker = NoticeTracker(NotifySettings())
    tracker.begin(fleet(**dict.fromkeys("abc", Status.WORKING)))
    tracker.take(fleet(a=Status.DONE, b=Status.WORKING, c=Status.WORKING), AWAY, 0.0)
    assert tracker.due(AWAY, 0.5) is None
    tracker.take(fleet(a=Status.DONE, b=Status.DONE, c=Status.WORKING), AWAY, 0.9)
    assert tracker.due(AWAY, 1.1) == Notice("2 done", "a, b")

    tracker.take(fleet(a=Status.DONE, b=Status.DONE, c=Status.DONE), AWAY, 2.0)
    assert tracker.due(AWAY, 4.0) is None
    assert tracker.due(AWAY, 1.1 + GAP_SECONDS) == Notice("c is done")


def test_a_change_undone_before_its_notice_is_dropped() -> None:
    assert announced(fleet(a=Status.WORKING), fleet(a=Status.DONE), fleet(a=Status.WORKING)) is None
    found = announced(fleet(a=Status.WORKING), fleet(a=Status.DONE), fleet(a=Status.BLOCKED))
    assert found == Notice("a waits for you")


def test_a_flapping_status_is_announced_once() -> None:
    tracker = NoticeTracker(NotifySettings())
    working, asks = fleet(a=Status.WORKING), fleet(a=(Status.BLOCKED, "rm x?"))
    tracker.begin(working)
    notices = []
    now = 0.0
    while now < REPEAT_SECONDS - 10:
        tracker.take(asks, AWAY, now)
        notices.append(tracker.due(AWAY, now + LATER))
        tracker.take(working, AWAY, now + 2.0)
        notices.append(tracker.due(AWAY, now + 3.0))
        now += GAP_SECONDS

    assert [one for one in notices if one] == [Notice("a waits for you", "rm x?")]
    tracker.take(fleet(a=(Status.BLOCKED, "rm y?")), AWAY, now)
    assert tracker.due(AWAY, now + LATER) == Notice("a waits for you", "rm y?")


# ── words ──


def test_a_notice_of_one_agent_has_its_question() -> None:
    asks = changed(fleet(a=(Status.BLOCKED, "run rm -rf build/?")), "a", status_detail="permission")

    assert announced(fleet(a=Status.WORKING), asks) == Notice(
        "a waits for you (permission)", "run rm -rf build/?"
    )


@given(st.text(max_size=400), st.text(max_size=300))
def test_no_text_of_an_agent_can_end_an_escape_sequence(name: str, says: str) -> None:
    changed_agent = replace(
        agent("x", Status.BLOCKED, batch="b"), name=name, evidence=Evidence("osc7501", says)
    )
    found = announced(FleetState((), ()), FleetState((changed_agent,), ()))

    assert found is not None
    for text in (found.title, found.text):
        assert text.isprintable()
        assert ";" not in text
        assert len(text) <= 200


def test_the_same_state_is_never_announced_again() -> None:
    """However often the tracker takes the same state."""
    tracker = NoticeTracker(NotifySettings())
    state = fleet(a=Status.BLOCKED, b=Status.DONE)
    tracker.begin(state)
    for second in range(200):
        tracker.take(state, AWAY, float(second))
        assert tracker.due(AWAY, second + 0.5) is None
