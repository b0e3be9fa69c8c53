"""The real qwen in a fleet. Its title shows idle long before it reads input, so early typing is lost."""

from __future__ import annotations

import time

import pytest

from tests.holder.holders import wait_until
from tests.real.agents import HARD_PROMPT, Real

PROGRAM = "qwen"
READY = "Type your message"
START_SECONDS = 120.0
pytestmark = pytest.mark.agents


def test_a_first_prompt_on_the_command_line_edits_a_file(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt done]]")

    assert agent.file("notes.txt", seconds=START_SECONDS) == "done"
    real.api.wait_for_prompt("please [[write notes.txt done]]")
    told = [told.status for told in agent.statuses()]
    assert told.index("working") < told.index("done") if "done" in told else "working" in told


@pytest.mark.parametrize("start", range(10))
def test_a_prompt_given_right_after_the_start_arrives(real: Real, start: int) -> None:
    agent = real.start()

    receipt = agent.prompt(f"are you there? {start}")
    assert receipt.state == "queued"

    try:
        real.api.wait_for_prompt(f"are you there? {start}", seconds=START_SECONDS)
    except AssertionError as error:
        receipts = [event["data"] for event in agent.events("receipt")]
        raise AssertionError(f"{error}; {receipts}; {agent.statuses()}; {agent.screen()}") from None
    agent.wait_for_receipts(receipt.id, ["queued", "typed", "accepted", "answered"])


def test_an_agent_without_a_prompt_is_idle_once_its_box_is_there(real: Real) -> None:
    agent = real.start()
    agent.shows(READY, seconds=START_SECONDS)
    shown_at = time.time()

    agent.wait_for("idle", seconds=4.0)
    # A slow start is silent, and so unknown, until the box is drawn.
    assert {told.status for told in agent.statuses() if told.at > shown_at} <= {"idle"}


def test_a_prompt_arrives_exactly(real: Real) -> None:
    agent = real.start()
    agent.wait_for("idle", seconds=START_SECONDS)

    agent.prompt(HARD_PROMPT)

    real.api.wait_for_prompt(HARD_PROMPT, seconds=10.0)


def test_a_permission_is_asked_and_given(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.wait_for("blocked", detail="permission", text="touch one.txt", seconds=START_SECONDS)
    wait_until(lambda: bool((evidence := agent.listed().evidence) and evidence.choices), "the choices")

    real.fleet.answer(agent.agent, "yes")

    wait_until(lambda: (agent.worktree / "one.txt").exists(), "the file", seconds=20.0)
    agent.wait_for("done", seconds=20.0)


def test_a_rate_limit_is_reported(real: Real) -> None:
    agent = real.start("please [[limit 99 1]]")
    # qwen retries for half a minute before it reports the limit.
    agent.shows("Retrying in", seconds=START_SECONDS)

    limited = agent.wait_for("limited", seconds=2.0)
    assert limited.detail.lower().startswith("retrying in")


def test_a_stopped_agent_has_ended(real: Real) -> None:
    agent = real.start()
    agent.wait_for("idle", seconds=START_SECONDS)

    real.fleet.stop([agent.agent])

    wait_until(lambda: agent.listed().has_ended, "its end")
