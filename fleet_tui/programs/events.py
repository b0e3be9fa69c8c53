"""Events of headless runs: what a reader makes of one JSON event that a program prints.

Each program's own `events.py` reads its dialect with these types. Readers are pure: they print nothing, start nothing
and never wait. They skip events and fields that they do not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from fleet_tui.fast_dataclasses import dataclass, field, fields, replace
from fleet_tui.programs.json_values import JsonObject

TextStyle = Literal["plain", "dim", "command", "error"]

CALL_LIMIT = 10_000


@dataclass(frozen=True, slots=True)
class OutputText:
    """Text for the terminal."""

    text: str
    style: TextStyle = "plain"
    is_open: bool = False
    """More of the same text follows on the same line."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """What the program is doing now."""

    state: Literal["working", "limited"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """What this run has used so far. None means unknown."""

    input_tokens: int | None = None
    """Sent, excluding tokens read from the provider's cache."""
    cached_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars."""
    context_tokens: int | None = None
    context_limit: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class StepUsage:
    """What one step has used, to be added to the steps before it."""

    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class SessionId:
    """The program's id of the conversation."""

    id: str


@dataclass(frozen=True, slots=True)
class DeniedCall:
    """A tool call that was not permitted. A headless run has no user to ask."""

    what: str


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of the turn."""

    is_error: bool
    text: str = ""
    """The error message."""
    turns: int | None = None
    is_limited: bool = False
    """The turn failed because a quota is used up."""


EventItem = OutputText | StateChange | TokenUsage | StepUsage | SessionId | DeniedCall | TurnEnd


@dataclass(slots=True)
class EventContext:
    """What a reader remembers of earlier events."""

    folder: str = ""
    """The program's working directory; paths below it are shown relative to it."""
    calls: dict[str, str] = field(default_factory=dict)
    """Call id → tool name, until the call's result arrives."""
    model: str = ""

    def call_started(self, call: object, name: str) -> None:
        if isinstance(call, str) and len(self.calls) < CALL_LIMIT:
            self.calls[call] = name

    def call_ended(self, call: object) -> str:
        """Forget a call and return its tool's name; empty if the call is unknown."""
        return self.calls.pop(call, "") if isinstance(call, str) else ""


ReadEvent = Callable[[JsonObject, EventContext], Iterator[EventItem]]


def session_id(value: object) -> Iterator[SessionId]:
    if isinstance(value, str) and value:
        yield SessionId(value)


# ── usage ──

_ADDED = ("input_tokens", "cached_tokens", "output_tokens", "cost")


def usage_after(before: TokenUsage, item: TokenUsage | StepUsage) -> TokenUsage:
    """The usage so far, updated by one more report."""
    usage = item.usage if isinstance(item, StepUsage) else item
    known = {one.name: getattr(usage, one.name) for one in fields(usage)}
    known = {name: value for name, value in known.items() if value is not None}
    if isinstance(item, StepUsage):
        known |= {name: known[name] + (getattr(before, name) or 0) for name in _ADDED if name in known}
    return replace(before, **known)


def usage_since(before: TokenUsage, usage: TokenUsage) -> TokenUsage:
    """The usage without what had been used before."""
    left = {name: max(0, getattr(usage, name) - (getattr(before, name) or 0))
            for name in _ADDED if getattr(usage, name) is not None}  # fmt: skip
    return replace(usage, **left)
