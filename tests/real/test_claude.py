"""The real claude in a fleet. The API's log shows what it was asked, the disk what it did."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from fleet_tui.models import Status
from tests.holder.holders import wait_until
from tests.real.agents import Real, Running, kill_keeper
from tests.real.dialects import ANSWER, CACHED, NEW
from tests.real.homes import contents, settings
from tests.real.scenarios import QUESTION

PROGRAM = "claude"
pytestmark = pytest.mark.agents


# ── prompts ──


def test_a_first_prompt_on_the_command_line_edits_a_file(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt it's done]]")

    assert agent.file("notes.txt") == "it's done"
    real.api.wait_for_prompt("please [[write notes.txt it's done]]")
    done = agent.wait_for("done", source="osc7501")
    assert {told.status for told in agent.statuses() if told.at < done.at} == {"starting", "working"}


def test_control_characters_are_stripped_from_a_prompt(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    agent.prompt("one\x1b[201~\x03\x1btwo\x07\x08 three")

    asked = real.api.wait_for(lambda asked: "two" in asked.prompt)
    assert asked.prompt == "one[201~two three"


def test_a_prompts_receipt_goes_on_until_it_is_answered(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")

    receipt = agent.prompt("once more")
    asked = real.api.wait_for_prompt("once more")
    agent.wait_for("done", since=asked.at)

    agent.wait_for_receipts(receipt.id, ["queued", "typed", "accepted", "answered"], seconds=2.0)


# ── status ──


def test_a_question_is_asked_and_answered(real: Real) -> None:
    agent = real.start("please [[ask]]")

    blocked = agent.wait_for("blocked")
    assert blocked.detail == "question"
    assert QUESTION in blocked.text
    agent.shows("Enter to select")
    at = agent.press("down", "enter")

    agent.wait_for("done", since=at)
    assert "Blue" in str(real.api.wait_for(lambda asked: asked.turn.results == 1).body["messages"][-1])


def test_an_api_error_is_an_error_with_its_text(real: Real) -> None:
    agent = real.start("please [[fail 400]]")

    assert "refused on purpose" in agent.wait_for("error").text


@pytest.mark.parametrize("cols", [45, 80, 120])
def test_a_used_up_quota_is_reported_with_the_time_of_its_reset(
    used_up: Callable[[int], Running], cols: int
) -> None:
    limited = used_up(cols).wait_for("limited")

    assert re.match(r"resets \d+:\d\d[ap]m", limited.detail), limited
    assert limited.text.startswith("You've hit your 5-hour limit")


@pytest.mark.parametrize(("order", "status"), [("[[fail 401]]", "error"), ("[[limit 99 1]]", "limited")])
def test_a_prompt_follows_a_turn_that_was_refused_or_limited(real: Real, order: str, status: str) -> None:
    agent = real.start(f"please {order}")
    agent.shows("esend your message")
    wait_until(lambda: agent.statuses()[-1].status == status, status, seconds=2.0)

    receipt = agent.prompt("and once more [[slow 3 0.1]]")

    real.api.wait_for_prompt("and once more [[slow 3 0.1]]", seconds=10.0)
    agent.wait_for("done")
    agent.wait_for_receipts(receipt.id, ["queued", "typed", "accepted", "answered"], seconds=5.0)


def test_a_menu_is_a_block_whose_choice_can_be_taken(real: Real) -> None:
    agent = real.start()
    agent.wait_for("idle")
    agent.type("/model")
    agent.shows("/model")
    agent.press("enter")
    agent.wait_for("blocked", detail="menu")
    wait_until(lambda: bool((evidence := agent.listed().evidence) and evidence.choices), "the choices")

    assert agent.prompt("hello").state == "queued"
    real.fleet.answer(agent.agent, "4")

    asked = real.api.wait_for_prompt("hello")
    assert "sonnet" in asked.body["model"]


@pytest.mark.parametrize(("mode", "kind"), [("ask", "trust"), ("all", "permission")])
def test_a_dialog_before_the_first_turn_is_a_block(real: Real, mode: str, kind: str) -> None:
    """The question about an untrusted folder, and the warning before permissions are skipped."""
    real.configure(f'[agent]\npermission_mode = "{mode}"\n')
    if kind == "trust":
        real.distrust()

    agent = real.start("hello")
    agent.shows("Enter to confirm")

    assert agent.wait_for("blocked", "unknown").status == "blocked"
    assert agent.statuses()[-1].detail == kind


# ── conversations ──


def test_an_agent_whose_keeper_was_killed_goes_on_with_its_conversation(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")
    session = agent.agent.session_id
    wait_until(lambda: any((real.home / ".claude" / "projects").rglob(f"{session}.jsonl")))
    kill_keeper(agent)
    assert agent.listed().status is Status.LOST

    real.fleet.revive(agent.agent)
    agent.wait_for("idle", source="osc7501")
    agent.prompt("which word was it?")

    asked = real.api.wait_for_prompt("which word was it?")
    assert "remember the word marzipan" in asked.turn.said
    assert agent.agent.session_id == session
    assert session in asked.body["metadata"]["user_id"]


def test_a_fork_goes_on_with_a_copy_of_the_conversation_and_comes_back_to_its_own(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")

    fork = real.fork(agent, "other", "which word was it?")

    asked = real.api.wait_for_prompt("which word was it?")
    assert "remember the word marzipan" in asked.turn.said
    session = fork.agent.session_id
    assert session not in ("", agent.agent.session_id)
    assert session in asked.body["metadata"]["user_id"]
    fork.wait_for("done")
    kill_keeper(fork)
    fork.listed()
    real.fleet.revive(fork.agent)
    fork.wait_for("idle", source="osc7501")
    fork.prompt("and which was it again?")
    again = real.api.wait_for_prompt("and which was it again?")
    assert {"remember the word marzipan", "which word was it?"} <= set(again.turn.said)
    assert session in again.body["metadata"]["user_id"]
    wait_until(
        lambda: real.spent(fork) == tuple(2 * number for number in ANSWER), "its own answers being counted"
    )


def test_an_agent_that_starts_over_has_a_new_conversation(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")
    first = agent.agent.session_id
    real.fleet.stop([agent.agent])

    real.fleet.revive(agent.agent, fresh=True)

    agent.wait_for("done")
    asked = [one for one in real.api.prompts() if one.prompt == "remember the word marzipan"]
    assert [first in one.body["metadata"]["user_id"] for one in asked] == [True, False]
    assert agent.agent.session_id not in ("", first)


# ── spending ──


def test_what_a_turn_takes_is_known_and_its_cost_once_it_has_ended(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')
    agent = real.start("please [[write notes.txt done]]")
    agent.wait_for("done")

    wait_until(
        lambda: real.spent(agent) == tuple(2 * number for number in ANSWER), "both answers being counted"
    )
    [spent] = real.fleet.spending([agent.agent]).values()
    assert (spent.context_tokens, spent.context_limit) == (NEW + CACHED, 1_000_000)
    assert spent.cost is None
    real.fleet.stop([agent.agent])

    [ended] = real.fleet.spending([agent.agent]).values()
    assert ended.cost is not None
    assert ended.cost > 0


# ── footprint ──


def test_nothing_of_the_users_is_changed_but_what_the_program_itself_records(real: Real) -> None:
    home, project, chosen = contents(real.home), contents(real.project), settings(PROGRAM, real.home)

    agent = real.start("please [[write notes.txt done]]")
    agent.wait_for("blocked")
    real.fleet.stop([agent.agent])
    wait_until(lambda: agent.listed().has_ended)

    assert real.left_in_home(home) == []
    assert real.left_in_project(project) == []
    assert settings(PROGRAM, real.home) == chosen
