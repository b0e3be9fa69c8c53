"""The status of each real program in each state, within a second after its screen shows the state.

FLEET_RECORD=FOLDER also saves every screen there, in the format of tests/recordings/screens.
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

from fleet_tui.holder.session import open_session
from fleet_tui.programs.screen_text import unframed
from tests.holder.holders import wait_until
from tests.real.agents import PERMISSION_SHOWN, Real, Running, asks_to_touch

pytestmark = pytest.mark.agents

RECORD = os.environ.get("FLEET_RECORD", "")
"""Read before a test gets its own environment."""
START_SECONDS = 120.0
SECONDS = 1.0
HELD_SECONDS = 2.5
"""A calm state that only title or screen show must persist before it counts."""

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen")
EMPTY = {
    "claude": "❯",
    "codex": "Ask Codex to do anything",
    "gemini": "Type your message",
    "opencode": "Ask anything",
    "qwen": "Type your message",
}
"""The text in an empty input box."""
PICKER = {"opencode": "/models"}
GLYPH = {"claude": "❯ ", "codex": "› ", "gemini": "> ", "opencode": "", "qwen": "> "}
"""The prefix of the text in the input box."""


@dataclass(frozen=True, slots=True)
class State:
    """How a program gets into a state, what its screen shows then, and the expected status."""

    name: str
    shows: dict[str, str]
    status: tuple[str, ...]
    detail: str = ""
    prompt: Callable[[str], str] = lambda _program: ""
    before: Callable[[str], str] = lambda _program: ""
    """What the screen shows before the keys that lead to the state are pressed."""
    keys: tuple[str, ...] = ()
    command: Callable[[str], str] = lambda _program: ""
    is_held: bool = False


def _just(text: str) -> dict[str, str]:
    return dict.fromkeys(PROGRAMS, text)


# gemini does not show its retries, and gemini, opencode and qwen give up only after minutes.
STATES = (
    State("idle", EMPTY, ("idle",), is_held=True),
    State("working", _just("word3"), ("working",), prompt=lambda _: "please [[slow 300 0.1]]"),
    State(
        "permission",
        PERMISSION_SHOWN,
        ("blocked",),
        "permission",
        prompt=asks_to_touch,
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
        # All but opencode need only one.
        keys=("escape", "escape"),
        is_held=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Look:
    """One agent, watched from the moment its screen shows the state."""

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
        """Type a command and press Enter until the screen shows a text: programs ignore an early Enter."""
        self.agent.type(text)
        self.waits_for(GLYPH[self.agent.agent.profile] + text)
        for _ in range(10):
            self.agent.press("enter")
            with contextlib.suppress(AssertionError):
                wait_until(lambda: self._shows(until), seconds=5.0)
                return
        raise AssertionError(f"{text} has no effect; screen:\n{self.agent.screen()}")

    def _shows(self, text: str) -> bool:
        return text in unframed(self.agent.screen().splitlines())

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
    """Save the screen as a fixture of the quick tests if FLEET_RECORD is set."""
    if not RECORD:
        return
    with open_session(agent.agent, rate=0) as session:
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
def test_a_state_is_reported_within_a_second(real: Real, state: State, program: str, cols: int) -> None:
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
