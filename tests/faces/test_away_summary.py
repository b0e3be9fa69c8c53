"""The summary of what changed while the user was away, in words, and the mark of the last look."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui.faces.away_summary import Mark, read_mark, summarize, write_mark
from fleet_tui.models import FleetState, Status
from tests.tui.fleet_states import MINUTE, NOW, agent

LEFT = Mark(NOW - 120 * MINUTE, 7)

# ── in words ──


def state(*agents: object) -> FleetState:
    return FleetState(tuple(agents), ())  # type: ignore[arg-type]  # agents, as the callers make them


ALL = state(
    agent("a", Status.DONE, batch="b", since=30 * MINUTE),
    agent("b", Status.FAILED, batch="b", since=50 * MINUTE, says="setup: npm ci ended with code 1"),
    agent("c", Status.WORKING, batch="b", since=5 * MINUTE),
    agent("d", Status.DONE, batch="b", since=20 * MINUTE),
    agent("e", Status.BLOCKED, batch="b", since=40 * MINUTE, says="rm x?", detail="permission"),
    agent("f", Status.STOPPED, batch="b", since=5 * MINUTE),
)


def test_changes_are_listed_the_most_urgent_first() -> None:
    summary = summarize(ALL, {one.id for one in ALL.agents}, LEFT, NOW)

    assert summary is not None
    assert summary.said == "1 waits for you 40m, 1 failed to start: setup: npm ci ended with code 1, 2 done"
    assert [one.name for one in summary.agents] == ["e", "b", "d", "a"]
    assert summary.seconds == 120 * MINUTE


def test_agents_whose_status_did_not_change_are_left_out() -> None:
    assert summarize(ALL, set(), LEFT, NOW) is None
    assert summarize(ALL, {one.id for one in ALL.agents}, Mark(NOW - MINUTE, 7), NOW) is None
    assert summarize(ALL, {"id-c", "id-f"}, LEFT, NOW) is None


def test_events_just_before_leaving_are_listed() -> None:
    summary = summarize(ALL, {"id-a"}, Mark(NOW - 30 * MINUTE + 1, 7), NOW)

    assert summary is not None
    assert summary.said == "1 done"


def test_several_ways_to_go_wrong_are_counted_together() -> None:
    wrong = state(
        agent("a", Status.LOST, batch="b", since=MINUTE, says="its keeper is gone"),
        replace(agent("b", Status.EXITED, batch="b", since=MINUTE), exit_code=3),
    )
    summary = summarize(wrong, {"id-a", "id-b"}, LEFT, NOW)

    assert summary is not None
    assert summary.said == "2 with errors: its keeper is gone"


# ── the mark ──


def test_the_mark_is_a_private_file_that_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "last-look.json"

    write_mark(file, LEFT)

    assert read_mark(file) == LEFT
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.glob(".last-look*")) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"at": "x", "journal": 1}', '{"at": 1}', "null"])
def test_an_unreadable_mark_counts_as_no_mark(tmp_path: Path, text: str) -> None:
    file = tmp_path / "last-look.json"
    file.write_text(text)

    assert read_mark(file) is None
    assert read_mark(tmp_path / "none") is None


def test_a_mark_that_cannot_be_written_causes_no_error(tmp_path: Path) -> None:
    write_mark(tmp_path / "gone" / "last-look.json", LEFT)
