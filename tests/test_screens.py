"""Screens of the real programs at three widths, judged by title and screen alone; each says what is right.

A wrong status that somebody reports is saved in the same form: put the file here, and it is a test.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleet_tui import profiles
from fleet_tui.models import Status, Wish
from fleet_tui.status import Judge

pytestmark = pytest.mark.pure

FOLDER = Path(__file__).parent / "recordings" / "screens"
RECORDED = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_screen_is_understood(name: str) -> None:
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    judge = Judge(profiles.load(recorded["profile"]).signals)

    judge.titled(recorded["title"], 0.0)
    judge.showed(recorded["lines"], 0.0, lambda y: painted(recorded, y))
    judge.settle(60.0)

    found = judge.status()
    assert (found.status, found.detail if found.status is Status.BLOCKED else "") == (
        recorded["status"],
        recorded["kind"],
    ), found
    if found.status is Status.BLOCKED:
        assert found.text
        assert len(found.choices) >= 2


@pytest.mark.parametrize("cols", [45, 80, 120])
def test_a_recorded_question_tells_the_command_and_the_reason(cols: int) -> None:
    said = {}
    for program in ("codex", "qwen"):
        recorded = json.loads((FOLDER / f"{program}-permission-{cols}.json").read_text())
        judge = Judge(profiles.load(program).signals)
        judge.showed(recorded["lines"], 0.0)
        judge.settle(60.0)
        said[program] = judge.status().wish

    assert said == {
        "codex": Wish("touch one.txt", "It writes outside."),
        "qwen": Wish("touch one.txt"),
    }


@pytest.mark.parametrize("cols", [45, 80, 120])
@pytest.mark.parametrize("program", ["claude", "claude-before-reports"])
def test_what_a_hook_told_is_shown_only_with_its_own_recorded_dialog(program: str, cols: int) -> None:
    recorded = json.loads((FOLDER / f"{program}-permission-{cols}.json").read_text())
    told = {}
    for command in ("touch one.txt", "touch", "one.txt", "ls", "touch one.txt two.txt", "a test's command"):
        judge = Judge(profiles.load("claude").signals)
        asked = {"command": command, "description": "a test's command"}
        payload = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": asked}
        judge.hooked(payload, 0.0)
        judge.showed(recorded["lines"], 0.0)
        judge.settle(60.0)
        told[command] = judge.status().wish.command

    assert {command for command, shown in told.items() if shown} <= {"touch one.txt"}
    assert told["touch one.txt"] == "touch one.txt"


def painted(recorded: dict[str, Any], row: int) -> list[tuple[str, object]]:
    """Recorded where choices are told apart by their colours alone."""
    return [(text, tuple(look)) for text, look in recorded["painted"][str(row)]]


def test_screens_are_recorded_at_three_widths() -> None:
    states = {name.rpartition("-")[0] for name in RECORDED}

    assert {f"{state}-{cols}" for state in states for cols in (45, 80, 120)} == set(RECORDED)
