"""What the trash holds, in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui.cli.trash import trash_lines
from fleet_tui.models import Agent, Status
from fleet_tui.trashed import IgnoredFile, TrashContents, TrashItem, TrashReport
from tests.faces.sample_agent import NOW, ONE

pytestmark = pytest.mark.pure


def in_trash(agent: Agent, contents: TrashContents | None = None, *, is_over: bool = False) -> TrashItem:
    return TrashItem(agent, contents or TrashContents(), (agent.ended_at or 0.0) + 14 * 86_400, is_over)


def test_the_trash_is_listed_with_ages_times_and_places() -> None:
    killed = replace(ONE, status=Status.KILLED, ended_at=NOW - 120, trash="/trees/.trash/x")

    other = replace(killed, name="日本", ended_at=NOW - 40_000, trash="/trees/.trash/y")

    found = TrashReport(
        (in_trash(killed, TrashContents(size=3 << 20)), in_trash(other, is_over=True)), 3 << 20, 5 << 30
    )
    assert trash_lines(found, now=NOW) == [
        "fix-login  2m ago   3M  deleted in 13d  /trees/.trash/x",
        "日本       11h ago  0B  deleted next    /trees/.trash/y",
        "2 in the trash (fleet undo restores the last kill, fleet undo AGENT only that agent)",
        "Deleted worktrees are saved under refs/fleet/trash, without ignored files.",
    ]
    assert trash_lines(TrashReport((), 0, 1), now=NOW) == ["The trash is empty"]


def test_the_trash_shows_its_contents_and_what_keeps_them_there() -> None:
    killed = replace(ONE, status=Status.KILLED, ended_at=NOW - 120, trash="/trees/.trash/x")
    contents = TrashContents(
        size=400 << 20,
        uncommitted=tuple(f"file-{number}" for number in range(10)),
        ignored=(
            IgnoredFile(".env", 9),
            IgnoredFile("build/", 5000),
            IgnoredFile("node_modules/", 400 << 20),
        ),
        obstacles=(("it holds another repository in build/x", "undo, and move it"),),
    )

    found = TrashReport((in_trash(killed, contents),), 6 << 30, 5 << 30)
    assert trash_lines(found, [(Path("/trees/.trash/y.ignored.tar"), NOW + 90_000)], now=NOW) == [
        "fix-login  2m ago  400M  stays  /trees/.trash/x",
        "    uncommitted: file-0, file-1, file-2, file-3, file-4, file-5, file-6, file-7 and 2 more",
        "    ignored: .env 9B, build/ 4K",
        "    ignored and too large to save: node_modules/ 400M",
        "    stays: it holds another repository in build/x (undo, and move it)",
        "archive of ignored files, deleted in 1d: /trees/.trash/y.ignored.tar",
        "1 in the trash (fleet undo restores the last kill, fleet undo AGENT only that agent)",
        "Deleted worktrees are saved under refs/fleet/trash, without ignored files.",
        "The trash of all projects is over its limit: 6.0G of 5.0G (fleet.trash_mb). "
        "The next create deletes the oldest worktrees whose work is merged; none is deleted on its first day.",
    ]
    free = TrashReport((in_trash(killed, replace(contents, obstacles=())),), 0, 1)
    assert "    ignored, deleted in 13d: .env 9B, build/ 4K" in trash_lines(free, now=NOW)
