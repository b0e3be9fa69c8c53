"""The real gemini in a fleet."""

from __future__ import annotations

import time

import pytest

from fleet_tui.errors import Refused
from fleet_tui.models import Status
from tests.holder.holders import wait_until
from tests.real.agents import HARD_PROMPT, Real, kill_keeper
from tests.real.dialects import ANSWER

PROGRAM = "gemini"
READY = "Type your message"
START_SECONDS = 60.0
pytestmark = pytest.mark.agents


def test_a_first_prompt_on_the_command_line_edits_a_file(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt done]]")

    assert agent.file("notes.txt", seconds=START_SECONDS) == "done"
    real.api.wait_for_prompt("please [[write notes.txt done]]")


def test_a_prompt_for_an_idle_agent_that_reads_late_arrives_exactly(real: Real) -> None:
    agent = real.start()
    agent.wait_for("idle", seconds=START_SECONDS)

    with agent.not_reading():
        receipt = agent.prompt(HARD_PROMPT)
        assert (receipt.state, "not reading input" in receipt.reason) == ("queued", True)

    real.api.wait_for_prompt(HARD_PROMPT, seconds=6.0)


def test_an_agent_without_a_prompt_is_idle(real: Real) -> None:
    agent = real.start()
    agent.shows(READY, seconds=START_SECONDS)

    agent.wait_for("idle", seconds=4.0)


def test_a_permission_is_asked(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.shows("Allow execution", seconds=START_SECONDS)

    agent.wait_for("blocked", detail="permission", text="touch one.txt", seconds=4.0)


def test_an_agent_whose_keeper_was_killed_goes_on_with_its_conversation(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    real.api.wait_for_prompt("remember the word marzipan", seconds=START_SECONDS)
    agent.shows("The prompt was")
    session = agent.agent.session_id
    wait_until(lambda: real.spent(agent) == ANSWER, "its answer being counted")
    kill_keeper(agent)
    assert agent.listed().status is Status.LOST

    revived = real.fleet.revive(agent.agent)
    assert (revived.session_id, session in revived.argv) == (session, True)
    agent.shows(READY, seconds=START_SECONDS)
    agent.shows("marzipan")
    # gemini loses what is typed while it loads the conversation.
    agent.wait_for("idle", "unknown", since=time.time())
    agent.insist("which word was it?", real.api)

    asked = real.api.wait_for_prompt("which word was it?")
    assert "remember the word marzipan" in asked.turn.said
    wait_until(
        lambda: real.spent(agent) == tuple(2 * number for number in ANSWER), "both answers being counted"
    )


def test_it_says_that_gemini_cannot_be_forked(real: Real) -> None:
    agent = real.start()
    agent.shows(READY, seconds=START_SECONDS)

    with pytest.raises(Refused, match="gemini cannot continue a copy"):
        real.fork(agent, "other", "hello")
