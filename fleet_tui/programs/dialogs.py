"""Choices of a dialog, read from a program's screen: numbered, pointed at, as buttons or as letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.programs.screen_text import FRAME, shown_line, unframed

MENU_FOOT = 6
"""Lines of other text that may follow the choices of a menu."""

_NOWHERE = 10_000
"""A column that no line reaches."""

_TOP_EDGE = re.compile(r"\s*[╭┌▔]")
_CHOICE = re.compile(r"^\W*(\d{1,2})[.)]\s+(\S.*)$")
_NUMBER = re.compile(r"^\d{1,2}[.)] ")
_POINTED_NUMBER = re.compile(r"^\s*[❯›▶●>] *\d{1,2}[.)] ")
_POINTED = re.compile(r"^\s*[❯›▶●] +(?P<label>\S)")
_LETTERED = re.compile(r"\((\w)\)([^()/\[\]]*)")
_LETTERS = re.compile(rf"{_LETTERED.pattern}(?:/{_LETTERED.pattern})+")


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to answer a question."""

    number: str
    label: str
    moves: int | None = None
    """How many places it is after the choice that Enter takes now; None if its number is its key."""
    is_beside: bool = False
    """The choices are side by side rather than one below the other."""
    is_pointed: bool = False
    """A numbered choice with the pointer."""
    typed: str = ""
    """What to type before Enter, for a dialog that is answered by typing."""


Painted = Callable[[int], Sequence[tuple[str, object]]]
"""Returns a row of the screen as runs of text, each with its look."""


def numbered_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The last list of numbered choices on a screen, wrapped labels joined."""
    return _last_list(lines)[0]


def menu_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The numbered choices of a menu: a list with a pointer at the bottom of the screen and of its frame.

    A list further up was said in the conversation: its numbers are no keys of the menu.
    """
    top = max((place for place, line in enumerate(lines) if _TOP_EDGE.match(line)), default=0)
    choices, below = _last_list(lines[top:])
    return choices if below <= MENU_FOOT and any(choice.is_pointed for choice in choices) else ()


def _last_list(lines: Sequence[str]) -> tuple[tuple[Choice, ...], int]:
    """The last numbered list, and the number of lines with other text below it."""
    found: list[str] = []
    pointed = below = 0
    column = _NOWHERE
    for line in lines:
        text = FRAME.sub(" ", line).rstrip()
        match = _CHOICE.match(text)
        if match and int(match[1]) in (1, len(found) + 1):
            found = [*found[: int(match[1]) - 1], match[2]]
            column = match.start(1)
            pointed = 0 if len(found) == 1 else pointed
            pointed = len(found) if _POINTED_NUMBER.match(text) else pointed
            below = 0
        elif match is None and text and len(text) - len(text.lstrip()) >= column:
            found[-1] += " " + text.strip()
        else:
            # Text further left is not part of the label, such as a spinner below the list.
            column = _NOWHERE
            below += bool(text)
    choices = tuple(
        Choice(str(number), shown_line(label), is_pointed=number == pointed)
        for number, label in enumerate(found, start=1)
    )
    return choices, below


def pointed_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The choices around the one with the pointer: adjacent lines that begin in the same column."""
    for place in range(len(lines) - 1, -1, -1):
        pointed = _POINTED.match(lines[place])
        if pointed:
            column = pointed.start("label")
            first, last = place, place
            while first and _begins_at(lines[first - 1], column):
                first -= 1
            while last + 1 < len(lines) and _begins_at(lines[last + 1], column):
                last += 1
            return tuple(
                Choice(str(number), shown_line(_NUMBER.sub("", lines[row][column:])), row - place)
                for number, row in enumerate(range(first, last + 1), start=1)
            )
    return ()


def buttons(lines: Sequence[str], labels: Sequence[str], painted: Painted) -> tuple[Choice, ...]:
    """Choices side by side, in the lowest row that has all labels; none unless exactly one looks different."""
    pattern = re.compile(r"\s+".join(f"({re.escape(label)})" for label in labels))
    for place in range(len(lines) - 1, -1, -1):
        if pattern.search(lines[place]):
            return _standing_out(painted(place), pattern, labels)
    return ()


def _standing_out(
    runs: Sequence[tuple[str, object]], pattern: re.Pattern[str], labels: Sequence[str]
) -> tuple[Choice, ...]:
    looks = [look for text, look in runs for _ in text]
    found = pattern.search("".join(text for text, _ in runs))
    if found is None:
        return ()
    ground = max(set(looks), key=looks.count)
    own = [set(looks[found.start(n) : found.end(n)]) for n in range(1, len(labels) + 1)]
    odd = [n for n, look in enumerate(own) if look != {ground}]
    if len(odd) != 1:
        return ()
    return tuple(Choice(str(n + 1), label, n - odd[0], is_beside=True) for n, label in enumerate(labels))


def lettered_choices(lines: Sequence[str]) -> tuple[Choice, ...]:
    """The choices of the last question with choices like `(Y)es/(N)o`, however its lines wrap."""
    *_, last = ["", *(found[0] for found in _LETTERS.finditer(unframed(lines)))]
    return tuple(
        Choice(str(number), shown_line(letter + rest), typed=letter.lower())
        for number, (letter, rest) in enumerate(_LETTERED.findall(last), start=1)
    )


def _begins_at(line: str, column: int) -> bool:
    return bool(line[column : column + 1].strip()) and not line[:column].strip()
