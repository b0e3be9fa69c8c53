"""Delay between the screen and the status: one second, or two if title and screen are the only sources."""

from __future__ import annotations

import time

import pytest

from tests.holder.holders import wait_until
from tests.real.agents import PERMISSION_SHOWN, Real, Running, asks_to_touch

pytestmark = pytest.mark.agents


def shown_at(agent: Running, text: str) -> float:
    """When the screen first showed these words, regardless of line breaks."""
    moments: list[float] = []

    def is_shown() -> bool:
        if text in " ".join(agent.screen().split()):
            moments.append(time.time())
        return bool(moments)

    wait_until(is_shown, f"{text!r} being shown", seconds=60.0)
    return moments[0]


@pytest.mark.parametrize(
    ("program", "install_as", "seconds"),
    [("claude", "claude", 1.0), ("codex", "codex", 1.0), ("claude", "claude before reports", 2.0), ("gemini", "gemini", 2.0)],
)  # fmt: skip
def test_every_step_is_reported_in_time(real: Real, seconds: float) -> None:
    agent = real.start(asks_to_touch(real.program))

    asked = shown_at(agent, PERMISSION_SHOWN[real.program])
    assert agent.wait_for("blocked", detail="permission").at - asked < seconds
    wait_until(lambda: bool((evidence := agent.listed().evidence) and evidence.choices), "the choices")
    given = time.time()
    real.fleet.answer(agent.agent, "1")
    answered = shown_at(agent, "The prompt was")
    assert agent.wait_for("working", "done", since=given).at - given < seconds + 1.0
    assert agent.wait_for("done", since=given).at - answered < seconds

    given = agent.prompt("please [[slow 300 0.1]]").at
    begun = shown_at(agent, "word3")
    assert agent.wait_for("working", since=given - 1.0).at - begun < seconds
    at = agent.press("escape")
    assert agent.wait_for("idle", "done", since=at).at - at < seconds + 1.0
