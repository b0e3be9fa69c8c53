"""prompt, queue, answer and why on real agents."""

from __future__ import annotations

import json
import os
import shlex
import stat
from functools import partial
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.prompts.reasons import SAYS_NOTHING
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import Cli, cli, prints
from tests.git.repositories import call
from tests.holder.holders import wait_until
from tests.prompting.asking_agents import COMMAND, asking, written

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]

CALM = "echo ready; exec cat"


def ended(pool: AgentPool) -> Agent:
    agent = pool.take("shell", "exit 3", together=2)
    wait_until(lambda: pool.fleet.find(agent.id).has_ended)
    return agent


def is_blocked(fleet: Fleet, name: str) -> bool:
    return fleet.find(name).status is Status.BLOCKED


# ── answers ──


@pytest.mark.parametrize(("said", "number"), [("2", "2"), ("no", "3"), ("Yes, always", "2"), ("allow", "1")])
def test_a_question_is_answered_by_number_or_words(cli: Cli, pool: AgentPool, said: str, number: str) -> None:
    agent = asking(pool)

    assert "answered" in cli.ok("answer", agent.name, said)

    wait_until(lambda: written(agent, "chosen") == [number])


def test_without_a_choice_the_question_is_shown(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)

    assert cli.ok("answer", agent.name).splitlines() == [
        "permission: run rm?",
        "  1  Yes",
        "  2  Yes, always",
        "  3  No",
    ]


def test_an_unknown_choice_presses_nothing(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)

    for said in ("4", "perhaps", " "):
        ran = cli("answer", agent.name, said)

        assert ran.code in (2, 4), said
        assert ran.complaint
        assert written(agent, "chosen") == [], said
        assert pool.fleet.find(agent.id).status is Status.BLOCKED, said


@pytest.mark.slow
def test_an_agent_without_a_question_is_not_answered(cli: Cli, pool: AgentPool) -> None:
    calm = pool.take("shell", CALM)

    refused = cli("answer", calm.name, "1")
    assert refused.code == 4
    assert "see what it asks" not in refused.complaint
    assert refused.complaint.endswith(f'(send a prompt with: fleet prompt {calm.name} "…")')
    assert cli("answer", calm.name).code == 4
    assert cli("answer", "nobody", "1").code == 3


@pytest.mark.slow
def test_the_same_question_asked_twice_takes_two_answers(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool, "--twice")

    cli("answer", agent.name, "1")
    wait_until(lambda: written(agent, "chosen") == ["1"])
    wait_until(lambda: pool.fleet.find(agent.id).status is Status.BLOCKED)
    cli("answer", agent.name, "3")

    wait_until(lambda: written(agent, "chosen") == ["1", "3"])


# ── prompts ──


@pytest.mark.slow
def test_waiting_for_a_prompt_ends_when_it_is_answered(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)
    pool.fleet.answer(agent, "1")
    wait_until(lambda: pool.fleet.find(agent.id).status is Status.DONE)

    receipt = json.loads(cli.ok("prompt", agent.name, "it's done?", "--wait", "--timeout", "20", "--json"))

    assert (receipt["agent"], receipt["state"]) == (agent.name, "answered")
    assert written(agent, "prompts") == ["it's done?"]


def test_a_prompt_for_a_blocked_agent_is_queued_and_times_out(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)

    ran = cli("prompt", agent.name, "later", "--timeout", "0.3")

    assert ran.code == 9
    assert "queued" in ran.out
    assert [entry["text"] for entry in pool.fleet.prompts.queue(agent).waiting] == ["later"]


def test_control_characters_are_dropped_and_reported(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)

    assert "control characters left out: 2" in cli.ok("prompt", agent.name, "a\x1b\x07b")


def test_one_prompt_to_several_agents_has_a_receipt_each(cli: Cli, fleet: Fleet) -> None:
    prompt = f"exec {shlex.join(COMMAND)}"
    fleet.multi([(name, prompt) for name in ("fix-a", "fix-b", "other")], profile="shell")
    for name in ("fix-a", "fix-b", "other"):
        wait_until(partial(is_blocked, fleet, name), f"{name} asking")

    receipts = json.loads(cli.ok("prompt", "fix-*", "all of you", "--json"))

    assert [receipt["agent"] for receipt in receipts] == ["fix-a", "fix-b"]
    assert fleet.prompts.queue(fleet.find("other")).waiting == ()
    assert len(cli.ok("prompt", "-b", fleet.find("other").batch, "whole batch").splitlines()) == 3


@pytest.mark.slow
def test_an_unreachable_agent_does_not_block_a_prompt_to_the_others(cli: Cli, fleet: Fleet) -> None:
    fleet.multi([(name, CALM) for name in ("reach-A", "reach-B", "reach-C")], profile="shell")
    unreachable = fleet.find("reach-B").id
    with fleet.store.transaction():
        intent = fleet.store.agents.intent(unreachable)
        fleet.store.agents.change(unreachable, 1.0, intent=json.dumps({**intent, "headless": True}))

    done = cli("prompt", "reach-*", "hello", "--json")

    states = {receipt["agent"]: receipt["state"] for receipt in json.loads(done.out)}
    assert states["reach-B"] == "refused"
    assert states["reach-A"] != "refused"
    assert states["reach-C"] != "refused"
    assert done.code == 4


@pytest.mark.slow
def test_a_prompt_needs_a_running_agent(cli: Cli, pool: AgentPool) -> None:
    over = ended(pool)

    assert cli("prompt", "only words").code == 2
    assert cli("prompt", over.name, "hello").code == 4
    assert cli("prompt", f"{over.name[:-1]}[{over.name[-1]}]", "hello").code == 4
    assert cli("prompt", "nobody", "hello").code == 3


@pytest.mark.slow
def test_a_command_that_waits_stays_a_command_when_it_is_edited(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)
    pool.fleet.prompts.send(agent, "/compact", command=True)
    place = str(len(pool.fleet.prompts.queue(agent).waiting))

    cli.ok("queue", agent.name, "--edit", place, "/clear")

    edited = pool.fleet.prompts.queue(agent).waiting[-1]
    cli.ok("queue", agent.name, "--cancel", place)
    assert (edited["text"], edited["command"]) == ("/clear", True)


def test_the_queue_is_shown_changed_and_shortened(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)
    for text in ("one", "two", "three"):
        pool.fleet.prompts.send(agent, text)

    cli.ok("queue", agent.name, "--edit", "2", "TWO")
    out = cli.ok("queue", agent.name, "--cancel", "1")

    assert [line.split() for line in out.splitlines()][-3:] == [
        ["refused", "one", "(cancelled)"],
        ["1", "queued", "TWO", "(it", "asks", "a", "question;", "answer", "that", "first)"],
        ["2", "queued", "three", "(behind", "another", "prompt)"],
    ]
    shown = json.loads(cli.ok("queue", agent.name, "--json"))
    assert [entry["text"] for entry in shown["waiting"]] == ["TWO", "three"]
    assert {entry["text"]: entry["state"] for entry in shown["given"]}["one"] == "refused"
    assert cli("queue", agent.name, "--cancel", "9").code == 3
    pool.fleet.answer(agent, "1")
    wait_until(lambda: written(agent, "prompts") == ["TWO", "three"], seconds=20)
    given = json.loads(cli.ok("queue", agent.name, "--json"))["given"]
    assert [entry["text"] for entry in given][-3:] == ["one", "TWO", "three"]


@pytest.mark.slow
def test_waiting_ends_for_a_first_prompt_without_a_sign_of_life(cli: Cli, pool: AgentPool) -> None:
    mute = pool.take("shell", "exec sleep 1000", together=1)

    def prompts() -> dict[str, object]:
        (found,) = (one["prompts"] for one in cli.listed() if one["id"] == mute.id)
        return dict(found)

    wait_until(lambda: prompts()["last"] == "typed", "its receipt")

    assert prompts()["queued"] == 0


@pytest.mark.slow
def test_a_silent_program_shows_why_its_prompt_waits_and_what_to_do(
    cli: Cli, fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrapper by the name of a known program, without its box, title or reports."""
    wrapper = tmp_path / "claude"
    wrapper.write_text('#!/bin/sh\nwhile read -r line; do echo "$line" >> got; done\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    agent = fleet.create("mute", profile="claude")

    assert "mute: queued (" in cli.ok("prompt", "mute", "hello")
    wait_until(lambda: SAYS_NOTHING in cli.ok("queue", "mute"), "the reason", seconds=20)
    (listed,) = (one for one in cli.listed() if one["id"] == agent.id)
    assert "--now" in listed["prompts"]["waits"]
    assert "1 queued: nothing shows" in cli.ok("list")
    waited = cli("prompt", "mute", "me too", "--timeout", "1")
    assert (waited.code, "queued (behind another prompt)" in waited.err) == (9, True)

    cli.ok("prompt", "mute", "at once", "--now")

    wait_until(lambda: written(agent, "got") == ["at once"], "the prompt", seconds=20)
    fleet.stop([agent])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("report", "code"),
    [("done", 0), ("error:msg=bm8gc3VjaCBtb2RlbA==", 10), ("idle", 0)],
)
def test_the_exit_code_shows_how_the_turn_ended(cli: Cli, fleet: Fleet, report: str, code: int) -> None:
    script = rf"""
printf '\033]7501;state=idle\007'
while read -r line; do
printf '\033]7501;state=working\007'; sleep 0.3; printf '\033]7501;state={report}\007'
done
"""
    agent = fleet.create(f"ends-{code}{report[:2]}", profile="shell", prompt=script)
    wait_until(lambda: fleet.find(agent.id).status is Status.IDLE)

    ran = cli("prompt", agent.name, "hello", "--wait", "--timeout", "20")

    assert ran.code == code, ran
    assert code == 0 or "no such model" in ran.err
    fleet.stop([agent])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("after", "code", "said"),
    [
        (r"printf '\033]7501;state=idle\007'", 11, "interrupted"),
        ("exit 0", 12, "the program has ended"),
    ],
)
def test_an_interrupted_turn_and_an_unseen_end_have_their_own_codes(
    cli: Cli, fleet: Fleet, after: str, code: int, said: str
) -> None:
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    (paths.user_profiles() / "breaks.toml").write_text(
        'program = "sh"\n[start]\nprompt = ["-c", "{prompt}"]\n'
        "[status]\nquiet_is_idle = false\nreports = true\nidle_interrupts = true\n"
    )
    script = rf"""
printf '\033]7501;state=idle\007'
while read -r line; do
printf '\033]7501;state=working\007'; sleep 0.3; {after}
done
"""
    agent = fleet.create(f"ends-{code}", profile="breaks", prompt=script)
    wait_until(lambda: fleet.find(agent.id).status is Status.IDLE)

    ran = cli("prompt", agent.name, "hello", "--wait", "--timeout", "20")

    assert (ran.code, said in ran.err) == (code, True), ran
    fleet.stop([agent])


# ── why ──


def test_why_names_the_source_its_rule_and_those_that_disagree(cli: Cli, pool: AgentPool) -> None:
    agent = asking(pool)

    found = json.loads(cli.ok("why", agent.name, "--json"))

    assert (found["status"], found["detail"], found["source"], found["text"]) == (
        "blocked",
        "permission",
        "osc7501",
        "run rm?",
    )
    assert found["choices"] == [["1", "Yes"], ["2", "Yes, always"], ["3", "No"]]
    assert found["others"][0]["source"] in ("output", "silence")
    text = cli.ok("why", agent.name)
    assert "source     osc7501" in text
    assert "disagrees" in text


@pytest.mark.slow
def test_why_explains_an_ended_agent(cli: Cli, pool: AgentPool) -> None:
    assert "exit" in cli.ok("why", ended(pool).name)


@pytest.mark.slow
def test_a_wrong_status_is_saved_as_a_test_takes_it(cli: Cli, pool: AgentPool) -> None:
    agent = pool.take("shell", CALM)
    prints(pool.fleet, agent, "ready")

    file = Path(cli.ok("why", agent.name, "--wrong", "working").removeprefix("saved as ").strip())

    saved = json.loads(file.read_text())
    assert (saved["profile"], saved["status"]) == ("shell", "working")
    assert "ready" in saved["lines"][0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert cli("why", agent.name, "--wrong", "flying").code == 2
    assert (
        "'nonsense' is not a kind"
        in cli("why", agent.name, "--wrong", "blocked", "--kind", "nonsense").complaint
    )
    assert cli("why", agent.name, "--wrong", "working", "--kind", "login").code == 2
    assert cli("why", agent.name, "--kind", "login").code == 2
    assert cli("why", agent.name, "--wrong", "blocked", "--kind", "login").code == 0


# ── agents of other projects ──


@pytest.mark.slow
def test_a_prompt_to_an_agent_of_another_project_says_so(
    cli: Cli, pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = pool.take("shell", CALM)
    here = cli("queue", agent.name)
    call(tmp_path, "init", "-q")
    call(tmp_path, "commit", "-q", "--allow-empty", "-m", "x")
    monkeypatch.chdir(tmp_path)
    theirs = f"{agent.name} is an agent of {pool.project}"

    by_name = cli("prompt", agent.name, "hello", "--now")
    renamed = cli("rename", agent.name, f"{agent.name}-2")
    by_id = cli("queue", agent.id)

    assert theirs not in here.err
    assert by_name.err.splitlines()[:1] == [theirs]
    assert renamed.err.splitlines()[0] == theirs
    assert (by_id.code, by_id.err) == (0, "")
    monkeypatch.chdir("/")
    assert "is an agent of" not in cli("prompt", f"{agent.name}-2", "hello", "--now").err
