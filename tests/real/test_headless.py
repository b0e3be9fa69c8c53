"""The real programs in their headless modes: files they wrote, requests they made, how they ended."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.models import Agent, Status
from tests.holder.holders import wait_until
from tests.real.agents import HARD_PROMPT, Real, Running

SECONDS = 120.0
pytestmark = pytest.mark.agents


@pytest.fixture(params=["claude", "codex", "gemini", "opencode"])
def program(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def start(real: Real, prompt: str, mode: str = "edits") -> Running:
    real.configure(f'[agent]\npermission_mode = "{mode}"\n')
    made = real.fleet.create("work", prompt=prompt, profile=real.program, headless=True)
    return Running(real.fleet, made.id)


def ended(agent: Running) -> Agent:
    wait_until(lambda: agent.listed().has_ended, "the run's end", seconds=SECONDS)
    return agent.listed()


def printed(agent: Running) -> str:
    return "\n".join(agent.fleet.logs(agent.agent, 500))


def limits(agent: Running) -> int:
    """How often it reported `limited`."""
    raw = b"".join(agent.fleet.raw_output(agent.agent))
    return len(re.findall(rb"\x1b\]7501;state=limited:", raw))


def test_a_file_is_edited_and_the_conversation_goes_on(real: Real) -> None:
    agent = start(real, "please [[write notes.txt done]]")
    first = ended(agent)

    assert (first.status, first.exit_code) == (Status.EXITED, 0), printed(agent)
    assert (Path(first.worktree) / "notes.txt").read_text() == "done"
    assert {told.status for told in agent.statuses() if told.source == "osc7501"} == {"working", "done"}
    assert "I begin." in printed(agent)
    assert '{"' not in printed(agent)
    told = json.loads((paths.run(first.id, 1) / "session.json").read_text())["session_id"]
    spent = json.loads((paths.run(first.id, 1) / "spending.json").read_text())
    assert spent["input_tokens"] > 0 < spent["output_tokens"]

    real.fleet.revive(agent.agent, prompt=f"- {HARD_PROMPT}")
    again = ended(agent)

    assert (again.run, again.exit_code) == (2, 0), printed(agent)
    asked = real.api.wait_for_prompt(f"- {HARD_PROMPT}")
    assert "please [[write notes.txt done]]" in asked.turn.said
    assert again.session_id == told
    assert json.loads((paths.run(first.id, 2) / "session.json").read_text())["session_id"] == told
    assert not (Path(first.worktree) / "PWNED").exists()


def test_an_api_error_is_an_error_with_its_text(real: Real) -> None:
    agent = start(real, "please [[fail 400]]")

    assert ended(agent).exit_code not in (0, None)
    last = [told for told in agent.statuses() if told.source == "osc7501"][-1]
    assert last.status == "error"
    assert "refused on purpose" in last.text
    assert "refused on purpose" in printed(agent)


def test_a_rate_limited_run_recovers(real: Real) -> None:
    agent = start(real, "please [[limit 2 1]]")

    assert ended(agent).exit_code == 0, printed(agent)
    assert [asked.status for asked in real.api.prompts()] == [429, 429, 200]
    # opencode's stream does not mention it.
    assert limits(agent) == (0 if real.program == "opencode" else 2)


def test_what_is_not_permitted_is_not_done(real: Real) -> None:
    # codex does not report a command that ends at once, even if its sandbox refused the change.
    does = "run sleep 1; touch notes.txt" if real.program == "codex" else "write notes.txt done"
    agent = start(real, f"please [[{does}]]", mode="ask")

    run = ended(agent)
    assert not (agent.worktree / "notes.txt").exists()
    if real.program == "gemini":
        # It withholds its tools from the model and reports nothing.
        return
    assert run.exit_code == 1
    last = [told for told in agent.statuses() if told.source == "osc7501"][-1]
    assert last.status == "error"
    assert last.text.startswith("not permitted: 1 request denied: ")
    assert "notes.txt" in last.text
