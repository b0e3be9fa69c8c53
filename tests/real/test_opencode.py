"""The real opencode in a fleet. One start takes about 15 seconds of CPU, so there are few tests."""

from __future__ import annotations

import pytest

from fleet_tui.models import Status
from tests.holder.holders import wait_until
from tests.real.agents import HARD_PROMPT, Real, kill_keeper
from tests.real.dialects import ANSWER

PROGRAM = "opencode"
START_SECONDS = 120.0
pytestmark = pytest.mark.agents


def test_a_first_prompt_edits_a_file_and_a_second_one_arrives_exactly(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt done]]")
    assert agent.file("notes.txt", seconds=START_SECONDS) == "done"
    agent.shows("The prompt was", seconds=START_SECONDS)
    agent.prompt(HARD_PROMPT)

    asked = real.api.wait_for(lambda asked: "backslash" in asked.prompt, seconds=START_SECONDS)
    # opencode appends a space to a paste.
    assert asked.prompt.removesuffix(" ") == HARD_PROMPT
    assert "please [[write notes.txt done]]" in asked.turn.said


def test_a_permission_is_asked(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.shows("Permission required", seconds=START_SECONDS)

    agent.wait_for("blocked", detail="permission", text="touch one.txt", source="event", seconds=4.0)


def test_an_agent_whose_keeper_was_killed_goes_on_with_its_conversation(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.shows("The prompt was", seconds=START_SECONDS)
    wait_until(lambda: real.spent(agent) == ANSWER, "its answer being counted")
    kill_keeper(agent)
    ended = agent.listed()
    assert (ended.status, bool(ended.session_id)) == (Status.LOST, True)

    revived = real.fleet.revive(agent.agent)

    assert (revived.session_id, ended.session_id in revived.argv) == (ended.session_id, True)
    agent.shows("marzipan", seconds=START_SECONDS)
