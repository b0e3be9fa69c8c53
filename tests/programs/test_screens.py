"""Screens of the real programs at three widths, judged by title and screen alone; each says what is right.

A wrong status that a user reports is saved in the same form: put the file here, and it is a test.
"""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from fleet_tui.holder.status import StatusJudge
from fleet_tui.models import PermissionRequest, Status
from fleet_tui.programs import profiles
from tests.places import RECORDINGS

pytestmark = pytest.mark.pure

FOLDER = RECORDINGS / "screens"
RECORDED = sorted(path.stem for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_screen_is_understood(name: str) -> None:
    recorded = json.loads((FOLDER / f"{name}.json").read_text())
    judge = StatusJudge(profiles.load(recorded["profile"]).rules)

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
        assert len(found.choices) >= (recorded.get("choices", 0) if recorded["kind"] == "menu" else 2)


@pytest.mark.parametrize("cols", [45, 80, 120])
def test_a_recorded_question_has_the_command_and_the_reason(cols: int) -> None:
    said = {}
    for program in ("codex", "qwen"):
        recorded = json.loads((FOLDER / f"{program}-permission-{cols}.json").read_text())
        judge = StatusJudge(profiles.load(program).rules)
        judge.showed(recorded["lines"], 0.0)
        judge.settle(60.0)
        said[program] = judge.status().request

    assert said == {
        "codex": PermissionRequest("touch one.txt", "It writes outside."),
        "qwen": PermissionRequest("touch one.txt"),
    }


@pytest.mark.parametrize(
    "command",
    [
        "printf 1. Yes > list; rm -rf x",
        "echo Allow execution of: 'ls'? 1. Yes; rm -rf x",
        "rm -rf x # ) ls",
        "ls (x ) ls",
        "printf " + "0123456789 " * 60 + "; rm -rf x",
    ],
)
def test_no_part_of_a_command_is_taken_for_the_whole(command: str) -> None:
    """What is left out would be allowed unseen."""
    codex = [
        "  Would you like to run the following command?",
        "",
        "  Reason: for a test",
        "",
        *wrapped(f"$ {command}"),
    ]
    codex += [
        "",
        "› 1. Yes, proceed (y)",
        f"  2. Yes, and don't ask again for `{command[:9]}` (p)",
        "  3. No (esc)",
    ]
    head, *more = wrapped(f"? Shell {command} (a test)")
    below = [
        "   Allow execution of: 'rm'?",
        "",
        "   › 1. Yes, allow once",
        "     2. No, suggest changes (esc)",
    ]
    qwen = [f"{head} ←", *more, "", *wrapped(command), "", *below, "", "  ⠏ Waiting for user confirmation..."]
    for program, lines in (("codex", codex), ("qwen", qwen)):
        judge = StatusJudge(profiles.load(program).rules)
        judge.showed(lines, 0.0)
        judge.settle(60.0)
        assert judge.status().status is Status.BLOCKED
        assert judge.status().request.command == command, program


def wrapped(text: str) -> list[str]:
    return [f"  {line}" for line in textwrap.wrap(text, 70)]


@pytest.mark.parametrize("cols", [45, 80, 120])
@pytest.mark.parametrize("program", ["claude", "claude-before-reports"])
def test_what_a_hook_reported_is_shown_only_with_its_own_recorded_dialog(program: str, cols: int) -> None:
    recorded = json.loads((FOLDER / f"{program}-permission-{cols}.json").read_text())
    commands = {}
    for command in ("touch one.txt", "touch", "one.txt", "ls", "touch one.txt two.txt", "a test's command"):
        judge = StatusJudge(profiles.load("claude").rules)
        asked = {"command": command, "description": "a test's command"}
        payload = {"hook_event_name": "PermissionRequest", "tool_name": "Bash", "tool_input": asked}
        judge.hooked(payload, 0.0)
        judge.showed(recorded["lines"], 0.0)
        judge.settle(60.0)
        commands[command] = judge.status().request.command

    assert {command for command, shown in commands.items() if shown} <= {"touch one.txt"}
    assert commands["touch one.txt"] == "touch one.txt"


def painted(recorded: dict[str, Any], row: int) -> list[tuple[str, object]]:
    """Recorded where only colors distinguish the choices."""
    return [(text, tuple(look)) for text, look in recorded["painted"][str(row)]]


def test_screens_are_recorded_at_three_widths() -> None:
    states = {name.rpartition("-")[0] for name in RECORDED}

    assert {f"{state}-{cols}" for state in states for cols in (45, 80, 120)} == set(RECORDED)
