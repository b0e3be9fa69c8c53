"""Input box of a program, read from its screen: whether there is one, whether it is empty, and what it holds.

A profile describes its box as data (`BoxRule`): the frame, what stands before the text, how a placeholder looks, and which
keys set a draft aside. Pure: rows and a cursor go in, a `Box` comes out. The caller decides whether the screen has settled.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, known
from fleet_tui.terminal.cells import TRUECOLOR, Attribute, Cursor, Row, Style

FRAMES = ("lines", "edge", "ground")
PART_ROWS = 5
"""A box of this many rows may show only a part of a long text."""

_INVISIBLE = ("Z", "C", "M", "So", "Sk")
"""Unicode categories that programs drop, compose or draw with a width of their own."""


class BoxState(StrEnum):
    """State of an input box."""

    EMPTY = "empty"
    DRAFT = "draft"
    """It holds text, or only blanks."""
    MODE = "mode"
    """What is typed does not go to the model but, for example, to a shell."""
    NONE = "none"
    """The cursor is in no box: a menu, a search or a dialog is shown, or nothing is drawn yet."""
    UNSETTLED = "unsettled"
    """The screen is being redrawn."""


@dataclass(frozen=True, slots=True)
class BoxRule:
    """How one program draws its input box, and which keys empty it."""

    frame: str
    """`lines`: a row of `top` above and a row of `bottom` below. `edge`: `top` at the left of each row, and `bottom` below
    the last. `ground`: a background of its own."""
    prefixes: tuple[str, ...]
    """What may be to the left of the text in its first row; for `edge` always blank."""
    column: int
    """Where text begins, from the left or from the edge."""
    top: str = ""
    bottom: str = ""
    modes: tuple[str, ...] = ()
    """Prefixes of other modes."""
    visible: bool = False
    """Whether the cursor is shown while the box takes text."""
    faint: bool = False
    """Whether placeholders and suggestions are drawn faint."""
    hints: tuple[str, ...] = ()
    """Colors that only placeholders and suggestions have, as `6c7086`."""
    placeholder: str = ""
    """A pattern for the whole text of a placeholder that looks like any text."""
    footer: int = 0
    """How many rows at the bottom of the frame are not text."""
    pasted: str = ""
    """A pattern for the text that stands for a long paste."""
    clear: str = ""
    """The key that empties a box with text."""
    set_aside: str = ""
    """The key that empties the box so that `restore` brings the text back."""
    set_aside_unless: str = ""
    """A pattern for the screen: while it matches, `set_aside` would lose something."""
    set_aside_only: str = ""
    """A pattern for a whole draft: only matching drafts come back."""
    restore: str = ""
    """The key that brings a draft back; pressed again until the box shows it."""
    restores_itself: bool = False
    """Whether the program brings the draft back after the next prompt."""

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> BoxRule:
        """Also accepts what another version has written: unknown fields are skipped."""
        found = known(cls, values)
        for name in ("prefixes", "modes", "hints"):
            found[name] = tuple(found.get(name, ()))
        return cls(**found)


@dataclass(frozen=True, slots=True)
class Box:
    """Content of an input box, read from the screen."""

    state: BoxState
    text: str = ""
    """The text, one line per row; in another mode, with its prefix."""
    rows: int = 0
    cursor: tuple[int, int] = (0, 0)
    """Where the next character goes: column and row in the text."""

    def shows(self, text: str, rule: BoxRule) -> bool:
        """Whether it holds this text and nothing else."""
        if self.state is not BoxState.DRAFT:
            return False
        rest, pastes = re.subn(rule.pasted, "", self.text) if rule.pasted else (self.text, 0)
        held, wanted = _squeezed(rest), _squeezed(text)
        is_part = bool(pastes) or (self.rows >= PART_ROWS and held != "")
        return held == wanted or (is_part and held in wanted)

    def has_part(self, text: str, rule: BoxRule) -> bool:
        """Whether it holds this text, possibly among other text."""
        if self.state is not BoxState.DRAFT:
            return False
        return self.shows(text, rule) or self.holds_paste(rule) or _squeezed(text) in _squeezed(self.text)

    def can_be_set_aside(self, rule: BoxRule) -> bool:
        """Whether the program would bring this text back as it is."""
        if not rule.set_aside or not rule.restore or not self.text.strip() or self.holds_paste(rule):
            return False
        return not rule.set_aside_only or re.fullmatch(rule.set_aside_only, self.text, re.DOTALL) is not None

    def holds_paste(self, rule: BoxRule) -> bool:
        return bool(rule.pasted and re.search(rule.pasted, self.text))


NO_BOX = Box(BoxState.NONE)
UNSETTLED = Box(BoxState.UNSETTLED)

_Cell = tuple[str, Style | None]


def read(rule: BoxRule, rows: Sequence[Row], cursor: Cursor) -> Box:
    """The input box that the cursor is in."""
    if rule.visible and not cursor.visible:
        return NO_BOX
    grid = _Grid(rows)
    found = _FINDERS[rule.frame](rule, grid, cursor)
    if found is None:
        return NO_BOX
    first, last, left = found
    prefix = grid.text(first, 0, left).replace("\xa0", " ") if rule.frame != "edge" else ""
    if prefix in rule.modes:
        return Box(BoxState.MODE, prefix + grid.text(first, left).rstrip(), last - first)
    if rule.frame != "edge" and prefix not in rule.prefixes:
        return NO_BOX
    return _content(rule, grid, cursor, found)


def _content(rule: BoxRule, grid: _Grid, cursor: Cursor, place: tuple[int, int, int]) -> Box:
    first, last, left = place
    is_home = (cursor.x, cursor.y) == (left, first)
    lines, hints = [], 0
    hint_colors = _hint_colors(rule)
    for y in range(first, last):
        cells = grid.cells(y)[left:]
        if rule.frame == "edge":
            cells = _trimmed(cells, grid.ground(y, left - 1))
        is_hint = [char.strip() != "" and _is_hint(style, rule, hint_colors) for char, style in cells]
        hints += sum(is_hint)
        kept = (" " if hint else char for (char, _), hint in zip(cells, is_hint, strict=True))
        lines.append("".join(kept).rstrip())
    text = "\n".join(lines).strip("\n")
    if text.strip() and is_home and _is_placeholder(rule, text, hints, lines[0]):
        text = ""
    state = BoxState.EMPTY if not text.strip() and is_home else BoxState.DRAFT
    at = cursor.x - left, cursor.y - first
    return Box(state, text if text.strip() else "", last - first, at)


def _is_placeholder(rule: BoxRule, text: str, hints: int, line: str) -> bool:
    if hints:
        # The cursor is drawn over the first letter, which then looks different.
        return len(text.strip()) == 1 and line[:1].strip() != ""
    return bool(rule.placeholder) and re.fullmatch(rule.placeholder, " ".join(text.split())) is not None


# ── frames ──────────────────────────────────────────────────────────────────────────────────────────────────────


class _Grid:
    """Rows of a screen, as cells by column."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._known: dict[int, list[_Cell]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def cells(self, y: int) -> list[_Cell]:
        if y not in self._known:
            self._known[y] = [cell for run in self._rows[y] for cell in _cells(*run)]
        return self._known[y]

    def text(self, y: int, start: int = 0, end: int | None = None) -> str:
        found = "".join(char for char, _ in self.cells(y)[start:end])
        return found.ljust(end - start) if end is not None else found

    def char(self, y: int, x: int) -> str:
        cells = self.cells(y)
        return cells[x][0] if 0 <= x < len(cells) else " "

    def ground(self, y: int, x: int) -> int:
        cells = self.cells(y)
        style = cells[x][1] if 0 <= x < len(cells) else None
        return style[1] if style is not None else -1


def _cells(text: str, style: Style | None, width: int) -> list[_Cell]:
    if len(text) == width:
        return [(char, style) for char in text]
    if width <= 2:
        # A single character of several code points.
        return [(text, style), *[("", style)] * (width - 1)]
    found: list[_Cell] = []
    for char in text:
        found.append((char, style))
        if unicodedata.east_asian_width(char) in "WF":
            found.append(("", style))
    return [*found[:width], *[(" ", style)] * (width - len(found))]


def _between_lines(rule: BoxRule, grid: _Grid, cursor: Cursor) -> tuple[int, int, int] | None:
    colors = _hint_colors(rule)

    def is_line(y: int, char: str) -> bool:
        """Whether a row is a line across the screen, possibly with a few words, or with a hint of any length, in it."""
        drawn = grid.text(y).rstrip()
        if not (drawn.startswith(char * 2) and drawn.endswith(char * 2) and len(drawn) >= 8):
            return False
        over = sum(_is_hint(style, rule, colors) for cell, style in grid.cells(y) if cell != char)
        return (drawn.count(char) + over) * 2 >= len(drawn)

    above = next((y for y in range(cursor.y - 1, -1, -1) if is_line(y, rule.top)), None)
    below = next((y for y in range(cursor.y + 1, len(grid)) if is_line(y, rule.bottom)), None)
    if above is None or below is None or is_line(cursor.y, rule.top):
        return None
    return above + 1, below - rule.footer, rule.column


def _beside_edge(rule: BoxRule, grid: _Grid, cursor: Cursor) -> tuple[int, int, int] | None:
    left = next((x for x in range(cursor.x, -1, -1) if grid.char(cursor.y, x) == rule.top), None)
    if left is None:
        return None
    first = last = cursor.y
    while first and grid.char(first - 1, left) == rule.top:
        first -= 1
    while last + 1 < len(grid) and grid.char(last + 1, left) == rule.top:
        last += 1
    if last + 1 >= len(grid) or grid.char(last + 1, left) != rule.bottom:
        return None
    first, end = first + 1, last + 1 - rule.footer
    return (first, end, left + rule.column) if first <= cursor.y < end else None


def _on_ground(rule: BoxRule, grid: _Grid, cursor: Cursor) -> tuple[int, int, int] | None:
    """From the last row above the cursor that begins like a box: a list of completions may touch the box."""
    starts = (*rule.prefixes, *rule.modes)
    first = end = cursor.y
    while grid.ground(first, 0) != -1 and grid.text(first, 0, rule.column) not in starts:
        first -= 1
        if first < 0:
            return None
    while end < len(grid) and grid.ground(end, 0) != -1:
        end += 1
    return (first, end, rule.column) if grid.ground(first, 0) != -1 else None


_FINDERS = {"lines": _between_lines, "edge": _beside_edge, "ground": _on_ground}


def _trimmed(cells: list[_Cell], ground: int) -> list[_Cell]:
    """Without what is right of the box, on another background."""
    end = len(cells)
    while end and (cells[end - 1][1] or (-1, -1))[1] != ground:
        end -= 1
    return cells[:end]


def _is_hint(style: Style | None, rule: BoxRule, colors: frozenset[int]) -> bool:
    return style is not None and ((rule.faint and bool(style[2] & Attribute.FAINT)) or style[0] in colors)


def _hint_colors(rule: BoxRule) -> frozenset[int]:
    return frozenset(TRUECOLOR | int(color, 16) for color in rule.hints)


def _squeezed(text: str) -> str:
    """The part of a text that does not depend on how it is wrapped, composed and drawn."""
    composed = unicodedata.normalize("NFC", text)
    return "".join(char for char in composed if not unicodedata.category(char).startswith(_INVISIBLE))
