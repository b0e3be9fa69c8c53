"""Waiting for agents: their holders say when to look, and what counts as having arrived."""

from __future__ import annotations

import time

import pytest

from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import PromptSummary, Status
from fleet_tui.prompting.waiting import REFRESH_SECONDS, SETTLED, Holders, has_arrived
from tests.agent_pool import AgentPool, module_pool, pool
from tests.faces.sample_agent import ONE
from tests.reporting_agents import report, reporting

__all__ = ["module_pool", "pool"]

NONE = PromptSummary()


@pytest.mark.slow
def test_a_holder_announces_a_status_at_once_and_output_is_no_news(pool: AgentPool) -> None:
    agent = reporting(pool)
    noisy = pool.take("shell", "while :; do echo $((n += 1)); sleep 0.01; done", together=1)
    with Holders() as holders:
        assert holders.listen([agent, noisy]), "what they did before has to be looked at"
        assert not holders.listen([agent, noisy])
        while holders.wait(0.7):
            pass  # the start of the noisy one is news

        report(agent, "blocked:kind=question")
        started = time.monotonic()
        assert holders.wait(None)
        assert time.monotonic() - started < REFRESH_SECONDS / 2


@pytest.mark.pure
@pytest.mark.parametrize(
    ("status", "prompts", "arrived"),
    [
        (Status.WORKING, NONE, False),
        (Status.LIMITED, NONE, False),
        (Status.UNKNOWN, NONE, False),
        (Status.IDLE, NONE, True),
        (Status.DONE, PromptSummary(last="answered"), True),
        (Status.DONE, PromptSummary(last="typed"), False),
        (Status.DONE, PromptSummary(last="typed", reason="it reports no turns"), True),
        (Status.IDLE, PromptSummary(last="accepted"), False),
        (Status.IDLE, PromptSummary(queued=1, last="queued"), False),
        (Status.BLOCKED, PromptSummary(queued=1, last="queued"), True),
        (Status.ERROR, NONE, True),
        (Status.ERROR, PromptSummary(queued=1, last="queued"), False),
        (Status.STOPPED, PromptSummary(queued=1, last="queued"), True),
    ],
)
def test_an_agent_has_settled_when_it_does_nothing_until_the_user_acts(
    status: Status, prompts: PromptSummary, arrived: bool
) -> None:
    assert has_arrived(replace(ONE, status=status), prompts, SETTLED) is arrived
