"""Answers and permission rules with the real claude, from the list and through its hook."""

from __future__ import annotations

import json

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused
from tests.holder.holders import wait_until
from tests.real.agents import Real

PROGRAM = "claude"
pytestmark = pytest.mark.agents


def test_a_permission_is_given_from_the_list_through_the_hook(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.wait_for("blocked", text="touch one.txt")
    wait_until(lambda: bool((evidence := agent.listed().evidence) and evidence.choices), "the choices")
    waiting = real.fleet.run_folder(agent.agent) / "hooks"
    wait_until(lambda: any(waiting.glob("*.open")), "the hook waiting for a decision")

    real.fleet.answer(agent.agent, "yes")

    agent.wait_for("done")
    assert (agent.worktree / "one.txt").exists()
    assert [event["data"]["by"] for event in agent.events("answer")] == ["hook"]


def test_a_permission_is_denied_from_the_list(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.wait_for("blocked")
    wait_until(lambda: bool((evidence := agent.listed().evidence) and evidence.choices), "the choices")

    real.fleet.answer(agent.agent, "no")

    agent.wait_for("idle", "done")
    assert not (agent.worktree / "one.txt").exists()


def test_a_choice_that_only_the_dialog_has_is_taken_by_its_number(real: Real) -> None:
    agent = real.start("please [[run touch one.txt]]")
    agent.wait_for("blocked")
    wait_until(
        lambda: bool((evidence := agent.listed().evidence) and len(evidence.choices) > 2), "the choices"
    )

    real.fleet.answer(agent.agent, "2")

    agent.wait_for("done")
    assert (agent.worktree / "one.txt").exists()
    assert [event["data"]["by"] for event in agent.events("answer")] == ["keys"]


@pytest.mark.parametrize(
    ("said", "heard"), [("2", "Blue"), ("blue", "Blue"), ("a dark green", "a dark green")]
)
def test_a_question_is_answered_by_number_word_or_words_of_ones_own(
    real: Real, said: str, heard: str
) -> None:
    agent = real.start("please [[ask]]")
    agent.wait_for("blocked", detail="question")
    wait_until(
        lambda: bool((evidence := agent.listed().evidence) and len(evidence.choices) > 2), "the choices"
    )

    real.fleet.answer(agent.agent, said)

    assert heard in str(real.api.wait_for(lambda asked: asked.turn.results == 1).body["messages"][-1])


@pytest.mark.parametrize("said", ["yes", "no"])
def test_the_question_of_trust_is_answered_from_the_list(real: Real, said: str) -> None:
    real.distrust()
    agent = real.start("hello")
    agent.wait_for("blocked", detail="trust")

    real.fleet.answer(agent.agent, said)

    if said == "yes":
        agent.wait_for("done", seconds=30.0)
    else:
        wait_until(lambda: agent.listed().has_ended, "its end")


def test_nothing_is_answered_that_was_not_asked(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    with pytest.raises(Refused, match="waiting for an answer"):
        real.fleet.answer(agent.agent, "1")


RULES = """
[approve]
mode = "{mode}"
[[approve.rules]]
decision = "deny"
command = "rm *"
[[approve.rules]]
decision = "allow"
command = "touch *"
"""


def approvals() -> list[tuple[str, str, str]]:
    lines = paths.approvals().read_text().splitlines()
    return [(entry["what"], entry["decision"], entry["mode"]) for entry in map(json.loads, lines)]


def test_what_the_rules_allow_is_done_without_a_question(real: Real) -> None:
    real.configure(RULES.format(mode="on"))

    agent = real.start("please [[run touch one.txt]]")
    agent.wait_for("done")

    assert (agent.worktree / "one.txt").exists()
    assert approvals() == [("touch one.txt", "allow", "on")]


def test_what_the_rules_deny_is_not_done(real: Real) -> None:
    real.configure(RULES.format(mode="on"))
    agent = real.start("please [[run rm -rf .git]]")

    agent.wait_for("idle", "done")

    assert (agent.worktree / ".git").exists()
    assert approvals() == [("rm -rf .git", "deny", "on")]


def test_what_the_rules_deny_goes_back_to_the_model_with_the_reason_and_the_turn_goes_on(real: Real) -> None:
    real.configure(RULES.format(mode="on"))
    agent = real.start("please [[run rm -rf .git]]")

    asked = real.api.wait_for(lambda asked: asked.turn.results == 1)

    (result,) = [part for part in asked.body["messages"][-1]["content"] if part["type"] == "tool_result"]
    assert result["is_error"]
    assert "rule 1: deny any tool `rm *`" in str(result["content"])
    agent.shows("The prompt was")
    agent.wait_for("done", source="osc7501", since=asked.at)


def test_rules_that_are_only_tried_decide_nothing(real: Real) -> None:
    real.configure(RULES.format(mode="shadow"))
    agent = real.start("please [[run touch one.txt]]")

    agent.wait_for("blocked", text="touch one.txt")
    wait_until(paths.approvals().exists, "the decision on record")

    assert not (agent.worktree / "one.txt").exists()
    assert approvals() == [("touch one.txt", "allow", "shadow")]


def test_a_conversation_begun_anew_is_the_one_that_comes_back(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")
    first = agent.agent.session_id

    agent.prompt("/clear", command=True)
    wait_until(lambda: agent.listed().session_id != first, "the new conversation's id")
    agent.prompt("remember the word nougat")
    asked = real.api.wait_for_prompt("remember the word nougat")
    agent.wait_for("done", since=asked.at)
    real.fleet.stop([agent.listed()])
    real.fleet.revive(agent.agent)
    agent.wait_for("idle", source="osc7501")
    agent.prompt("which word was it?")

    said = real.api.wait_for_prompt("which word was it?").turn.said
    assert "remember the word nougat" in said
    assert "remember the word marzipan" not in said
