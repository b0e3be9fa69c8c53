"""Lay out hunks as rows of a screen: side by side or unified, with fills, headings, comments and wrapped lines.

Pure: knows no widget and no colors. A row names lines by their place in the hunks; `diff_paint` draws it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from fleet_tui.tui.review.code_text import breaks, shown
from fleet_tui.work import DiffLine, Hunk, Side

LINE, GAP, NOTE = "line", "gap", "note"
"""Kinds of rows: code, lines left out, a comment."""

NOTHING, FILL = -1, -2
"""In place of a line: the other side has a note there; the other side has more lines."""


class DiffRow(NamedTuple):
    """One row of the diff."""

    kind: str
    hunk: int
    left: int = NOTHING
    """The line of the old file, as its place in the hunk."""
    right: int = NOTHING
    mate: int = NOTHING
    """The line that this one is compared with word by word."""
    part: int = 0
    """Which part of a wrapped line, or which line of a note."""
    note: int = NOTHING
    """The place of the note in the list of notes."""


class LineNote(NamedTuple):
    """Room for text under a line."""

    side: Side
    last: int
    """The number of the line."""
    height: int


class Layout(NamedTuple):
    """How a diff is shown."""

    is_split: bool
    """Old and new side by side."""
    code_width: int = 0
    """Cells for code on each side; lines are wrapped to it unless it is 0."""


class _Pair(NamedTuple):
    left: int
    right: int
    mate: int = NOTHING


def rows_of(hunks: Sequence[Hunk], layout: Layout, notes: Sequence[LineNote] = ()) -> list[DiffRow]:
    """All rows of a diff, from the top. Notes on lines that are not shown come first."""
    waiting: dict[tuple[Side, int], list[int]] = {}
    for place, note in enumerate(notes):
        waiting.setdefault((note.side, note.last), []).append(place)
    rows: list[DiffRow] = []
    for number, hunk in enumerate(hunks):
        if hunk.new_start > 1 or hunk.old_start > 1 or number:
            rows.append(DiffRow(GAP, number))
        for block in _blocks(hunk.lines):
            pairs = _side_by_side(hunk.lines, *block) if layout.is_split else _unified(hunk.lines, *block)
            _add_block(rows, number, hunk.lines, pairs, layout, waiting, notes)
    lost = [place for places in waiting.values() for place in places]
    return [*_note_rows(sorted(lost), notes, NOTHING), *rows]


def _blocks(lines: Sequence[DiffLine]) -> Iterator[tuple[int, int, int]]:
    """Runs of unchanged lines, and of removed and then added ones: start, first added, end."""
    start = 0
    while start < len(lines):
        middle = start
        if lines[start].sign == " ":
            while middle < len(lines) and lines[middle].sign == " ":
                middle += 1
            yield start, start, middle
            start = middle
            continue
        while middle < len(lines) and lines[middle].sign == "-":
            middle += 1
        end = middle
        while end < len(lines) and lines[end].sign == "+":
            end += 1
        yield start, middle, end
        start = end


def _side_by_side(lines: Sequence[DiffLine], start: int, middle: int, end: int) -> list[_Pair]:
    if lines[start].sign == " ":
        return [_Pair(place, place) for place in range(start, end)]
    removed, added = middle - start, end - middle
    return [
        _Pair(
            start + at if at < removed else FILL,
            middle + at if at < added else FILL,
            NOTHING if at >= min(removed, added) else middle + at,
        )
        for at in range(max(removed, added))
    ]


def _unified(lines: Sequence[DiffLine], start: int, middle: int, end: int) -> list[_Pair]:
    if lines[start].sign == " ":
        return [_Pair(place, place) for place in range(start, end)]
    removed, added = middle - start, end - middle
    both = min(removed, added)
    return [
        *(_Pair(start + at, NOTHING, middle + at if at < both else NOTHING) for at in range(removed)),
        *(_Pair(NOTHING, middle + at, start + at if at < both else NOTHING) for at in range(added)),
    ]


def _add_block(
    rows: list[DiffRow],
    hunk: int,
    lines: Sequence[DiffLine],
    pairs: Sequence[_Pair],
    layout: Layout,
    waiting: dict[tuple[Side, int], list[int]],
    notes: Sequence[LineNote],
) -> None:
    if not waiting and not layout.code_width:
        rows += [DiffRow(LINE, hunk, *pair) for pair in pairs]
        return
    held: list[int] = []
    for at, pair in enumerate(pairs):
        for part in range(_parts(lines, pair, layout)):
            rows.append(DiffRow(LINE, hunk, *pair, part))
        if waiting:
            held += _notes_on(lines, pair, waiting)
        following = pairs[at + 1] if at + 1 < len(pairs) else None
        # A note comes after the fills below its line, so that the block of code stays whole.
        if held and not (following is not None and _is_fill(following, notes[held[0]].side)):
            rows += _note_rows(held, notes, hunk)
            held = []


def _parts(lines: Sequence[DiffLine], pair: _Pair, layout: Layout) -> int:
    if not layout.code_width:
        return 1
    places = {place for place in (pair.left, pair.right) if place >= 0}
    return max(_parts_of(lines[place].text, layout.code_width) for place in places)


def _parts_of(text: str, width: int) -> int:
    if len(text) <= width and text.isascii() and "\t" not in text:
        return 1
    return len(breaks(shown(text), width))


def _notes_on(
    lines: Sequence[DiffLine], pair: _Pair, waiting: dict[tuple[Side, int], list[int]]
) -> list[int]:
    found: list[int] = []
    if pair.left >= 0:
        found += waiting.pop(("old", lines[pair.left].old), [])
    if pair.right >= 0:
        found += waiting.pop(("new", lines[pair.right].new), [])
    return found


def _is_fill(pair: _Pair, side: Side) -> bool:
    return (pair.left if side == "old" else pair.right) == FILL


def _note_rows(places: Sequence[int], notes: Sequence[LineNote], hunk: int) -> list[DiffRow]:
    return [
        DiffRow(NOTE, hunk, part=part, note=place) for place in places for part in range(notes[place].height)
    ]


def changes_in(rows: Sequence[DiffRow], hunks: Sequence[Hunk]) -> list[int]:
    """The first row of each run of changed lines."""
    found: list[int] = []
    was_changed = False
    for place, row in enumerate(rows):
        if row.kind == NOTE:
            continue
        is_changed = row.kind == LINE and line_of(row, hunks).sign != " "
        if is_changed and not was_changed:
            found.append(place)
        was_changed = is_changed
    return found


def line_of(row: DiffRow, hunks: Sequence[Hunk]) -> DiffLine:
    """The line of a row: the new one, where it has both."""
    return hunks[row.hunk].lines[row.right if row.right >= 0 else row.left]


def line_on(row: DiffRow, hunks: Sequence[Hunk], side: Side) -> DiffLine | None:
    """The line of a row on one side."""
    place = row.left if side == "old" else row.right
    return hunks[row.hunk].lines[place] if row.kind == LINE and place >= 0 else None


def matching(rows: Sequence[DiffRow], is_wanted: Callable[[DiffRow], bool]) -> list[int]:
    return [place for place, row in enumerate(rows) if is_wanted(row)]
