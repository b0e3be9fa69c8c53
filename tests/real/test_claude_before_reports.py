"""A claude from before it reported its status; only its title shows it. Many users still have one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.holder.holders import wait_until
from tests.real.agents import Real, Running
from tests.real.dialects import ANSWER

PROGRAM = "claude"
INSTALL = "claude before reports"
pytestmark = pytest.mark.agents


def test_a_first_prompt_on_the_command_line_edits_a_file(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt done]]")

    assert agent.file("notes.txt") == "done"
    real.api.wait_for_prompt("please [[write notes.txt done]]")


def test_what_a_turn_takes_is_known(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')
    agent = real.start("please [[write notes.txt done]]")
    agent.file("notes.txt")

    wait_until(
        lambda: real.spent(agent) == tuple(2 * number for number in ANSWER), "both answers being counted"
    )


def test_its_states_are_known(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.shows("Do you want to proceed?")

    assert agent.wait_for("blocked", "unknown").detail == "permission"


@pytest.mark.parametrize("cols", [45, 80, 120])
def test_a_used_up_quota_is_reported_with_the_time_of_its_reset(
    used_up: Callable[[int], Running], cols: int
) -> None:
    limited = used_up(cols).wait_for("limited")

    assert re.match(r"resets \d+:\d\d[ap]m", limited.detail), limited
