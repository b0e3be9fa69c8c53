"""Terminal output of the real programs, replayed into a screen and judged: reports, title and screen together."""

from __future__ import annotations

import re

import pytest

from fleet_tui.holder.observed import Observed
from fleet_tui.holder.status import HOLD_SECONDS, StatusJudge
from fleet_tui.models import Status
from fleet_tui.programs import profiles
from fleet_tui.terminal.emulator import ProgramStatus, Screen, Title
from tests.places import RECORDINGS

FOLDER = RECORDINGS / "input"


def replayed(name: str) -> Observed:
    """What is judged at the end of a recording; its size is in its name."""
    program, _, rest = name.partition("-")
    cols, rows = map(int, re.findall(r"(\d+)x(\d+)$", rest)[0])
    judge = StatusJudge(profiles.load(program).rules)
    screen = Screen(cols, rows)
    judge.output(0.0)
    screen.feed((FOLDER / f"{name}.raw").read_bytes())
    for note in screen.take_notes():
        match note:
            case ProgramStatus(payload):
                judge.reported(payload, 1.0)
            case Title(text):
                judge.titled(text, 1.0)
    judge.showed(screen.text(), 1.0)
    judge.settle(1.0)
    judge.settle(1.0 + HOLD_SECONDS)
    screen.close()
    return judge.status()


@pytest.mark.parametrize(
    ("name", "status", "detail"),
    [
        ("claude-err401-80x40", Status.ERROR, ""),
        ("claude-retry429-120x40", Status.LIMITED, "retrying in 2s"),
        ("claude-menu-model-80x40", Status.BLOCKED, "menu"),
        ("codex-menu-CTRLR-80x40", Status.BLOCKED, "menu"),
        ("qwen-permission-80x24", Status.BLOCKED, "permission"),
        ("gemini-start-80x24", Status.IDLE, ""),
    ],
)
def test_a_replayed_recording_ends_in_its_status(name: str, status: Status, detail: str) -> None:
    found = replayed(name)

    assert (found.status, found.detail) == (status, detail), found


def test_a_refused_key_can_be_followed_by_a_prompt_and_offers_no_choices() -> None:
    found = replayed("claude-err401-80x40")

    assert found.is_over
    assert found.choices == ()
    assert "API key" in found.text


def test_the_choices_of_a_menu_are_those_of_its_list() -> None:
    found = replayed("claude-menu-model-80x40")

    assert [choice.number for choice in found.choices] == [str(n + 1) for n in range(len(found.choices))]
    assert found.choices[0].label.startswith("Default")
    assert found.choices[0].is_pointed
