"""Answers from the list to the real programs; the disk and the API's log show their effect."""

from __future__ import annotations

import time

import pytest

from fleet_tui.errors import FleetError, Refused
from fleet_tui.holder.session import open_session
from tests.holder.holders import wait_until
from tests.holder.ordered_program import at_once
from tests.real.agents import Real, Running, asks_to_touch
from tests.real.scenarios import QUESTION

pytestmark = pytest.mark.agents
START_SECONDS = 120.0

every = pytest.mark.parametrize(
    ("program", "install_as"),
    [
        ("claude", "claude"),
        ("claude", "claude before reports"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("copilot", "copilot"),
        ("opencode", "opencode"),
    ],
)


def asking(real: Real, prompt: str, kind: str = "permission") -> Running:
    """An agent that has asked and shows its choices."""
    agent = real.start(prompt)
    agent.wait_for("blocked", seconds=START_SECONDS)
    wait_until(lambda: knows_choices(agent), "the choices", seconds=START_SECONDS)
    assert agent.listed().status_detail == kind
    return agent


def knows_choices(agent: Running) -> bool:
    evidence = agent.listed().evidence
    return evidence is not None and len(evidence.choices) > 1


@every
@pytest.mark.parametrize(("said", "is_done"), [("yes", True), ("no", False)])
def test_a_permission_is_given_or_denied(real: Real, program: str, said: str, is_done: bool) -> None:
    agent = asking(real, asks_to_touch(program))

    at = time.time()
    real.fleet.answer(agent.agent, said)

    agent.wait_for("done", "idle", since=at, seconds=30.0)
    assert (agent.worktree / "one.txt").exists() is is_done


@pytest.mark.parametrize(
    ("program", "install_as"),
    [
        ("claude", "claude before reports"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("qwen", "qwen"),
        ("copilot", "copilot"),
        ("opencode", "opencode"),
    ],
)
@pytest.mark.parametrize("said", ["2", "blue"])
def test_a_question_is_answered_by_number_or_word(real: Real, said: str) -> None:
    agent = asking(real, "please [[ask]]", "question")
    evidence = agent.listed().evidence
    assert evidence is not None
    assert evidence.text.endswith(QUESTION)

    real.fleet.answer(agent.agent, said)

    asked = real.api.wait_for(lambda asked: asked.turn.results == 1, seconds=30.0)
    heard = next(asked.body[name] for name in ("messages", "contents", "input") if name in asked.body)
    assert "Blue" in str(heard[-1])


@pytest.mark.parametrize(("program", "install_as"), [("claude", "claude"), ("codex", "codex")])
def test_of_several_answers_at_once_one_is_given(real: Real, program: str) -> None:
    agent = asking(real, asks_to_touch(program))

    def answer() -> str:
        with open_session(agent.agent, rate=0) as session:
            return str(session.ask("respond", seconds=20.0, choice="1")["state"])

    at = time.time()
    said = at_once(answer, answer, answer)

    assert sorted(said) == ["answered", "refused", "refused"]
    agent.wait_for("done", "idle", since=at)
    assert (agent.worktree / "one.txt").exists()
    assert len(agent.events("answer")) == 1


@pytest.mark.parametrize(("program", "install_as"), [("codex", "codex")])
@pytest.mark.parametrize("said", ["yes", "no"])
def test_the_question_of_trust_is_answered(real: Real, said: str) -> None:
    real.distrust()
    agent = asking(real, "hello", "trust")

    real.fleet.answer(agent.agent, said)

    if said == "yes":
        agent.wait_for("done", seconds=30.0)
    else:
        # It shows a list of its tasks instead of exiting.
        agent.wait_for("blocked", detail="menu")
        assert real.api.prompts() == []


@pytest.mark.parametrize(("program", "install_as"), [("codex", "codex")])
def test_nothing_is_answered_that_was_not_asked(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    with pytest.raises(Refused, match="waiting for an answer"):
        real.fleet.answer(agent.agent, "1")


@pytest.mark.parametrize(("program", "install_as"), [("claude", "claude")])
def test_an_answer_that_is_none_of_the_choices_is_refused_and_nothing_typed(real: Real) -> None:
    agent = asking(real, "please [[run touch one.txt]]")

    with pytest.raises(FleetError, match="not one of its choices"):
        real.fleet.answer(agent.agent, "7")

    assert agent.listed().status_detail == "permission"
    assert not (agent.worktree / "one.txt").exists()
