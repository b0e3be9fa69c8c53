"""Prepare a prompt's text for a program's input box, which treats some texts as commands and changes others.

What each program does is data in its profile: `TextRule`, from `[[prompt.text]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, known


@dataclass(frozen=True, slots=True)
class TextRule:
    """How a program treats some texts, and what to do about it."""

    match: str
    """A pattern searched in the text."""
    command: bool = False
    """The program would run it as a command. Without `before` there is no way to send it as plain text."""
    before: str = ""
    """Typed before the text, so that the program takes it literally."""
    after: str = ""
    """Typed after the text, for the same reason."""
    note: str = ""
    """How the text that arrives differs."""
    argv: bool = False
    """The program runs the command also if it is on its command line."""

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> TextRule:
        return cls(**known(cls, values))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text as it will be typed."""

    text: str
    note: str = ""
    """What was changed, or what the program will change."""
    refusal: str = ""
    """Why it cannot be sent as it is."""


def prepared(text: str, rules: Iterable[TextRule], *, is_command: bool = False) -> Prepared:
    """The text to type so that it arrives as written; `is_command` sends commands as commands."""
    before = after = ""
    notes: list[str] = []
    for rule in rules:
        if not re.search(rule.match, text) or (rule.command and is_command):
            continue
        if rule.command and not rule.before:
            return Prepared(text, refusal=rule.note or "its program would run it as a command")
        before, after = before or rule.before, after or rule.after
        notes += [rule.note] if rule.note else []
    return Prepared(before + text + after, "; ".join(notes))


def refusal_at_start(text: str, rules: Iterable[TextRule]) -> str:
    """Why a program cannot be started with this text on its command line; empty if it can."""
    found = (rule for rule in rules if rule.command and rule.argv and re.search(rule.match, text))
    return next((rule.note or "its program would run it as a command" for rule in found), "")


def is_command(text: str, rules: Iterable[TextRule]) -> bool:
    """Whether the program would run this text as a command."""
    return any(rule.command and re.search(rule.match, text) for rule in rules)
