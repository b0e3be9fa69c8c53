"""Prompts and the input boxes of the real programs: drafts, menus, interruptions, commands, and receipts.

The API's log shows what arrived; a session types like a user at a pane.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from fleet_tui.errors import Refused
from fleet_tui.models import Receipt
from fleet_tui.programs.input_box import BoxState
from fleet_tui.terminal.input_events import KeyEvent
from tests.holder.holders import wait_until
from tests.real.agents import Real, Running

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen")
DRAFT = "please do not delete"
MENUS = {"claude": "/model", "codex": "/model", "gemini": "/model", "opencode": "/models", "qwen": "/model"}
SECONDS = 150.0

pytestmark = [pytest.mark.agents, pytest.mark.parametrize("program", PROGRAMS)]


@pytest.fixture
def install_as(program: str) -> str:
    return program


class Person:
    """A user at the pane of an agent that has had its first turn."""

    def __init__(self, real: Real) -> None:
        self.real = real
        self.agent: Running = real.start("hello")
        asked = self.real.api.wait_for(lambda asked: "hello" in asked.prompt, seconds=SECONDS)
        self.agent.wait_for("done", "idle", since=asked.at, seconds=SECONDS)

    def interrupt(self) -> None:
        """Interrupt the turn like a user: opencode needs two Escs in quick succession and may miss one."""
        self.agent.press("escape")
        for _ in range(20 if self.real.program == "opencode" else 0):
            self.agent.press("escape")
            with contextlib.suppress(AssertionError):
                self.agent.shows("interrupted", seconds=0.4)
                return

    def empties_box(self) -> None:
        """Delete the text in the box."""
        self.agent.press("end")
        self.agent.box_becomes(
            lambda box: box.state is BoxState.EMPTY,
            "the box is not empty",
            keys=(KeyEvent("backspace"),) * 60,
        )

    def opens_menu(self) -> None:
        command = MENUS[self.real.program]
        name = command.removeprefix("/")
        before = self.agent.screen().count(name)
        self.agent.type(command)
        # The program suggests the command beside the box it was typed into.
        wait_until(
            lambda: self.agent.screen().count(name) > before + 1, f"{command} being suggested", seconds=20
        )
        for _ in range(4):
            self.agent.press("enter")
            # Programs ignore an early Enter; a second one too soon would select an entry of the menu.
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self.agent.statuses()[-1].status == "blocked", seconds=5)
                return
        raise AssertionError(f"no menu is seen: {self.agent.screen()}")

    def ends(self, receipt: Receipt, seconds: float = SECONDS) -> Receipt:
        return self.agent.fleet.prompts.wait(receipt, seconds=seconds)

    def asked(self) -> list[str]:
        prompts = [asked.prompt for asked in self.real.api.prompts()]
        # qwen asks the model on its own what to remember and what to suggest.
        own = ("Managed memory", "[SUGGESTION MODE")
        return [prompt for prompt in prompts if not prompt.startswith(own)][1:]

    def holds(self, text: str) -> Callable[[], bool]:
        """A check whether the lower part of the screen shows the text."""

        def found() -> bool:
            lines = self.agent.screen().splitlines()
            return any(text in line for line in lines[-10:])

        return found


@pytest.fixture
def person(real: Real) -> Person:
    return Person(real)


def test_a_prompt_does_not_join_a_draft_which_comes_back(person: Person) -> None:
    person.agent.type(DRAFT)

    receipt = person.ends(person.agent.prompt("count to three"))

    assert (receipt.state, receipt.reason) == ("answered", "")
    assert person.asked() == ["count to three"]
    wait_until(person.holds(DRAFT), "the draft being back", seconds=20)
    assert person.asked() == ["count to three"]


def test_three_prompts_at_once_arrive_one_by_one_beside_a_draft(person: Person) -> None:
    person.agent.type(DRAFT)
    texts = ["count to one", "count to two", "count to three"]

    receipts = [person.agent.prompt(text) for text in texts]

    assert [person.ends(receipt).state for receipt in receipts] == ["answered"] * 3
    assert person.asked() == texts


def test_a_menu_that_is_open_is_seen_and_nothing_is_typed_into_it(person: Person) -> None:
    person.opens_menu()
    assert person.agent.statuses()[-1].detail == "menu"

    receipt = person.agent.prompt("count to three")

    assert receipt.state == "queued"
    assert "menu" in receipt.reason
    assert person.agent.prompt("at once", now=True).state == "queued"
    for _ in range(3):
        person.agent.press("escape")
        with contextlib.suppress(AssertionError):
            wait_until(lambda: person.agent.statuses()[-1].status != "blocked", seconds=3)
            break
    assert person.ends(receipt).state == "answered"
    assert sorted(person.asked()) == ["at once", "count to three"]


def test_a_prompt_after_an_interruption_arrives_alone(person: Person) -> None:
    first = person.agent.prompt("please [[slow 300 0.1]]")
    person.real.api.wait_for(lambda asked: "slow" in asked.prompt, seconds=SECONDS)
    person.agent.wait_for("working")
    person.interrupt()

    assert person.ends(first).state == "interrupted"
    assert person.ends(person.agent.prompt("count to three")).state == "answered"
    assert person.asked()[-1] == "count to three"


def test_what_looks_like_a_command_is_text_or_refused(person: Person) -> None:
    for text in ("!touch PWNED", "/nosuch thing", "/model", "# a heading", "@nobody hello", "-x"):
        before = len(person.asked())
        try:
            receipt = person.ends(person.agent.prompt(text))
        except Refused:
            assert person.asked()[before:] == []
        else:
            assert receipt.state == "answered", (text, receipt)
            assert [asked.strip() for asked in person.asked()[before:]] == [text]
    assert not (person.agent.worktree / "PWNED").exists()


def test_texts_arrive_as_they_are(person: Person) -> None:
    for text in ("a tail \\", "x" * 10_000, "one\ttwo", "several\n\nlines\nof text"):
        before = len(person.asked())
        given = person.agent.prompt(text)
        receipt = person.ends(given)

        assert receipt.state == "answered", (text[:20], receipt)
        (asked,) = person.asked()[before:]
        assert asked.rstrip() == text or "tabs" in given.note


def test_a_turn_that_ends_in_an_error_is_not_answered(person: Person) -> None:
    for code in (400, 401):
        receipt = person.ends(person.agent.prompt(f"please [[fail {code}]]"))

        assert receipt.state == "failed", receipt
        assert receipt.reason


def test_a_command_is_run_as_one_if_that_is_asked_for(person: Person) -> None:
    receipt = person.agent.fleet.prompts.send(person.agent.agent, MENUS[person.real.program], command=True)

    receipt = person.ends(receipt)
    assert receipt.state == "answered", receipt
    person.agent.wait_for("blocked", detail="menu")
    assert person.asked() == []
