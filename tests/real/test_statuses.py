"""The status of each real program in each state, within a second of the moment that its screen shows the state.

With FLEET_RECORD=FOLDER every screen is also saved there, in the form of tests/recordings/screens.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet_tui.signals import flat
from tests.holders import wait_until
from tests.real.agents import Real, Running

pytestmark = pytest.mark.agents

RECORD = os.environ.get("FLEET_RECORD", "")
"""Asked before a test has got an environment of its own."""
START_SECONDS = 120.0
SECONDS = 1.0
HELD_SECONDS = 2.5
"""Calm that only title or screen tell has to hold for a while before it is believed."""

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen")
EMPTY = {
    "claude": "❯",
    "codex": "Ask Codex to do anything",
    "gemini": "Type your message",
    "opencode": "Ask anything",
    "qwen": "Type your message",
}
"""What stands in an empty input box."""
ASK = {"codex": "please [[escape touch one.txt]]"}
PICKER = {"opencode": "/models"}
GLYPH = {"claude": "❯ ", "codex": "› ", "gemini": "> ", "opencode": "", "qwen": "> "}
"""What stands before the text in the input box."""


@dataclass(frozen=True, slots=True)
class State:
    """How a program gets there, what its screen shows then, and what its status has to be."""

    name: str
    shows: dict[str, str]
    status: tuple[str, ...]
    detail: str = ""
    prompt: Callable[[str], str] = lambda _program: ""
    before: Callable[[str], str] = lambda _program: ""
    """What the screen shows before keys are pressed that lead to the state."""
    keys: tuple[str, ...] = ()
    command: Callable[[str], str] = lambda _program: ""
    is_held: bool = False


def _just(text: str) -> dict[str, str]:
    return dict.fromkeys(PROGRAMS, text)


# gemini shows no sign of its retries, and the last of them comes after minutes in gemini, opencode and qwen.
STATES = (
    State("idle", EMPTY, ("idle",), is_held=True),
    State("working", _just("word3"), ("working",), prompt=lambda _: "please [[slow 300 0.1]]"),
    State(
        "permission",
        {
            "claude": "Do you want to proceed?",
            "codex": "Would you like to run",
            "gemini": "Allow execution of",
            "opencode": "Permission required",
            "qwen": "Allow execution of",
        },
        ("blocked",),
        "permission",
        prompt=lambda program: ASK.get(program, "please [[run touch one.txt]]"),
    ),
    State(
        "refused",
        {
            "claude": "401 This",
            "codex": "unexpected status 401",
            "gemini": "API Error",
            "opencode": "refused on purpose",
            "qwen": "API Error",
        },
        ("error",),
        prompt=lambda _: "please [[fail 401]]",
    ),
    State(
        "unauthorized",
        {"claude": "Please run /login"},
        ("error",),
        prompt=lambda _: "please [[fail 401]]",
    ),
    State(
        "retrying",
        {
            "claude": "attempt 1/",
            "codex": "econnecting",
            "opencode": "attempt",
            "qwen": "etrying in",
        },
        ("limited",),
        prompt=lambda _: "please [[limit 99 3]]",
    ),
    State(
        "limited",
        {
            "claude": "API Error: Request rejected (429)",
            "codex": "exceeded retry limit",
        },
        ("limited",),
        prompt=lambda _: "please [[limit 99 1]]",
    ),
    State(
        "picker",
        {
            "claude": "Esc to cancel",
            "codex": "esc back",
            "gemini": "Press Esc to close",
            "opencode": "Select model",
            "qwen": "Esc to close",
        },
        ("blocked",),
        "menu",
        before=lambda program: EMPTY[program],
        command=lambda program: PICKER.get(program, "/model"),
    ),
    State(
        "escaped",
        {
            "claude": "Interrupted",
            "codex": "Conversation interrupted",
            "gemini": "Request cancelled",
            "opencode": "interrupted",
            "qwen": "Request cancelled",
        },
        ("idle", "done"),
        prompt=lambda _: "please [[slow 300 0.1]]",
        before=lambda _: "word3",
        # Once is enough for all but opencode.
        keys=("escape", "escape"),
        is_held=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Look:
    """One agent, followed from the first moment that its screen shows the state."""

    agent: Running

    def waits_for(self, text: str) -> float:
        found: list[float] = []

        def is_shown() -> bool:
            if self._shows(text):
                found.append(time.time())
            return bool(found)

        try:
            wait_until(is_shown, f"{text!r} being shown", seconds=START_SECONDS)
        except AssertionError as error:
            raise AssertionError(
                f"{error}; told: {self.agent.statuses()}; screen:\n{self.agent.screen()}"
            ) from None
        return found[0]

    def types(self, text: str, until: str) -> None:
        """Type a command and press Enter until the screen shows something: programs pass over an early Enter."""
        self.agent.type(text)
        self.waits_for(GLYPH[self.agent.agent.profile] + text)
        for _ in range(10):
            self.agent.press("enter")
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self._shows(until), seconds=5.0)
                return
        raise AssertionError(f"{text} has no effect; screen:\n{self.agent.screen()}")

    def _shows(self, text: str) -> bool:
        return text in flat(self.agent.screen().splitlines())

    def must_be(self, wanted: tuple[str, ...], detail: str, since: float, seconds: float) -> None:
        def last() -> tuple[str, str]:
            told = self.agent.statuses()[-1]
            return told.status, told.detail if told.status == "blocked" else ""

        try:
            wait_until(
                lambda: last()[0] in wanted and last()[1] == detail,
                f"{' or '.join(wanted)} {detail}",
                seconds=max(0.0, since + seconds - time.time()),
            )
        except AssertionError as error:
            raise AssertionError(
                f"{error}; told: {self.agent.statuses()}; screen:\n{self.agent.screen()}"
            ) from None


def record(agent: Running, name: str, cols: int, status: str, kind: str) -> None:
    """Save the screen as a fixture of the quick tests, where FLEET_RECORD says so."""
    if not RECORD:
        return
    with agent.fleet.session(agent.agent, rate=0) as session:
        said = session.ask("why")
    saved = {
        "profile": agent.agent.profile,
        "cols": cols,
        "title": said["title"],
        "status": status,
        "kind": kind,
        "choices": len(said["told"]["choices"]),
        "lines": [line.rstrip() for line in said["lines"]],
        "told": said["told"],
        "sources": said["sources"],
    }
    Path(RECORD, f"{agent.agent.profile}-{name}-{cols}.json").write_text(
        json.dumps(saved, indent=1, ensure_ascii=False) + "\n"
    )


@pytest.mark.parametrize("cols", [45, 80, 120])
@pytest.mark.parametrize(
    ("program", "install_as", "state"),
    [(name, name, state) for name in PROGRAMS for state in STATES if name in state.shows],
    ids=lambda value: value.name if isinstance(value, State) else value,
)
def test_a_state_is_told_within_a_second(real: Real, state: State, program: str, cols: int) -> None:
    real.fleet._size = (cols, 30)
    agent = real.start(state.prompt(program))
    look = Look(agent)

    if state.before(program):
        look.waits_for(state.before(program))
    if state.command(program):
        agent.wait_for("idle", seconds=START_SECONDS)
        look.types(state.command(program), state.shows[program])
    for key in state.keys[: 2 if program == "opencode" else 1]:
        agent.press(key)
    shown = look.waits_for(state.shows[program])
    try:
        look.must_be(state.status, state.detail, shown, HELD_SECONDS if state.is_held else SECONDS)
    finally:
        record(agent, state.name, cols, state.status[0], state.detail)
