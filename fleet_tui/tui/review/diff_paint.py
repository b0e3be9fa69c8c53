"""Draw rows of a diff as lines with roles: numbers, signs, code with its colors, changed words, notes.

Pure: `diff_view` shows the lines. No meaning is carried by color alone: signs and numbers tell sides apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fleet_tui.tui.review.code_colors import CodeColors, Colored
from fleet_tui.tui.review.code_text import breaks, from_cell, shown
from fleet_tui.tui.review.diff_rows import FILL, GAP, NOTE, DiffRow, LineNote
from fleet_tui.tui.review.word_changes import Span, changed_words
from fleet_tui.tui.widgets.lines import Line, TextPart, clean, cut_line, fit, length
from fleet_tui.work import DiffLine, Hunk, Side

SPLIT_FROM = 100
"""Cells from which old and new fit beside each other."""
SIGNS = {"-": "−", "+": "+", " ": " "}
_TINTS = {"-": "del", "+": "add", " ": ""}
_SIGN_ROLES = {"-": "error", "+": "success", " ": "faint"}


class Geometry(NamedTuple):
    """Where things are in a row."""

    width: int
    is_split: bool
    digits: int
    """Cells of a line number."""

    @property
    def half(self) -> int:
        """The width of the left side."""
        return (self.width - 1) // 2 if self.is_split else self.width

    @property
    def _gutter(self) -> int:
        return self.digits + 3

    @property
    def left_code(self) -> int:
        if self.is_split:
            return self.half - 1 - self._gutter
        return self.width - 2 - self.digits - self._gutter

    @property
    def right_code(self) -> int:
        return self.width - 1 - self.half - self._gutter if self.is_split else self.left_code

    @property
    def code_width(self) -> int:
        return max(1, min(self.left_code, self.right_code))

    def side_at(self, x: int) -> Side:
        return "old" if self.is_split and x < self.half else "new"

    def note_width(self, side: Side) -> int:
        """The width of a comment on that side, with its bar."""
        if self.is_split:
            return max(12, (self.half if side == "old" else self.width - self.half - 1) - 4)
        return max(12, self.width - 2 * self.digits - 6)


def geometry_for(width: int, hunks: Sequence[Hunk], *, is_split: bool) -> Geometry:
    most = max(
        (max(one.old_start + one.old_count, one.new_start + one.new_count) for one in hunks), default=1
    )
    return Geometry(max(24, width), is_split, max(4 if is_split else 3, len(str(most))))


class Marks(NamedTuple):
    """What is pointed at in a row."""

    side: Side | None = None
    """The side with the cursor or the chosen range."""
    wanted: str = ""
    """The text that is searched for, in lower case."""
    is_found: bool = False
    """It is the place that the search stands at."""


class Colors:
    """The colors of all lines of a diff, of each side of a hunk for itself."""

    def __init__(self, hunks: Sequence[Hunk], language: str) -> None:
        self._hunks = hunks
        self._language = language
        self._texts: dict[tuple[int, Side], tuple[CodeColors, Mapping[int, int]]] = {}

    def of(self, hunk: int, place: int, side: Side) -> Colored | None:
        """The parts of a line; None if they are not known yet."""
        colors, at = self._text(hunk, side)
        return colors.known(at[place])

    def learn(self, hunk: int, place: int, side: Side) -> bool:
        """Color the lines around this one; returns whether this one is colored now."""
        colors, at = self._text(hunk, side)
        return colors.color(at[place])

    def _text(self, hunk: int, side: Side) -> tuple[CodeColors, Mapping[int, int]]:
        found = self._texts.get((hunk, side))
        if found is None:
            missing = "+" if side == "old" else "-"
            lines = self._hunks[hunk].lines
            places = [at for at, line in enumerate(lines) if line.sign != missing]
            colors = CodeColors(self._language, [lines[at].text for at in places])
            found = self._texts[hunk, side] = (colors, {at: order for order, at in enumerate(places)})
        return found


class DiffPaint:
    """Draws the rows of one diff at one width."""

    def __init__(
        self,
        hunks: Sequence[Hunk],
        geometry: Geometry,
        colors: Colors,
        notes: Sequence[LineNote],
        note_lines: Sequence[Sequence[Line]],
        *,
        is_wrapped: bool = False,
        is_ansi: bool = False,
    ) -> None:
        self._hunks = hunks
        self._geometry = geometry
        self._colors = colors
        self._notes = notes
        self._note_lines = note_lines
        self._is_wrapped = is_wrapped
        self._word = "bold " if is_ansi else ""
        """Without tints, changed words are bold."""

    def draw(self, row: DiffRow, marks: Marks, offset: int = 0) -> Line:
        """The line of a row, its code from that cell on."""
        if row.kind == GAP:
            return self._gap(row)
        if row.kind == NOTE:
            return self._note(row, is_here=marks.side is not None)
        if self._geometry.is_split:
            return self._both_sides(row, marks, offset)
        return self._one_side(row, marks, offset)

    # ── code ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _both_sides(self, row: DiffRow, marks: Marks, offset: int) -> Line:
        geometry = self._geometry
        left_marks = marks if marks.side == "old" else marks._replace(side=None)
        right_marks = marks if marks.side == "new" else marks._replace(side=None)
        bar: TextPart = ("▌", "accent") if left_marks.side else (" ", "")
        middle: TextPart = ("▐", "accent") if right_marks.side else ("│", "rule")
        rest = geometry.width - 1 - geometry.half
        left = self._half(row, row.left, "old", geometry.left_code, geometry.half - 1, left_marks, offset)
        right = self._half(row, row.right, "new", geometry.right_code, rest, right_marks, offset)
        return (bar, *left, middle, *right)

    def _half(
        self, row: DiffRow, place: int, side: Side, code: int, width: int, marks: Marks, offset: int
    ) -> Line:
        if place == FILL:
            return (("╱" * width, "rule"),)
        if place < 0:
            return ((" " * width, ""),)
        line = self._hunks[row.hunk].lines[place]
        number = line.old if side == "old" else line.new
        at = _number(
            number if not row.part else 0, self._geometry.digits, line, is_here=marks.side is not None
        )
        return (at, *self._code(row, place, side, code, marks, offset))

    def _one_side(self, row: DiffRow, marks: Marks, offset: int) -> Line:
        geometry = self._geometry
        side: Side = "new" if row.right >= 0 else "old"
        place = row.right if row.right >= 0 else row.left
        line = self._hunks[row.hunk].lines[place]
        is_here = marks.side is not None
        shown_numbers = (0, 0) if row.part else (line.old, line.new)
        return (
            ("▌", "accent") if is_here else (" ", ""),
            _number(shown_numbers[0], geometry.digits, line, is_here=is_here),
            (" ", ""),
            _number(shown_numbers[1], geometry.digits, line, is_here=is_here),
            *self._code(row, place, side, geometry.left_code, marks, offset),
        )

    def _code(self, row: DiffRow, place: int, side: Side, width: int, marks: Marks, offset: int) -> Line:
        """The sign and the visible part of a line, tinted to the end."""
        line = self._hunks[row.hunk].lines[place]
        text = shown(line.text)
        tint = _TINTS[line.sign]
        ground = f" on {tint}-bg" if tint else ""
        sign = SIGNS[line.sign] if not row.part else " "
        start, end = self._visible(text, row.part, width, offset)
        parts = self._colors.of(row.hunk, place, side) or ((text, ""),)
        styled = _cropped(parts, start, end)
        spans = _moved(self._changed(row, place), start, end) if tint else ()
        code: list[TextPart] = _painted(styled, spans, ground, f" on {tint}-word", self._word)
        if marks.wanted and marks.wanted in text.lower():
            code = _with_hits(code, marks, ground)
        if line.has_no_end and end == len(text):
            code.append(("  no newline at end", f"faint{ground}"))
        head: TextPart = (f" {sign} ", f"{_SIGN_ROLES[line.sign]}{ground}")
        return (head, *fit(code, width, fill=ground.strip() and f"foreground{ground}"))

    def _visible(self, text: str, part: int, width: int, offset: int) -> tuple[int, int]:
        if not self._is_wrapped:
            return from_cell(text, offset), len(text)
        parts = breaks(text, self._geometry.code_width)
        return parts[part] if part < len(parts) else (len(text), len(text))

    def _changed(self, row: DiffRow, place: int) -> Sequence[Span]:
        if row.mate < 0:
            return ()
        lines = self._hunks[row.hunk].lines
        if self._geometry.is_split:
            old, new = row.left, row.right
        else:
            old, new = (place, row.mate) if lines[place].sign == "-" else (row.mate, place)
        spans = changed_words(shown(lines[old].text), shown(lines[new].text))
        return spans[0] if place == old else spans[1]

    # ── what is between the code ────────────────────────────────────────────────────────────────────────────────

    def _gap(self, row: DiffRow) -> Line:
        hunk = self._hunks[row.hunk]
        where = f"line {hunk.new_start if hunk.new_count else hunk.old_start}"
        heading = clean(hunk.heading)
        said: Line = (
            ("  ⋯  ", "faint"),
            (heading, "muted"),
            ("  " if heading else "", ""),
            (where, "muted"),
            (" ", ""),
        )
        width = self._geometry.width
        said = cut_line(said, width - 1)
        return (*said, ("╌" * max(0, width - length(said) - 1), "rule"))

    def _note(self, row: DiffRow, *, is_here: bool) -> Line:
        geometry = self._geometry
        note, line = self._notes[row.note], self._note_lines[row.note][row.part]
        width = geometry.note_width(note.side)
        bar: TextPart = ("▌ " if is_here and not row.part else "  ", "accent")
        body = fit(line, width, fill="foreground on note-bg")
        if not geometry.is_split:
            return ((bar[0][:1], "accent"), (" " * (2 * geometry.digits + 1), ""), *body)
        if note.side == "old":
            return (*fit((bar, *body), geometry.half), ("│", "rule"))
        return ((" " * geometry.half, ""), ("│", "rule"), bar, *body)


def _number(number: int, digits: int, line: DiffLine, *, is_here: bool) -> TextPart:
    role = "bold accent" if is_here else _SIGN_ROLES[line.sign]
    return (f"{number or '':>{digits}}", role)


def _cropped(parts: Colored, start: int, end: int) -> list[TextPart]:
    found: list[TextPart] = []
    at = 0
    for text, role in parts:
        first, last = max(0, start - at), min(len(text), end - at)
        if first < last:
            found.append((text[first:last], role))
        at += len(text)
    return found


def _moved(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The spans as seen in the visible part."""
    return [(max(0, a - start), min(end, b) - start) for a, b in spans if b > start and a < end]


def _painted(
    parts: Sequence[TextPart], spans: Sequence[Span], ground: str, word: str, flags: str
) -> list[TextPart]:
    """The parts on their background, changed words on a stronger one."""
    if not ground:
        return [*parts]
    found: list[TextPart] = []
    at = 0
    for text, role in parts:
        name = role or "foreground"
        end = at + len(text)
        place = at
        for first, last in spans:
            if last <= place or first >= end:
                continue
            if first > place:
                found.append((text[place - at : first - at], f"{name}{ground}"))
                place = first
            found.append((text[place - at : min(last, end) - at], f"{flags}{name}{word}"))
            place = min(last, end)
        if place < end:
            found.append((text[place - at :], f"{name}{ground}"))
        at = end
    return found


def _with_hits(parts: Sequence[TextPart], marks: Marks, ground: str) -> list[TextPart]:
    """The parts, with what the search has found."""
    whole = "".join(text for text, _ in parts).lower()
    role = "bold reverse accent" if marks.is_found else f"bold underline accent{ground}"
    found: list[TextPart] = []
    at = 0
    hit = whole.find(marks.wanted)
    while hit >= 0:
        end = hit + len(marks.wanted)
        found += [
            *_cropped(tuple(parts), at, hit),
            ("".join(text for text, _ in _cropped(tuple(parts), hit, end)), role),
        ]
        at, hit = end, whole.find(marks.wanted, end)
    return [*found, *_cropped(tuple(parts), at, len(whole))]
