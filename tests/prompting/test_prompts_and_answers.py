"""Prompts and answers through the fleet: what reaches an agent, when, and what is on record of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.errors import Refused, UsageError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.cli.commands import prints
from tests.holder.holders import wait_until
from tests.holder.ordered_program import at_once
from tests.prompting.asking_agents import asking, written

__all__ = ["fleet", "module_pool", "pool"]


def test_a_prompt_is_typed_has_a_receipt_and_outlives_the_agent_in_its_log(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, pool.take()
    prints(fleet, agent, "ready")
    for text in ("", "  \n", "x" * 300_000):
        with pytest.raises(UsageError):
            fleet.prompts.send(agent, text)

    receipt = fleet.prompts.send(agent, "it's $(here)")

    assert receipt.state in ("queued", "typed", "accepted")
    prints(fleet, agent, "got: it's $(here)")
    fleet.stop([agent])
    assert "argument: x" in fleet.logs(agent, 50)
    assert "argument: x" in [line.rstrip() for line in fleet.peek(agent)]
    assert b"argument: x" in b"".join(fleet.raw_output(agent, follow=True))
    with pytest.raises(Refused, match="revive"):
        fleet.prompts.send(agent, "hello")


def test_the_first_prompt_has_a_receipt_too(pool: AgentPool) -> None:
    agent = asking(pool)

    assert [receipt.state for receipt in pool.fleet.prompts.receipts(agent)] == ["accepted"]
    pool.fleet.answer(agent, "1")

    wait_until(lambda: pool.fleet.prompts.receipt(f"{agent.id}.1").state == "answered")


def test_an_answer_that_comes_before_the_dialog_is_drawn_is_given_once_it_is(fleet: Fleet) -> None:
    script = r"""
printf '\033]7501;state=blocked:kind=permission\007'
until test -e draw; do sleep 0.05; done
stty -icanon; printf 'May I?\n  1. Yes\n  2. No\n'
dd bs=1 count=1 of=chosen 2>/dev/null
printf '\033[2J\033]7501;state=done\007'; exec cat
"""
    agent = fleet.create("late", profile="shell", prompt=script)
    wait_until(lambda: fleet.find("late").status is Status.BLOCKED, "the question")

    at_once(lambda: fleet.answer(fleet.find("late"), "2"), (Path(agent.worktree) / "draw").touch)

    wait_until(lambda: written(agent, "chosen") == ["2"])
