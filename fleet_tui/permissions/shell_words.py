"""Words and parts of a shell command, as plain data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from fleet_tui.fast_dataclasses import dataclass

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Unreadable(ValueError):
    """The reader does not understand the command; the text says why."""


class Word(NamedTuple):
    """One word without its quotes."""

    text: str
    fixed: int
    """Number of leading characters that the shell does not expand."""

    @property
    def is_fixed(self) -> bool:
        return self.fixed == len(self.text)


@dataclass(frozen=True, slots=True)
class ShellPart:
    """One program with its arguments, or one redirection as `> file`."""

    words: tuple[Word, ...]
    is_opaque: bool = False
    """It runs something that the reader cannot see."""

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def known(self) -> str:
        """The text up to the first expansion."""
        found: list[str] = []
        for word in self.words:
            found.append(word.text[: word.fixed])
            if not word.is_fixed:
                break
        return " ".join(found)

    @property
    def is_fixed(self) -> bool:
        return all(word.is_fixed for word in self.words)


def without_assignments(words: tuple[Word, ...]) -> tuple[Word, ...]:
    for place, word in enumerate(words):
        found = _ASSIGNMENT.match(word.text)
        if found is None or found.end() > word.fixed:
            return words[place:]
    return ()


def program_of(words: Sequence[Word]) -> Word:
    """The name of the program, without its folder."""
    text, fixed = words[0]
    name = text.rsplit("/", 1)[-1]
    return Word(name, max(0, fixed - (len(text) - len(name))))
