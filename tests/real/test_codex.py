"""The real codex in a fleet. The API's log shows what it was asked, the disk what it did."""

from __future__ import annotations

import pytest

from fleet_tui.models import Status
from tests.conftest import processes_of
from tests.holder.holders import wait_until
from tests.real.agents import Real, kill_keeper
from tests.real.dialects import ANSWER
from tests.real.homes import contents, settings

PROGRAM = "codex"
pytestmark = pytest.mark.agents


# ── prompts ──


def test_a_first_prompt_on_the_command_line_edits_a_file(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')

    agent = real.start("please [[write notes.txt done]]")

    assert agent.file("notes.txt") == "done"
    real.api.wait_for_prompt("please [[write notes.txt done]]")
    done = agent.wait_for("done", source="osc7501")
    assert "working" in {told.status for told in agent.statuses() if told.at < done.at}


# ── status ──


def test_an_api_error_is_an_error(real: Real) -> None:
    agent = real.start("please [[fail 400]]")

    assert agent.wait_for("error").source == "osc7501"


def test_an_error_is_reported_with_its_text(real: Real) -> None:
    agent = real.start("please [[fail 400]]")

    first = agent.wait_for("error")
    assert agent.wait_for("error", text="refused on purpose").at - first.at < 1.0


@pytest.mark.parametrize("cols", [45, 80, 120])
def test_a_used_up_quota_is_reported_with_the_time_of_its_reset(real: Real, cols: int) -> None:
    real.fleet._size = (cols, 30)
    agent = real.start("please [[exhausted]]")

    limited = agent.wait_for("limited")

    assert limited.detail.startswith("try again at ")
    assert limited.text.startswith("You’ve hit your usage limit")


# ── conversations ──


def test_an_agent_whose_keeper_was_killed_goes_on_with_its_own_conversation(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")
    real.start("remember the word nougat", name="other").wait_for("done")
    kill_keeper(agent)
    ended = agent.listed()
    assert (ended.status, bool(ended.session_id)) == (Status.LOST, True)

    revived = real.fleet.revive(agent.agent)
    assert (revived.session_id, ended.session_id in revived.argv) == (ended.session_id, True)
    agent.wait_for("idle", "done", source="osc7501")
    agent.prompt("which word was it?")

    asked = real.api.wait_for_prompt("which word was it?")
    assert "remember the word marzipan" in asked.turn.said
    assert "remember the word nougat" not in asked.turn.said
    assert agent.listed().session_id == ended.session_id


def test_a_fork_goes_on_with_a_copy_of_the_conversation_and_comes_back_to_its_own(real: Real) -> None:
    agent = real.start("remember the word marzipan")
    agent.wait_for("done")

    fork = real.fork(agent, "other", "which word was it?")

    asked = real.api.wait_for_prompt("which word was it?")
    assert "remember the word marzipan" in asked.turn.said
    fork.wait_for("done")
    wait_until(lambda: bool(fork.listed().session_id), "the id being found")
    session = fork.listed().session_id
    assert session != agent.listed().session_id
    kill_keeper(fork)
    real.fleet.revive(fork.agent)
    fork.wait_for("idle", "done", source="osc7501")
    assert (fork.agent.session_id, session in fork.agent.argv) == (session, True)
    assert real.spent(fork) == ANSWER


# ── spending ──


def test_what_a_turn_takes_is_known(real: Real) -> None:
    real.configure('[agent]\npermission_mode = "edits"\n')
    agent = real.start("please [[write notes.txt done]]")
    agent.wait_for("done")
    wait_until(lambda: bool(agent.listed().session_id), "the id being found")

    wait_until(
        lambda: real.spent(agent) == tuple(2 * number for number in ANSWER), "both answers being counted"
    )
    [spent] = real.fleet.spending([agent.agent]).values()
    assert (spent.context_tokens, spent.model) == (sum(ANSWER), "gpt-5-codex")
    assert spent.context_limit
    assert spent.cost is None


def test_the_conversations_id_is_known(real: Real) -> None:
    agent = real.start("hello")
    agent.wait_for("done")
    wait_until(lambda: bool(agent.listed().session_id), "the id being found")

    files = list((real.home / ".codex" / "sessions").rglob("rollout-*.jsonl"))

    assert [agent.listed().session_id] == [file.stem[-36:] for file in files]


# ── footprint ──


def test_nothing_of_the_users_is_changed_but_what_the_program_itself_records(real: Real) -> None:
    home, project, chosen = contents(real.home), contents(real.project), settings(PROGRAM, real.home)

    agent = real.start("hello")
    agent.wait_for("done")
    real.fleet.stop([agent.agent])
    wait_until(lambda: agent.listed().has_ended)

    assert processes_of(agent.agent) == []
    assert real.left_in_home(home) == []
    assert real.left_in_project(project) == []
    assert settings(PROGRAM, real.home) == chosen
