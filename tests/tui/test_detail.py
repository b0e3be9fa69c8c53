"""The detail panel: what it shows of the selected agent's checkpoints."""

from __future__ import annotations

import pytest

from fleet_tui.fast_dataclasses import replace
from fleet_tui.tui.widgets.detail import LOW, TALL, Detail
from tests.tui import fleet_states
from tests.tui.review_states import AGENT
from tests.tui.timeline_states import CHECKPOINTS

pytestmark = pytest.mark.pure

LIVE = replace(fleet_states.LIVE, checkpoints=(AGENT, CHECKPOINTS[-3:]))


def shown(height: int, width: int = 60, agent: str = AGENT) -> list[str]:
    found = next(one for one in fleet_states.SMALL.agents if one.id == agent)
    detail = Detail()
    detail._agent, detail._live, detail._now = found, LIVE, fleet_states.NOW
    return ["".join(text for text, _ in line) for line in detail.lines(width, height)]


def test_the_last_checkpoints_are_shown_as_far_as_there_is_room() -> None:
    def saved(height: int) -> list[str]:
        return [line.strip() for line in shown(height) if "○" in line or "◉" in line]

    assert saved(LOW - 1) == []
    [newest] = saved(LOW)
    assert newest.startswith("saved")
    assert newest.endswith("○ turn 5  Refresh path too  +18  −4")
    assert len(saved(TALL)) == 3


def test_checkpoints_of_another_agent_are_not_shown() -> None:
    other = next(one.id for one in fleet_states.SMALL.agents if one.id != AGENT)

    assert not [line for line in shown(TALL, agent=other) if "Refresh path" in line]
