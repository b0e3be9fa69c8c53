"""`fleet wait` waits for agents, and its exit code tells what came of them."""

from __future__ import annotations

import json

import pytest

from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import Cli, cli
from tests.holder.holders import wait_until
from tests.reporting_agents import ended, exit_with, report, reporting
from tests.scripted import start_cli

__all__ = ["cli", "fleet", "module_pool", "pool", "project"]

SECONDS = "20"


def test_an_idle_agent_is_not_waited_for(cli: Cli, pool: AgentPool) -> None:
    agent = reporting(pool, "idle")

    assert cli.ok("wait", agent.name, "--timeout", SECONDS).split() == [agent.name, "idle"]


def test_a_working_agent_is_waited_for_until_it_is_done(pool: AgentPool) -> None:
    agent = reporting(pool)

    waiting = start_cli(pool.project, "wait", agent.name, "--timeout", SECONDS)
    assert waiting.poll() is None
    report(agent, "done")
    out, err = waiting.communicate(timeout=20)

    assert (waiting.returncode, out.split(), err) == (0, [agent.name, "done"], "")


def test_all_agents_of_a_pattern_are_waited_for_and_any_takes_the_first(cli: Cli, pool: AgentPool) -> None:
    busy, calm = reporting(pool), reporting(pool, "done")

    ran = cli("wait", busy.name, calm.name, "--timeout", "0.3")
    assert (ran.code, ran.out.split()) == (9, [busy.name, "working", calm.name, "done"])
    assert ran.complaint == f"fleet: {busy.name} is still working (fleet why {busy.name})"
    assert cli.ok("wait", busy.name, calm.name, "--any", "--timeout", SECONDS).split() == [calm.name, "done"]


@pytest.mark.parametrize(
    ("state", "text", "code", "complaint"),
    [
        (
            "blocked:kind=permission", "rm -rf build", 13,
            "{} waits for an answer: permission: rm -rf build (fleet answer {})",
        ),
        ("error", "API error 500", 10, "{} has an error: API error 500 (fleet why {})"),
    ],
)  # fmt: skip
def test_what_needs_the_user_ends_the_wait_with_a_code_of_its_own(
    cli: Cli, pool: AgentPool, state: str, text: str, code: int, complaint: str
) -> None:
    agent = reporting(pool, state, text)

    ran = cli("wait", agent.name, "--timeout", SECONDS)

    assert (ran.code, ran.complaint) == (code, f"fleet: {complaint.replace('{}', agent.name)}")


@pytest.mark.parametrize("exit_code", [0, 3])
def test_a_program_that_exits_passes_on_whether_it_failed(cli: Cli, pool: AgentPool, exit_code: int) -> None:
    agent = reporting(pool)
    exit_with(agent, exit_code)

    ran = cli("wait", agent.name, "--timeout", SECONDS)

    assert (ran.code, ran.out) == (10 if exit_code else 0, f"{agent.name}  exited {exit_code}\n")
    if exit_code:
        assert ran.complaint == f"fleet: {agent.name} exited with code 3 (fleet logs {agent.name})"


def test_an_agent_that_is_stopped_meanwhile_differs_from_one_that_has_finished(
    cli: Cli, pool: AgentPool
) -> None:
    agent = reporting(pool)
    waiting = start_cli(pool.project, "wait", agent.name, "--timeout", SECONDS)

    pool.fleet.stop([agent], grace=0.2)

    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 11
    assert err == f"fleet: {agent.name} is stopped (fleet revive {agent.name} continues it)\n"


def test_an_ended_agent_is_not_waited_for_and_a_killed_one_is_not_found(cli: Cli, pool: AgentPool) -> None:
    agent = reporting(pool)
    exit_with(agent, 0)
    ended(pool, agent)

    assert cli.ok("wait", agent.name) == f"{agent.name}  exited 0\n"
    pool.fleet.kill([pool.fleet.find(agent.id)])
    assert cli("wait", agent.name).code == 3


def test_a_wanted_status_ends_the_wait_and_no_other_does(cli: Cli, pool: AgentPool) -> None:
    agent = reporting(pool, "blocked:kind=question", "which?")

    assert cli.ok("wait", agent.name, "--for", "blocked", "--timeout", SECONDS)
    ran = cli("wait", agent.name, "--for", "idle", "--for", "limited", "--timeout", "0.3")
    assert (ran.code, ran.complaint.split(" (")[0]) == (9, f"fleet: {agent.name} is still question")
    report(agent, "done")
    assert cli.ok("wait", agent.name, "--for", "idle", "--timeout", SECONDS), "done is idle, not yet seen"


def test_an_end_before_the_wanted_status_has_a_code_of_its_own(cli: Cli, pool: AgentPool) -> None:
    agent = reporting(pool)
    exit_with(agent, 0)

    ran = cli("wait", agent.name, "--for", "idle", "--for", "done")
    assert ran.code == 12
    assert f"{agent.name} has ended (exited 0) before it was done or idle" in ran.complaint
    assert cli("wait", agent.name, "--for", "ended").code == 0


def test_an_idle_agent_with_a_prompt_before_it_has_not_finished(cli: Cli, pool: AgentPool) -> None:
    """Its status takes a moment to change after a prompt: `prompt` and then `wait` must not return at once."""
    agent = reporting(pool, "working")
    cli.ok("prompt", agent.name, "one more")
    report(agent, "blocked:kind=question")
    wait_until(lambda: pool.fleet.find(agent.id).status == "blocked")
    assert cli("wait", agent.name).code == 13

    # The program never reads its input, so the prompt stays queued or typed while it is idle.
    report(agent, "idle")
    wait_until(lambda: pool.fleet.find(agent.id).status == "idle")
    assert cli("wait", agent.name, "--timeout", "0.3").code == 9


def test_json_has_every_agent_and_whether_it_was_waited_for(cli: Cli, pool: AgentPool) -> None:
    busy, asks = reporting(pool), reporting(pool, "blocked:kind=permission", "run rm?")

    ran = cli("wait", busy.name, asks.name, "--any", "--json")

    first, second = json.loads(ran.out)
    assert ran.code == 13
    assert (first["name"], first["arrived"], second["name"], second["arrived"]) == (
        busy.name, False, asks.name, True,
    )  # fmt: skip
    assert (second["status"], second["status_detail"], second["status_text"]) == (
        "blocked", "permission", "run rm?",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["nobody"], 3, "no agent matches 'nobody'"),
        ([], 2, "which agents?"),
        (["-b", "none"], 3, "no agent in the batch 'none'"),
        (["x", "--for", "happy"], 2, "--for must be setup, starting, "),
    ],
)
def test_a_wrong_request_is_one_line(cli: Cli, arguments: list[str], code: int, complaint: str) -> None:
    ran = cli("wait", *arguments)

    assert (ran.code, complaint in ran.complaint) == (code, True), ran.complaint
