"""Answers given from the list to the real programs: what came of them is read from the disk and the API's log."""

from __future__ import annotations

import time

import pytest

from fleet_tui.errors import FleetError, Refused
from tests.holders import wait_until
from tests.imitations import at_once
from tests.real.agents import Real, Running
from tests.real.scenarios import QUESTION

pytestmark = pytest.mark.agents
START_SECONDS = 120.0

RUN = {"codex": "please [[escape touch one.txt]]"}
"""Codex asks only for what its sandbox would not let it do."""

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
    """An agent that has asked, with its choices on the screen."""
    agent = real.start(prompt)
    agent.wait_for("blocked", seconds=START_SECONDS)
    wait_until(lambda: knows_choices(agent), "the choices", seconds=START_SECONDS)
    assert agent.listed().status_detail == kind
    return agent


def knows_choices(agent: Running) -> bool:
    evidence = agent.listed().evidence
    return evidence is not None and len(evidence.choices) > 1


@every
def test_a_permission_is_given(real: Real, program: str) -> None:
    agent = asking(real, RUN.get(program, "please [[run touch one.txt]]"))

    at = time.time()
    real.fleet.answer(agent.id, "yes")

    agent.wait_for("done", "idle", since=at, seconds=30.0)
    assert (agent.worktree / "one.txt").exists()


@every
def test_a_permission_is_denied(real: Real, program: str) -> None:
    agent = asking(real, RUN.get(program, "please [[run touch one.txt]]"))

    at = time.time()
    real.fleet.answer(agent.id, "no")

    agent.wait_for("done", "idle", since=at, seconds=30.0)
    assert not (agent.worktree / "one.txt").exists()


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

    real.fleet.answer(agent.id, said)

    asked = real.api.wait_for(lambda asked: asked.turn.results == 1, seconds=30.0)
    heard = next(asked.body[name] for name in ("messages", "contents", "input") if name in asked.body)
    assert "Blue" in str(heard[-1])


@pytest.mark.parametrize(("program", "install_as"), [("claude", "claude"), ("codex", "codex")])
def test_of_several_answers_at_once_one_is_given(real: Real, program: str) -> None:
    agent = asking(real, RUN.get(program, "please [[run touch one.txt]]"))

    def answer() -> str:
        with real.fleet.session(agent.agent, rate=0) as session:
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

    real.fleet.answer(agent.id, said)

    if said == "yes":
        agent.wait_for("done", seconds=30.0)
    else:
        # It goes to a list of all its tasks instead of ending.
        agent.wait_for("blocked", detail="menu")
        assert real.api.prompts() == []


@pytest.mark.parametrize(("program", "install_as"), [("codex", "codex")])
def test_nothing_is_answered_that_was_not_asked(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    with pytest.raises(Refused, match="does not wait"):
        real.fleet.answer(agent.id, "1")


@pytest.mark.parametrize(("program", "install_as"), [("claude", "claude")])
def test_an_answer_that_is_none_of_the_choices_is_refused_and_nothing_typed(real: Real) -> None:
    agent = asking(real, "please [[run touch one.txt]]")

    with pytest.raises(FleetError, match="none of its choices"):
        real.fleet.answer(agent.id, "7")

    assert agent.listed().status_detail == "permission"
    assert not (agent.worktree / "one.txt").exists()
