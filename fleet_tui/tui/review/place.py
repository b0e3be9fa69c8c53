"""Remember a line by its content, and find it again after the file has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fleet_tui.work import DiffLine, Hunk, Side

AROUND = 3
"""Lines before and after that tell equal lines apart."""
NEAR = 200
"""Lines around the old place among which a line that has changed is looked for."""


class Place(NamedTuple):
    """A line of one side of a diff."""

    side: Side
    number: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def place_of(hunks: Sequence[Hunk], side: Side, number: int) -> Place | None:
    """Describe the line of that number; None if no hunk shows it."""
    lines = list(_side_lines(hunks, side))
    found = next((at for at, line in enumerate(lines) if _number(line, side) == number), None)
    return _describe(lines, found, side) if found is not None else None


def find(hunks: Sequence[Hunk], place: Place) -> int:
    """The number that the line has now; the nearest line's if it is gone, and 0 if that side has none."""
    lines = list(_side_lines(hunks, place.side))
    if not lines:
        return 0
    same = [at for at, line in enumerate(lines) if line.text == place.text]
    if not same:
        # The line itself has changed: its neighbors tell where it was.
        near = sorted(range(len(lines)), key=lambda at: abs(_number(lines[at], place.side) - place.number))
        same = near[:NEAR]
    best = max(same, key=lambda at: _likeness(_describe(lines, at, place.side), place))
    return _number(lines[best], place.side)


def find_range(hunks: Sequence[Hunk], side: Side, first: int, quoted: Sequence[str]) -> int:
    """The number where these lines begin now: the nearest such place; 0 if they are nowhere in the diff."""
    lines = list(_side_lines(hunks, side))
    texts = [line.text for line in lines]
    count = len(quoted)
    found = [
        _number(lines[at], side)
        for at in range(len(texts) - count + 1)
        if texts[at] == quoted[0] and texts[at : at + count] == list(quoted)
    ]
    return min(found, key=lambda number: abs(number - first)) if found else 0


def _side_lines(hunks: Sequence[Hunk], side: Side) -> Iterator[DiffLine]:
    missing = "+" if side == "old" else "-"
    for hunk in hunks:
        for line in hunk.lines:
            if line.sign != missing:
                yield line


def _number(line: DiffLine, side: Side) -> int:
    return line.old if side == "old" else line.new


def _describe(lines: Sequence[DiffLine], at: int, side: Side) -> Place:
    before = tuple(line.text for line in lines[max(0, at - AROUND) : at])
    after = tuple(line.text for line in lines[at + 1 : at + 1 + AROUND])
    return Place(side, _number(lines[at], side), lines[at].text, before, after)


def _likeness(one: Place, other: Place) -> tuple[int, int]:
    """How many lines around it are the same; then how near it is."""
    above = zip(reversed(one.before), reversed(other.before), strict=False)
    below = zip(one.after, other.after, strict=False)
    alike = sum(ours == theirs for pairs in (above, below) for ours, theirs in pairs)
    return alike, -abs(one.number - other.number)
