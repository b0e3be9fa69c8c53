"""What claude and codex have in common: both report their own state to the terminal, and take prompts in the same ways.

The API's log shows what they were asked, the disk what they did.
"""

from __future__ import annotations

import pytest

from tests.real.agents import HARD_PROMPT, LONG_PROMPT, PERMISSION_SHOWN, Real, asks_to_touch

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("program", ["claude", "codex"])]

AFTER_ESCAPE = {"claude": ("idle",), "codex": ("idle", "done")}
"""The statuses a program may report after Escape has ended its turn."""
TRUST_SHOWN = {"claude": "Enter to confirm", "codex": "trust"}
"""Words of the question about an untrusted folder."""


# ── prompts ──


def test_prompts_typed_into_an_idle_agent_arrive_exactly_and_once(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    agent.prompt(HARD_PROMPT)
    asked = real.api.wait_for_prompt(HARD_PROMPT)
    agent.wait_for("done", since=asked.at)
    agent.prompt(LONG_PROMPT)

    real.api.wait_for_prompt(LONG_PROMPT)
    assert [asked.prompt for asked in real.api.prompts()] == ["hello", HARD_PROMPT, LONG_PROMPT]


def test_a_prompt_given_right_after_the_start_arrives(real: Real) -> None:
    real.start_late(2.0)
    agent = real.start()

    agent.prompt("are you there?")

    real.api.wait_for_prompt("are you there?", seconds=8.0)


def test_a_prompt_for_a_busy_agent_waits_until_it_is_idle(real: Real) -> None:
    agent = real.start("please [[slow 20 0.1]]")
    agent.shows("word1")

    receipt = agent.prompt("and then?")

    assert receipt.state == "queued"
    assert real.api.wait_for_prompt("and then?").at > agent.wait_for("done").at


def test_a_prompt_is_not_typed_into_the_question_of_trust(real: Real) -> None:
    real.distrust()
    agent = real.start()
    agent.shows(TRUST_SHOWN[real.program])

    assert agent.prompt("hello").state == "queued"
    assert not agent.listed().has_ended


# ── status ──


def test_an_agent_without_a_prompt_is_idle(real: Real) -> None:
    agent = real.start()

    assert agent.wait_for("idle").source == "osc7501"


def test_a_permission_is_asked_and_given_and_a_prompt_waits_meanwhile(real: Real) -> None:
    agent = real.start(asks_to_touch(real.program))

    blocked = agent.wait_for("blocked")
    assert (blocked.detail, blocked.source) == ("permission", "osc7501")
    assert agent.prompt("and then?").state == "queued"
    agent.shows(PERMISSION_SHOWN[real.program])
    assert not (agent.worktree / "one.txt").exists()
    at = agent.answer("enter")

    agent.wait_for("done", since=at)
    assert (agent.worktree / "one.txt").exists()
    real.api.wait_for(lambda asked: "and then?" in asked.prompt)


def test_the_command_that_is_asked_for_is_known_within_a_second(real: Real) -> None:
    agent = real.start(asks_to_touch(real.program))

    first = agent.wait_for("blocked")
    assert agent.wait_for("blocked", text="touch one.txt").at - first.at < 1.0


def test_a_permission_is_asked_and_denied(real: Real) -> None:
    agent = real.start(asks_to_touch(real.program))
    agent.wait_for("blocked")

    at = agent.answer("escape")

    agent.wait_for(*AFTER_ESCAPE[real.program], since=at)
    assert not (agent.worktree / "one.txt").exists()


def test_an_interruption_is_seen(real: Real) -> None:
    agent = real.start("please [[slow 300 0.1]]")
    agent.shows("word3")

    at = agent.press("escape")

    agent.wait_for(*AFTER_ESCAPE[real.program], since=at)
    real.api.wait_for(lambda asked: "slow" in asked.prompt, broken=True)


def test_a_rate_limited_agent_recovers(real: Real) -> None:
    agent = real.start("please [[limit 2 1]]")

    agent.wait_for("done", source="osc7501")

    assert [asked.status for asked in real.api.prompts()] == [429, 429, 200]


def test_a_rate_limit_is_reported(real: Real) -> None:
    agent = real.start("please [[limit 2 2]]")

    assert agent.wait_for("limited", "done").status == "limited"
