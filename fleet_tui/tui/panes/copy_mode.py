"""Copy mode: the visible rows, the cursor, the selection and the search of one pane's scrollback.

Pure: keys in, a position out. Rows are numbered from the oldest one kept, as the screen server numbers them. The last
rows are a copy of the screen from when copy mode began, so they do not change while the program prints. Fetching rows,
painting them and the clipboard belong to the pane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal
from unicodedata import east_asian_width

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.terminal.ansi import cell_widths
from fleet_tui.terminal.view import Run

RunRow = Sequence[Run]
KeyOutcome = Literal["", "copy", "leave", "search"]
"""What a key asks of the pane besides repainting."""

CHUNK = 200
"""Rows per request."""
KEPT_ROWS = 20_000


@dataclass(frozen=True, slots=True, order=True)
class CopyPosition:
    row: int
    col: int


class ScrolledRows:
    """The rows above the screen, as far as they are loaded, and the screen below them."""

    def __init__(self, screen: Sequence[RunRow], above: int, fetch: Callable[[int, int], None]) -> None:
        self._screen = list(screen)
        self.above = above
        """How many rows are above the screen."""
        self._fetch = fetch
        self._rows: dict[int, RunRow] = {}
        self._asked: set[int] = set()

    @classmethod
    def of_lines(cls, lines: Iterable[str], screen: Sequence[RunRow], width: int) -> ScrolledRows:
        """Scrollback known only as lines of text: that of a program on the alternate screen."""
        rows = [row for line in lines for row in _wrapped(line, width)]
        past = cls(screen, len(rows), lambda _start, _count: None)
        past._rows = dict(enumerate(rows))
        return past

    @property
    def total(self) -> int:
        return self.above + len(self._screen)

    def row(self, number: int) -> RunRow | None:
        """Return a row, or request it and return None."""
        if number >= self.above:
            at = number - self.above
            return self._screen[at] if at < len(self._screen) else ()
        found = self._rows.get(number)
        if found is None:
            self._ask_around(number)
        return found

    def _ask_around(self, number: int) -> None:
        start = number // CHUNK * CHUNK
        if start not in self._asked:
            self._asked.add(start)
            self._fetch(start, min(CHUNK, self.above - start))

    def take(self, start: int, rows: Sequence[RunRow]) -> None:
        """Take requested rows."""
        if len(self._rows) > KEPT_ROWS:
            self._rows.clear()
            self._asked = {start}
        self._rows.update(enumerate(rows, start=start))

    def find(self, needle: str) -> list[tuple[int, int, int]]:
        """Find a text in the loaded rows: row, column, width."""
        wanted = needle.lower()
        found = []
        for number in range(self.total):
            row = self._rows.get(number) if number < self.above else self.row(number)
            if row is None or not wanted or wanted not in "".join(text for text, _, _ in row).lower():
                continue
            cells = _cells(row)
            text = "".join(character for character, _ in cells).lower()
            if len(text) != len(cells):
                continue
            at = text.find(wanted)
            while at >= 0:
                found.append((number, cells[at][1], len(needle)))
                at = text.find(wanted, at + 1)
        return found

    def copied(self, start: CopyPosition, end: CopyPosition) -> str | None:
        """Return the text between two positions, inclusive; None when some of it is not loaded."""
        lines = []
        for number in range(start.row, end.row + 1):
            row = self.row(number)
            if row is None:
                return None
            if start.row < number < end.row:
                lines.append("".join(text for text, _, _ in row).rstrip())
                continue
            first = start.col if number == start.row else 0
            last = end.col if number == end.row else sum(width for _, _, width in row)
            kept = (character for character, col in _cells(row) if first <= col <= last)
            lines.append("".join(kept).rstrip())
        return "\n".join(lines)


def _cells(row: RunRow) -> list[tuple[str, int]]:
    """Yield each character with its column; a cluster counts as one."""
    cells: list[tuple[str, int]] = []
    col = 0
    for text, _, width in row:
        widths = cell_widths(text, width)
        if widths is None:
            cells.append((text, col))
            col += width
            continue
        for character, character_width in zip(text, widths, strict=True):
            cells.append((character, col))
            col += character_width
    return cells


def _wrapped(line: str, width: int) -> list[RunRow]:
    if len(line) <= width and line.isascii():
        return [((line, None, len(line)),)]
    rows: list[RunRow] = []
    text, used = "", 0
    for character in line:
        cells = 2 if east_asian_width(character) in {"W", "F"} else 1
        if used + cells > width and text:
            rows.append(((text, None, used),))
            text, used = "", 0
        text, used = text + character, used + cells
    return [*rows, ((text, None, used),)]


class CopyMode:
    """A window of rows, and with `has_cursor` a cursor to search, select and copy with."""

    def __init__(
        self, past: ScrolledRows, width: int, height: int, *, has_cursor: bool, at: CopyPosition | None = None
    ) -> None:
        self.past = past
        self.width, self.height = width, height
        self.has_cursor = has_cursor
        self.top = self.lowest
        self.cursor = at or CopyPosition(past.total - 1, 0)
        self.anchor: CopyPosition | None = None
        self.is_by_line = False
        self.needle = ""
        self.prompt: str | None = None
        """The search text while it is being typed."""
        self.matches: list[tuple[int, int, int]] = []
        self._owed = 0
        """How far beyond the loaded rows the user scrolled."""
        self._follow()

    def extend(self, past: ScrolledRows) -> None:
        """Add rows above the screen."""
        added = past.above - self.past.above
        self.past = past
        self.top += added
        self.cursor = CopyPosition(self.cursor.row + added, self.cursor.col)
        if self.anchor is not None:
            self.anchor = CopyPosition(self.anchor.row + added, self.anchor.col)
        if self._owed:
            self.scroll(self._owed)

    # where

    @property
    def lowest(self) -> int:
        """The window's top row when it shows the newest rows."""
        return max(0, self.past.total - self.height)

    @property
    def is_at_end(self) -> bool:
        return self.top >= self.lowest

    def resize(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.top = min(self.top, self.lowest)
        self._follow()

    def scroll(self, rows: int) -> None:
        """Scroll to older rows, or newer ones when negative; the cursor stays in the window."""
        wanted = self.top - rows
        self.top = max(0, min(wanted, self.lowest))
        self._owed = max(0, self.top - wanted)
        row = max(self.top, min(self.cursor.row, self.top + self.height - 1))
        self.cursor = CopyPosition(row, self.cursor.col)

    def move(self, rows: int = 0, cols: int = 0) -> None:
        self.go(CopyPosition(self.cursor.row + rows, self.cursor.col + cols))

    def go(self, place: CopyPosition) -> None:
        row = max(0, min(place.row, self.past.total - 1))
        self.cursor = CopyPosition(row, max(0, min(place.col, self.width - 1)))
        self._follow()

    def _follow(self) -> None:
        if not self.has_cursor:
            return
        row = self.cursor.row
        self.top = max(0, min(max(self.top, row - self.height + 1), row))

    # selection

    @property
    def selection(self) -> tuple[CopyPosition, CopyPosition] | None:
        if self.anchor is None:
            return None
        start, end = sorted((self.anchor, self.cursor))
        return (
            (CopyPosition(start.row, 0), CopyPosition(end.row, self.width - 1))
            if self.is_by_line
            else (start, end)
        )

    def select(self, *, by_line: bool = False) -> None:
        """Begin a selection here, or drop it."""
        is_same = self.anchor is not None and self.is_by_line == by_line
        self.anchor = None if is_same else self.cursor
        self.is_by_line = by_line

    def selected_in(self, row: int) -> tuple[int, int] | None:
        """Return the first selected column of a row and the one after the last."""
        selection = self.selection
        if selection is None or not selection[0].row <= row <= selection[1].row:
            return None
        start, end = selection
        return (start.col if row == start.row else 0, end.col + 1 if row == end.row else self.width)

    # search

    def found(self, needle: str, matches: list[tuple[int, int, int]]) -> None:
        """Take the matches of a search: go to the nearest above the cursor, else to the newest."""
        self.needle, self.matches = needle, sorted(matches)
        here = (self.cursor.row, self.cursor.col)
        before = [match for match in self.matches if match[:2] <= here]
        if self.matches:
            row, col, _ = before[-1] if before else self.matches[-1]
            self._show(CopyPosition(row, col))

    def next_match(self, *, backwards: bool) -> None:
        here = (self.cursor.row, self.cursor.col)
        older = [match for match in self.matches if match[:2] < here]
        newer = [match for match in self.matches if match[:2] > here]
        if not self.matches:
            return
        ordered = (older or self.matches)[-1] if backwards else (newer or self.matches)[0]
        self._show(CopyPosition(ordered[0], ordered[1]))

    def _show(self, place: CopyPosition) -> None:
        """Move the cursor there, and scroll if it is not visible."""
        if not self.top <= place.row < self.top + self.height - 1:
            self.top = max(0, min(place.row - self.height // 2, self.lowest))
        self.go(place)

    def matches_in(self, row: int) -> list[tuple[int, int]]:
        return [(col, col + width) for found_row, col, width in self.matches if found_row == row]

    # keys

    def press(self, key: str, character: str | None) -> KeyOutcome:
        """Act on a key, as Textual names it."""
        if self.prompt is not None:
            return self._press_in_prompt(key, character)
        move = _MOVES.get(key)
        if move is not None:
            rows, cols = move
            self.move(rows, cols)
            return ""
        return self._press_command(key)

    def _press_in_prompt(self, key: str, character: str | None) -> KeyOutcome:
        prompt = self.prompt or ""
        if key == "enter":
            self.prompt = None
            self.needle = prompt or self.needle
            return "search" if self.needle else ""
        if key == "escape":
            self.prompt = None
        elif key in {"backspace", "ctrl+h"}:
            self.prompt = prompt[:-1] if prompt else None
        elif key == "ctrl+u":
            self.prompt = ""
        elif character and character.isprintable():
            self.prompt = prompt + character
        return ""

    def _press_command(self, key: str) -> KeyOutcome:
        if key in {"q", "escape", "ctrl+c"}:
            if key == "escape" and self.anchor is not None:
                self.anchor = None
                return ""
            return "leave"
        if key in {"y", "enter"}:
            return "copy" if self.anchor is not None else "leave" if key == "enter" else ""
        command = self._commands().get(key)
        if command is not None:
            command()
        return ""

    def _commands(self) -> dict[str, Callable[[], None]]:
        page, half = max(1, self.height - 1), max(1, self.height // 2)
        return {
            "pageup": lambda: self.move(-page),
            "ctrl+b": lambda: self.move(-page),
            "pagedown": lambda: self.move(page),
            "ctrl+f": lambda: self.move(page),
            "ctrl+u": lambda: self.move(-half),
            "ctrl+d": lambda: self.move(half),
            "g": lambda: self.go(CopyPosition(0, 0)),
            "G": lambda: self.go(CopyPosition(self.past.total - 1, 0)),
            "home": lambda: self.move(cols=-self.width),
            "0": lambda: self.move(cols=-self.width),
            "end": self._to_line_end,
            "dollar_sign": self._to_line_end,
            "v": self.select,
            "space": self.select,
            "V": lambda: self.select(by_line=True),
            "slash": self._open_prompt,
            "question_mark": self._open_prompt,
            "n": lambda: self.next_match(backwards=True),
            "N": lambda: self.next_match(backwards=False),
        }

    def _open_prompt(self) -> None:
        self.prompt = ""

    def _to_line_end(self) -> None:
        row = self.past.row(self.cursor.row) or ()
        self.go(CopyPosition(self.cursor.row, sum(width for _, _, width in row) - 1))

    # what to tell

    def status(self) -> str:
        """The bottom line of the pane."""
        if self.prompt is not None:
            return f"/{self.prompt}▏"
        place = f"{min(self.top + self.height, self.past.total)}/{self.past.total}"
        if self.has_cursor and self.needle:
            place = f"{len(self.matches)} × {self.needle}  {place}"
        return f" {place} "


_MOVES = {
    "up": (-1, 0),
    "k": (-1, 0),
    "down": (1, 0),
    "j": (1, 0),
    "left": (0, -1),
    "h": (0, -1),
    "right": (0, 1),
    "l": (0, 1),
}
