"""Answering, asking why and looking at prompts from the dashboard, on real agents that really ask."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.tui.dialogs.answer import AnswerDialog
from fleet_tui.tui.dialogs.queue import QueueDialog
from fleet_tui.tui.dialogs.why import WhyDialog, WrongDialog
from tests import scripted
from tests.holder.holders import wait_until
from tests.tui.running_dashboard import Driven, drive, opened

CHOICES = ("Yes", "Yes, always", "No")
CALM = "exec cat"
"""What never asks."""


def asking(fleet: Fleet, name: str, *words: str) -> Agent:
    """An agent that has asked and waits."""
    (agent,) = started(fleet, {name: _asks(*words)})
    return agent


def started(fleet: Fleet, programs: Mapping[str, str]) -> list[Agent]:
    """Agents by their names and programs, started together; those that are to ask have asked."""
    fleet.multi(list(programs.items()), profile="shell")
    for name, program in programs.items():
        if program != CALM:
            wait_until(lambda name=name: _choices(fleet, name) > 0, f"{name} asking")  # type: ignore[misc]  # a default binds the loop's value
    return [fleet.find(name) for name in programs]


def _asks(*words: str) -> str:
    return f"exec {shlex.join(scripted.agent('chooses', *words))}"


def _choices(fleet: Fleet, name: str) -> int:
    evidence = fleet.find(name).evidence
    return len(evidence.choices) if evidence is not None else 0


def chosen(agent: Agent) -> list[str]:
    file = Path(agent.worktree) / "chosen"
    return file.read_text().split() if file.exists() else []


async def shown(driven: Driven, kind: type) -> object:
    await driven.until(lambda: isinstance(driven.app.screen, kind), f"a {kind.__name__}")
    return driven.app.screen


def texts(driven: Driven) -> str:
    return "\n".join(str(widget.render()) for widget in driven.app.screen.query(Static))


def test_a_waiting_agent_is_found_and_left_opened_answered_by_a_number_or_elsewhere(
    fleet: Fleet, repository: Path
) -> None:
    question = _asks("permission", "run rm -rf build?", *CHOICES)
    started(fleet, {"calm": CALM, "fix": question, "mend": question})

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("g", "a")
            await shown(driven, AnswerDialog)
            name = selected(driven)
            assert name in ("fix", "mend"), "one that waits is found"
            first = fleet.find(name)
            assert "run rm -rf build?" in texts(driven)
            assert "Yes, always" in texts(driven)

            await driven.press("x", "7", "escape")
            await driven.until(lambda: driven.app.screen is driven.dashboard, "escape closing the dialog")
            assert chosen(first) == [], "escape answers nothing"
            assert fleet.find(name).status is Status.BLOCKED

            await driven.press("a")
            await shown(driven, AnswerDialog)
            await driven.press("enter")
            await driven.until(
                lambda: driven.dashboard.view.typing == first.id, "enter opening the pane instead"
            )
            assert chosen(first) == [], "opening the pane answers nothing"
            await driven.press("ctrl+q")
            await driven.until(lambda: driven.dashboard.view.typing == "", "the list again")

            await driven.press("a")
            await shown(driven, AnswerDialog)
            await driven.press("2")
            await driven.until(lambda: chosen(first) == ["2"], "the second choice taken")
            # The user looks at the agent: done and seen becomes idle.
            await driven.until(lambda: driven.status(name) in ("done", "idle"), "the agent going on")
            assert driven.app.screen is driven.dashboard

            await driven.press("a")
            await shown(driven, AnswerDialog)
            other = selected(driven)
            assert {name, other} == {"fix", "mend"}, "the other that waits is found"
            fleet.answer(fleet.find(other), "no")
            await driven.until(
                lambda: driven.app.screen is driven.dashboard, "a question answered elsewhere going"
            )

    drive(go())


def selected(driven: Driven) -> str:
    return driven.dashboard.view.agent.name if driven.dashboard.view.agent is not None else ""


def take_words() -> None:
    """Let programs take words where they ask for something else."""
    paths.user_profiles().mkdir(parents=True)
    (paths.user_profiles() / "shell.toml").write_text('[answer]\nfree = "Something else"\n')


@pytest.mark.slow
def test_a_question_takes_free_text(fleet: Fleet, repository: Path) -> None:
    take_words()
    agent = asking(fleet, "fix", "question", "Which color?", "Red", "Something else", "--words")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("a")
            await shown(driven, AnswerDialog)
            await driven.write("a dark green")
            assert driven.app.screen.query_one(Input).value == "a dark green"
            await driven.press("enter")
            words = Path(agent.worktree) / "words"
            await driven.until(lambda: words.exists() and words.read_text() == "a dark green", "the words")

    drive(go())


@pytest.mark.slow
def test_a_number_is_a_choice_where_free_text_is_taken_too_unless_text_is_being_written(
    fleet: Fleet, repository: Path
) -> None:
    take_words()
    agent = asking(fleet, "fix", "question", "Which color?", "Red", "Green", "Something else")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("a")
            await shown(driven, AnswerDialog)
            field = driven.app.screen.query_one(Input)
            await driven.press(*"no 2", "9")
            assert field.value == "no 29"
            field.value = ""
            await driven.press("9")
            assert field.value == "9", "there is no such choice"
            field.value = ""
            await driven.press("2")
            await driven.until(lambda: chosen(agent) == ["2"], "the second choice taken")

    drive(go())


@pytest.mark.slow
def test_why_names_source_and_sign_and_a_wrong_status_is_saved_for_a_test(
    fleet: Fleet, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the project has a module that the worker must not run instead of Python's own."""
    (repository / "socket.py").write_text("raise SystemExit('not yours')\n")
    monkeypatch.chdir(repository)
    agent = asking(fleet, "fix", "permission", "go?", *CHOICES)

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("e")
            await shown(driven, WhyDialog)
            assert "osc7501" in texts(driven)
            assert "go?" in texts(driven)
            await driven.press("w")
            await shown(driven, WrongDialog)
            await driven.press("3")
            await driven.until(lambda: list((paths.state() / "reported").glob("*.json")), "the file")
            await driven.press("a")
            await shown(driven, AnswerDialog)
            await driven.press("1")
            await driven.until(lambda: chosen(agent) == ["1"], "the answer")

    drive(go())
    (file,) = (paths.state() / "reported").glob("*.json")
    saved = json.loads(file.read_text())
    assert (saved["status"], saved["kind"], saved["was"]["source"]) == ("blocked", "question", "osc7501")
    assert any("1. Yes" in line for line in saved["lines"])


@pytest.mark.slow
def test_waiting_prompts_are_listed_edited_and_cancelled(fleet: Fleet, repository: Path) -> None:
    agent = asking(fleet, "fix", "permission", "go?", *CHOICES)
    fleet.prompts.send(fleet.find("fix"), "first things first")
    fleet.prompts.send(fleet.find("fix"), "and then this")

    async def go() -> None:
        async with opened(repository) as driven:
            await driven.press("P")
            await shown(driven, QueueDialog)
            await driven.press("j", "x")
            await driven.until(lambda: len(fleet.prompts.queue(agent).waiting) == 1, "one taken back")
            await driven.press("P")
            await shown(driven, QueueDialog)
            await driven.press("enter")
            await driven.until(lambda: driven.app.screen.query("#prompt"), "the editor")
            await driven.press("end")
            await driven.write("!")
            await driven.press("ctrl+s")
            await driven.until(
                lambda: fleet.prompts.queue(agent).waiting[0]["text"] == "first things first!",
                "the new words",
            )
            fleet.answer(fleet.find("fix"), "1")
            prompts = Path(agent.worktree) / "prompts"
            await driven.until(lambda: prompts.exists() and prompts.read_text(), "the prompt arriving")
            assert prompts.read_text() == "first things first!\n"

    drive(go())
