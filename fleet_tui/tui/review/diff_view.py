"""The widget that shows one file's diff: a cursor on a line, a place that survives changes of the file, colors as they come.

Draws only visible rows. What it shows is given to it (`show`); what the user does with it is the screen's business.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.review.code_text import shown
from fleet_tui.tui.review.comment_lines import lines_for
from fleet_tui.tui.review.diff_paint import SPLIT_FROM, Colors, DiffPaint, Marks, geometry_for
from fleet_tui.tui.review.diff_rows import (
    GAP,
    LINE,
    NOTE,
    Layout,
    Note,
    Row,
    changes_in,
    line_on,
    rows_of,
)
from fleet_tui.tui.review.place import Place, find, place_of
from fleet_tui.tui.widgets.lines import Line, LineView
from fleet_tui.work import DiffLine, Hunk, ReviewComment, Side

COLOR_SECONDS = 0.008
"""How long coloring may take at a time."""
PAUSE_SECONDS = 0.012
MARGIN = 3
"""Rows kept between the cursor and an edge while it moves."""
STEP = 8
"""Cells by which the code moves sideways."""


class DiffView(LineView):
    class Moved(Message):
        """The cursor is elsewhere."""

    class Chosen(Message):
        """A line was clicked twice."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._hunks: Sequence[Hunk] = ()
        self._language = ""
        self._comments: Sequence[ReviewComment] = ()
        self._sentence: Sequence[Line] = ()
        self._unsent = 0
        self._now = 0.0
        self._geometry = geometry_for(80, (), is_split=False)
        self._colors = Colors((), "")
        self._paint = DiffPaint((), self._geometry, self._colors, (), ())
        self._rows: list[Row] = []
        self._changes: list[int] = []
        self._drawn_rows: dict[int, Line] = {}
        self._wants_split: bool | None = None
        """What the user asked for; None follows the width."""
        self.is_wrapped = False
        self._top = 0
        self._cursor = 0
        self._side: Side = "new"
        self._offset = 0
        self._start: tuple[Side, int] | None = None
        """Where the chosen range begins: a side and the number of a line."""
        self._wanted = ""
        self._hits: list[int] = []
        """The rows that have it."""
        self._is_coloring = False

    # ── what is shown ───────────────────────────────────────────────────────────────────────────────────────────

    def show(
        self,
        hunks: Sequence[Hunk],
        language: str,
        comments: Sequence[ReviewComment],
        *,
        unsent: int,
        now: float,
        sentence: Sequence[Line] = (),
        is_same_file: bool,
    ) -> None:
        """Show a diff. If it is one of the same file, the cursor stays on its line and the line where it is on the screen."""
        kept = self._keep() if is_same_file else None
        start = self._start_place() if is_same_file else None
        if hunks != self._hunks or language != self._language:
            self._colors = Colors(hunks, language)
        self._hunks, self._language, self._comments = hunks, language, comments
        self._unsent, self._now, self._sentence = unsent, now, sentence
        self._start = (start.side, find(hunks, start)) if start is not None else None
        self._lay_out()
        if kept is not None:
            self._restore(*kept)
        else:
            self._offset = 0
            self._side = "new"
            self._top = 0
            self._cursor = self._first_stop()
            if self._changes:
                self._cursor = self._changes[0]
                self._reveal(center=True)
        self._tell()

    def _lay_out(self) -> None:
        is_split = self.is_split
        self._geometry = geometry = geometry_for(self.size.width, self._hunks, is_split=is_split)
        blocks = [
            lines_for(one, geometry.note_width(one.side), self._unsent, self._now) for one in self._comments
        ]
        notes = [
            Note(one.side, one.last, len(block)) for one, block in zip(self._comments, blocks, strict=True)
        ]
        layout = Layout(is_split, geometry.code_width if self.is_wrapped else 0)
        self._rows = rows_of(self._hunks, layout, notes)
        self._changes = changes_in(self._rows, self._hunks)
        self._paint = DiffPaint(
            self._hunks, geometry, self._colors, notes, blocks,
            is_wrapped=self.is_wrapped, is_ansi=self.app.current_theme.ansi,
        )  # fmt: skip
        self._drawn_rows.clear()
        self._look_for_hits()

    def on_resize(self) -> None:
        kept = self._keep()
        self._lay_out()
        self._restore(*kept)
        super().on_resize()

    @property
    def is_split(self) -> bool:
        """Whether old and new are side by side."""
        return self.size.width >= SPLIT_FROM if self._wants_split is None else self._wants_split

    def toggle_split(self) -> None:
        self._again(lambda: setattr(self, "_wants_split", not self.is_split))

    def toggle_wrap(self) -> None:
        self._offset = 0
        self._again(lambda: setattr(self, "is_wrapped", not self.is_wrapped))

    def _again(self, change: object) -> None:
        kept = self._keep()
        if callable(change):
            change()
        self._lay_out()
        self._restore(*kept)
        self._tell()

    # ── keeping the place ───────────────────────────────────────────────────────────────────────────────────────

    def _keep(self) -> tuple[Place | None, int, int]:
        """The line with the cursor, its row on the screen, and the comment with the cursor."""
        row = self._row
        if row is None:
            return None, 0, -1
        place = self._cursor
        while place and self._rows[place].kind != LINE:
            place -= 1
        found = self._place_at(place)
        comment = row.note if row.kind == NOTE else -1
        return found, self._cursor - self._top, comment

    def _place_at(self, row: int) -> Place | None:
        if not 0 <= row < len(self._rows):
            return None
        line = line_on(self._rows[row], self._hunks, self._side)
        if line is not None:
            return place_of(self._hunks, self._side, _number(line, self._side))
        other: Side = "old" if self._side == "new" else "new"
        line = line_on(self._rows[row], self._hunks, other)
        return place_of(self._hunks, other, _number(line, other)) if line is not None else None

    def _start_place(self) -> Place | None:
        return place_of(self._hunks, *self._start) if self._start is not None else None

    def _restore(self, place: Place | None, height: int, comment: int) -> None:
        found = self._row_with(place.side, find(self._hunks, place)) if place is not None else None
        if comment >= 0 and comment < len(self._comments):
            found = next((at for at, row in enumerate(self._rows) if row.note == comment), found)
        self._cursor = self._first_stop() if found is None else found
        self._top = self._cursor - height
        self._clamp()

    def _row_with(self, side: Side, number: int) -> int | None:
        for at, row in enumerate(self._rows):
            line = line_on(row, self._hunks, side)
            if line is not None and _number(line, side) == number:
                return at
        return None

    # ── where the cursor is ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def _row(self) -> Row | None:
        return self._rows[self._cursor] if 0 <= self._cursor < len(self._rows) else None

    @property
    def side(self) -> Side:
        """The side that the cursor is on: the other one where its own has no line."""
        row = self._row
        if row is None or row.kind != LINE:
            return self._side
        if line_on(row, self._hunks, self._side) is not None:
            return self._side
        return "old" if self._side == "new" else "new"

    @property
    def line(self) -> DiffLine | None:
        """The line with the cursor."""
        row = self._row
        return line_on(row, self._hunks, self.side) if row is not None else None

    @property
    def number(self) -> int:
        """The line's number on its side; 0 where the cursor is on no line."""
        return _number(self.line, self.side) if self.line is not None else 0

    @property
    def comment(self) -> ReviewComment | None:
        """The comment with the cursor, or the newest one on its line."""
        row = self._row
        if row is not None and row.kind == NOTE:
            return self._comments[row.note]
        number = self.number
        here = [one for one in self._comments if one.side == self.side and one.last == number and number]
        return max(here, key=lambda one: (not one.is_sent, one.created_at), default=None)

    @property
    def chosen(self) -> tuple[Side, int, int] | None:
        """The chosen range of lines, or the line with the cursor: its side, its first and its last number."""
        if self._start is not None:
            side, start = self._start
            row = self._row
            line = line_on(row, self._hunks, side) if row is not None else None
            end = _number(line, side) if line is not None else self._nearest_number(side)
            return side, min(start, end), max(start, end)
        return (self.side, self.number, self.number) if self.number else None

    @property
    def hunks(self) -> Sequence[Hunk]:
        return self._hunks

    @property
    def language(self) -> str:
        """The language that the code is colored as; empty if it is not known."""
        return self._language

    def quoted(self, side: Side, first: int, last: int) -> list[str]:
        """The lines of one side from one number to another, as far as they are shown."""
        missing = "+" if side == "old" else "-"
        lines = (line for hunk in self._hunks for line in hunk.lines if line.sign != missing)
        return [line.text for line in lines if first <= _number(line, side) <= last]

    @property
    def new_number(self) -> int:
        """The line in the new file that is at the cursor, or the nearest before it."""
        return self._nearest_number("new") if self._rows else 1

    def _nearest_number(self, side: Side) -> int:
        for at in range(self._cursor, -1, -1):
            line = line_on(self._rows[at], self._hunks, side)
            if line is not None:
                return _number(line, side)
        return 1

    @property
    def is_choosing(self) -> bool:
        return self._start is not None

    @property
    def change(self) -> tuple[int, int]:
        """The number of the change at or before the cursor, and how many there are."""
        return sum(start <= self._cursor for start in self._changes), len(self._changes)

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _first_stop(self) -> int:
        return next((at for at in range(len(self._rows)) if self._is_stop(at)), 0)

    def _is_stop(self, at: int) -> bool:
        """Whether the cursor may stand there: on lines and on the first row of a comment."""
        row = self._rows[at]
        return row.part == 0 and row.kind != GAP

    def move(self, step: int) -> None:
        """Move the cursor by so many rows."""
        if not self._rows:
            return
        direction = 1 if step > 0 else -1
        at = max(0, min(len(self._rows) - 1, self._cursor + step))
        while 0 <= at < len(self._rows) and not self._is_stop(at):
            at += direction
        if not 0 <= at < len(self._rows):
            # Beyond the last stop: the rows there are shown at least.
            self._scroll(direction)
            return
        self._go(at)

    def page(self, direction: int) -> None:
        self._top += direction * max(1, self.size.height - 2)
        self.move(direction * max(1, self.size.height - 2))

    def to_edge(self, direction: int) -> None:
        self.move(direction * (len(self._rows) + 1))

    def to_change(self, direction: int, *, first: bool = False) -> bool:
        """Go to the next or previous change; returns False if there is none. `first` goes to the first or last one."""
        starts = self._changes if direction > 0 else self._changes[::-1]
        found = next((at for at in starts if first or (at - self._cursor) * direction > 0), None)
        if found is not None:
            self._cursor = found
            self._reveal(center=True)
            self._tell()
        return found is not None

    def to_line(self, side: Side, number: int) -> None:
        found = self._row_with(side, number)
        if found is not None:
            self._side, self._cursor = side, found
            self._reveal(center=True)
            self._tell()

    def to_comment(self, direction: int) -> bool:
        at = self._cursor + direction
        while 0 <= at < len(self._rows):
            if self._rows[at].kind == NOTE and self._rows[at].part == 0:
                self._go(at)
                return True
            at += direction
        return False

    def to_side(self, side: Side) -> None:
        self._side = side
        self._tell()

    def sideways(self, direction: int) -> None:
        if not self.is_wrapped:
            self._offset = max(0, self._offset + direction * STEP)
            self._drawn_rows.clear()
            self.redraw()

    def _go(self, at: int) -> None:
        self._cursor = at
        self._reveal()
        self._tell()

    def _reveal(self, *, center: bool = False) -> None:
        height = max(1, self.size.height)
        margin = min(MARGIN, (height - 1) // 2)
        if center and not self._top + margin <= self._cursor < self._top + height - 2 * margin:
            self._top = self._cursor - height // 3
        bottom = self._cursor
        while bottom + 1 < len(self._rows) and self._rows[bottom + 1].part:
            bottom += 1
        self._top = min(self._top, self._cursor - margin)
        self._top = max(self._top, min(bottom, self._cursor + height // 2) + margin - height + 1)
        self._clamp()

    def _clamp(self) -> None:
        self._top = max(0, min(self._top, len(self._rows) - max(1, self.size.height)))

    def _scroll(self, rows: int) -> None:
        """Scroll; the cursor stays in sight."""
        self._top += rows
        self._clamp()
        height = max(1, self.size.height)
        at = max(self._top, min(self._cursor, self._top + height - 1))
        direction = 1 if at >= self._cursor else -1
        while 0 <= at < len(self._rows) and not self._is_stop(at):
            at += direction
        if 0 <= at < len(self._rows):
            self._cursor = at
        self._tell()

    def _tell(self) -> None:
        self.redraw()
        self.post_message(self.Moved())

    # ── choosing and searching ──────────────────────────────────────────────────────────────────────────────────

    def choose(self, *, is_on: bool) -> None:
        """Begin a range at the cursor, or give it up."""
        self._start = (self.side, self.number) if is_on and self.number else None
        self._tell()

    @property
    def wanted(self) -> str:
        """What is searched for."""
        return self._wanted

    def search(self, text: str) -> bool:
        """Go to the first place at or after the cursor that has the text; returns whether there is one."""
        self._wanted = text.lower()
        self._drawn_rows.clear()
        self._look_for_hits()
        if not text:
            self._tell()
            return True
        return self._go_to_hit(next((at for at in self._hits if at >= self._cursor), self._hits[:1]))

    def find(self, direction: int) -> bool:
        """Go to the next or previous place that has the text, beyond the end from the beginning on."""
        hits = self._hits if direction > 0 else self._hits[::-1]
        return self._go_to_hit(next((at for at in hits if (at - self._cursor) * direction > 0), hits[:1]))

    def _go_to_hit(self, found: int | list[int]) -> bool:
        if isinstance(found, list):
            if not found:
                return False
            found = found[0]
        line = line_on(self._rows[found], self._hunks, self._side)
        if line is None or self._wanted not in shown(line.text).lower():
            self._side = "old" if self._side == "new" else "new"
        self._cursor = found
        self._reveal(center=True)
        self._tell()
        return True

    def _look_for_hits(self) -> None:
        wanted = self._wanted
        self._hits = [at for at, row in enumerate(self._rows) if self._has(row, wanted)] if wanted else []

    def _has(self, row: Row, wanted: str) -> bool:
        if row.kind != LINE or row.part:
            return False
        lines = self._hunks[row.hunk].lines
        return any(place >= 0 and wanted in lines[place].text.lower() for place in {row.left, row.right})

    @property
    def hits(self) -> tuple[int, int]:
        """The number of the place that the search stands at, and how many there are."""
        return sum(at <= self._cursor for at in self._hits), len(self._hits)

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self._rows:
            return self._sentence
        self._color(self._top, self._top + height, COLOR_SECONDS)
        return [self._line(at) for at in range(self._top, min(len(self._rows), self._top + height))]

    def _line(self, at: int) -> Line:
        row = self._rows[at]
        side = self._marked(at, row)
        if side is None:
            known = self._drawn_rows.get(at)
            if known is None:
                known = self._paint.draw(row, Marks(None, self._wanted), self._offset)
                if all(self._colors.of(row.hunk, *one) is not None for one in self._sides(row)):
                    self._drawn_rows[at] = known
            return known
        is_found = bool(self._wanted) and at == self._cursor
        return self._paint.draw(row, Marks(side, self._wanted, is_found), self._offset)

    def _marked(self, at: int, row: Row) -> Side | None:
        """The side with the cursor or with a part of the chosen range."""
        if at == self._cursor or (row.part and row.kind == LINE and at - row.part == self._cursor):
            return self.side
        if self._start is not None and row.kind == LINE:
            chosen = self.chosen
            line = line_on(row, self._hunks, self._start[0])
            if chosen is not None and line is not None and chosen[1] <= _number(line, chosen[0]) <= chosen[2]:
                return chosen[0]
        return None

    def _color(self, first: int, end: int, seconds: float) -> bool:
        """Color the rows for so long; what is missing then comes soon. Returns whether all are colored."""
        until = time.monotonic() + seconds
        for at in range(max(0, first), min(end, len(self._rows))):
            row = self._rows[at]
            for place, side in self._sides(row):
                while self._colors.of(row.hunk, place, side) is None:
                    if time.monotonic() > until:
                        self._color_soon()
                        return False
                    self._colors.learn(row.hunk, place, side)
        self._color_soon(is_ahead=True)
        return True

    def _sides(self, row: Row) -> list[tuple[int, Side]]:
        """The lines of a row that are drawn."""
        if row.kind != LINE:
            return []
        if not self._geometry.is_split and row.right >= 0:
            return [(row.right, "new")]
        found: list[tuple[int, Side]] = []
        if row.left >= 0:
            found.append((row.left, "old"))
        if row.right >= 0:
            found.append((row.right, "new"))
        return found

    def _color_soon(self, *, is_ahead: bool = False) -> None:
        if not self._is_coloring and self.is_mounted:
            self._is_coloring = True
            self.set_timer(PAUSE_SECONDS, self._color_ahead if is_ahead else self._color_seen)

    def _color_seen(self) -> None:
        """Color what is on the screen."""
        self._is_coloring = False
        self.redraw()

    def _color_ahead(self) -> None:
        """Color the next page and the one before, before they are asked for."""
        height = self.size.height
        self._is_coloring = True
        is_done = True
        for first in (self._top + height, self._top - height):
            is_done = is_done and self._color(first, first + height, COLOR_SECONDS)
        self._is_coloring = False
        if not is_done:
            self._color_soon(is_ahead=True)

    # ── the mouse ───────────────────────────────────────────────────────────────────────────────────────────────

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-3)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = self._top + event.y
        if not 0 <= at < len(self._rows):
            return
        while at and not self._is_stop(at) and self._rows[at].part:
            at -= 1
        if not self._is_stop(at):
            return
        if self._geometry.is_split:
            self._side = self._geometry.side_at(event.x)
        is_again = at == self._cursor
        self._go(at)
        if event.chain > 1 and is_again:
            self.post_message(self.Chosen())


def _number(line: DiffLine | None, side: Side) -> int:
    if line is None:
        return 0
    return line.old if side == "old" else line.new
