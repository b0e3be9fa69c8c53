"""Pull requests on the dashboard: the row, the detail, and when the host is asked again."""

from __future__ import annotations

import queue
import time
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui.faces.observer.request_watch import ASK_SECONDS, RequestWatch
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from fleet_tui.tui.widgets.detail import Detail
from fleet_tui.tui.widgets.row_lines import Look, draw, request_parts
from fleet_tui.tui.widgets.rows import RowFilter, rows
from fleet_tui.work import PullRequest
from tests.tui import fleet_states

AGENT = fleet_states.SMALL.agents[0]
OPEN = PullRequest(AGENT.id, "https://host/o/n/pull/12", 12, "open", "passed", "approved", 0, 0.0)


def text(line: object) -> str:
    return "".join(part for part, _ in line)  # type: ignore[attr-defined] # a line


@pytest.mark.pure
@pytest.mark.parametrize(
    ("request_", "shown", "role"),
    [
        (OPEN, "  #12 ✓ approved", "success"),
        (replace(OPEN, checks="failed", review="changes requested"), "  #12 ✗ changes requested", "error"),
        (replace(OPEN, checks="running", review=""), "  #12 ●", "primary"),
        (replace(OPEN, checks="", review=""), "  #12", "muted"),
        (replace(OPEN, state="merged"), "  #12 merged", "success"),
        (replace(OPEN, state="pushed", number=0), "  pushed", "muted"),
        (None, "", ""),
    ],
)
def test_a_request_is_its_number_and_the_state_of_its_checks_and_review(
    request_: PullRequest | None, shown: str, role: str
) -> None:
    parts = request_parts(request_)

    assert text(parts) == shown
    assert role == "" or role in [found for _, found in parts]


@pytest.mark.pure
@pytest.mark.parametrize(("width", "height", "shown"), [(46, 60, "#12 ✓ approved"), (120, 12, "#12 ✓")])
def test_the_row_shows_it_where_there_is_room(width: int, height: int, shown: str) -> None:
    live = replace(fleet_states.LIVE, pull_requests={one.id: OPEN for one in fleet_states.SMALL.agents})
    look = Look(live=live, now=fleet_states.NOW)

    lines = [text(line) for line, _ in draw(rows(fleet_states.SMALL, RowFilter()), look, width, height)]

    assert any(shown in line for line in lines)
    assert all(len(line) <= width for line in lines)


@pytest.mark.pure
def test_the_detail_shows_its_page_or_why_it_cannot_be_seen() -> None:
    def shown(request: PullRequest) -> str:
        detail = Detail()
        detail._agent, detail._live = AGENT, replace(fleet_states.LIVE, pull_requests={AGENT.id: request})
        return next(text(line).strip() for line in detail.lines(80, 30) if "pull " in text(line))

    assert shown(OPEN) == "pull    #12 ✓ approved  https://host/o/n/pull/12"
    assert shown(replace(OPEN, note="gh pr list: \x1b[2JHTTP 502")).endswith("HTTP 502")
    assert "\x1b" not in shown(replace(OPEN, note="gh pr list: \x1b[2JHTTP 502"))


def test_only_open_requests_are_asked_about_and_once_a_minute(tmp_path: Path) -> None:
    watch = RequestWatch(lambda: Fleet(tmp_path))
    killed = replace(AGENT, id="killed", status=Status.KILLED)
    merged = replace(AGENT, id="merged")
    agents = [AGENT, killed, merged, replace(AGENT, id="none")]
    requests = {AGENT.id: OPEN, "killed": OPEN, "merged": replace(OPEN, state="merged")}

    assert [one.id for one in watch.ask(agents, requests, 0.0)] == [AGENT.id]
    assert watch._wanted.get_nowait()[0].id == AGENT.id
    assert watch.ask(agents, requests, ASK_SECONDS - 1) == []
    assert watch.ask(agents, {AGENT.id: replace(OPEN, at=time.time())}, ASK_SECONDS) == []
    assert len(watch.ask(agents, requests, ASK_SECONDS)) == 1
    watch._wanted.get_nowait()
    with pytest.raises(queue.Empty):
        watch._wanted.get_nowait()
