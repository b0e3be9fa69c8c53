"""The widget that shows one file's diff: a cursor on a line, a place that survives changes of the file, colors as they come.

Draws only visible rows. What it shows is given to it (`show`); what the user does with it is the screen's business. One class, because
cursor, scrolling and drawing change together; rows and lines are in `diff_document`.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.review.comment_lines import lines_for
from fleet_tui.tui.review.diff_document import DiffDocument
from fleet_tui.tui.review.diff_paint import SPLIT_FROM, Colors, DiffPaint, Marks, geometry_for
from fleet_tui.tui.review.diff_rows import LINE, NOTE, DiffRow, Layout, LineNote
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
        self.language = ""
        """The language that the code is colored as; empty if it is not known."""
        self._comments: Sequence[ReviewComment] = ()
        self._sentence: Sequence[Line] = ()
        self._unsent = 0
        self._now = 0.0
        self._colors = Colors((), "")
        self._geometry = geometry_for(80, (), is_split=False)
        self._paint = DiffPaint((), self._geometry, self._colors, (), ())
        self.document = DiffDocument((), Layout(is_split=False))
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
        self.wanted = ""
        """What is searched for, in lower case."""
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
        """Show a diff. If it is one of the same file, the cursor stays on its line, and the line where it is on the screen."""
        kept = self._keep() if is_same_file else None
        start = place_of(self._hunks, *self._start) if self._start is not None and is_same_file else None
        if hunks is not self._hunks or language != self.language:
            self._colors = Colors(hunks, language)
        self._hunks, self.language, self._comments = hunks, language, comments
        self._unsent, self._now, self._sentence = unsent, now, sentence
        self._start = (start.side, find(hunks, start)) if start is not None else None
        self._lay_out()
        if kept is not None:
            self._restore(*kept)
        else:
            self._side, self._offset, self._top = "new", 0, 0
            self._cursor = next(iter(self.document.changes), self.document.stop_near(0, 1) or 0)
            self._reveal(center=True)
        self._tell()

    def _lay_out(self) -> None:
        is_split = self.is_split
        self._geometry = geometry = geometry_for(self.size.width, self._hunks, is_split=is_split)
        blocks = [
            lines_for(one, geometry.note_width(one.side), self._unsent, self._now) for one in self._comments
        ]
        sized = zip(self._comments, blocks, strict=True)
        notes = [LineNote(one.side, one.last, len(block)) for one, block in sized]
        layout = Layout(is_split, geometry.code_width if self.is_wrapped else 0)
        self.document = DiffDocument(self._hunks, layout, self._comments, notes)
        self._paint = DiffPaint(
            self._hunks, geometry, self._colors, notes, blocks,
            is_wrapped=self.is_wrapped, is_ansi=self.app.current_theme.ansi,
        )  # fmt: skip
        self._drawn_rows.clear()
        self._hits = self.document.rows_having(self.wanted)

    def on_mount(self) -> None:
        # Textual calls the base's handler too, which draws again.
        self.app.theme_changed_signal.subscribe(self, lambda _: self._again(lambda: None))

    def on_resize(self) -> None:
        self._again(lambda: None)

    @property
    def is_split(self) -> bool:
        """Whether old and new are side by side: where there is room, and both have lines."""
        if self._wants_split is not None:
            return self._wants_split
        has_both = any(one.old_count for one in self._hunks) and any(one.new_count for one in self._hunks)
        return has_both and self.size.width >= SPLIT_FROM

    def toggle_split(self) -> None:
        def toggle() -> None:
            self._wants_split = not self.is_split

        self._again(toggle)

    def toggle_wrap(self) -> None:
        def toggle() -> None:
            self._offset, self.is_wrapped = 0, not self.is_wrapped

        self._again(toggle)

    def _again(self, change: Callable[[], None]) -> None:
        """Lay out anew after a change; the place stays."""
        kept = self._keep()
        change()
        self._lay_out()
        self._restore(*kept)
        self._tell()

    # ── keeping the place ───────────────────────────────────────────────────────────────────────────────────────

    def _keep(self) -> tuple[Place | None, str, int]:
        """The line with the cursor, the comment with the cursor, and the cursor's row on the screen."""
        row = self.document.row(self._cursor)
        if row is None:
            return None, "", 0
        comment = self.document.comments[row.note].id if row.kind == NOTE else ""
        return self.document.place(self._cursor, self._side), comment, self._cursor - self._top

    def _restore(self, place: Place | None, comment: str, height: int) -> None:
        found = self.document.comment_row(comment) if comment else None
        if found is None and place is not None:
            found = self.document.row_of(place)
        self._cursor = found if found is not None else self.document.stop_near(0, 1) or 0
        self._top = self._cursor - height
        self._clamp()

    # ── where the cursor is ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def side(self) -> Side:
        """The side that the cursor is on: the other one where its own has no line."""
        return self.document.side_of(self._cursor, self._side)

    @property
    def line(self) -> DiffLine | None:
        """The line with the cursor."""
        return self.document.line(self._cursor, self.side)

    @property
    def number(self) -> int:
        """The line's number on its side; 0 where the cursor is on no line."""
        return self.document.number(self._cursor, self.side)

    @property
    def new_number(self) -> int:
        """The line in the new file that is at the cursor, or the nearest before it."""
        return self.document.number_up_to(self._cursor, "new")

    @property
    def comment(self) -> ReviewComment | None:
        """The comment with the cursor, or one on its line."""
        return self.document.comment_at(self._cursor, self.side)

    @property
    def is_choosing(self) -> bool:
        return self._start is not None

    @property
    def chosen(self) -> tuple[Side, int, int] | None:
        """The chosen range of lines, or the line with the cursor: its side, its first and its last number."""
        if self._start is not None:
            side, start = self._start
            end = self.document.number_up_to(self._cursor, side)
            return side, min(start, end), max(start, end)
        return (self.side, self.number, self.number) if self.number else None

    @property
    def change(self) -> tuple[int, int]:
        """The number of the change at or before the cursor, and how many there are."""
        return bisect_right(self.document.changes, self._cursor), len(self.document.changes)

    @property
    def hits(self) -> tuple[int, int]:
        """The number of the place that the search stands at, and how many there are."""
        return bisect_right(self._hits, self._cursor), len(self._hits)

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────

    def move(self, step: int) -> None:
        """Move the cursor by so many rows."""
        if not len(self.document):
            return
        direction = 1 if step > 0 else -1
        at = max(0, min(len(self.document) - 1, self._cursor + step))
        found = self.document.stop_near(at, direction)
        if found is None:
            # Beyond the last line: the rows there are shown at least.
            found = self.document.stop_near(at, -direction)
            self._top += step
        self._go(found if found is not None else self._cursor)

    def page(self, direction: int) -> None:
        rows = direction * max(1, self.size.height - 2)
        self._top += rows
        self.move(rows)

    def to_edge(self, direction: int) -> None:
        self.move(direction * (len(self.document) + 1))

    def to_change(self, direction: int, *, first: bool = False) -> bool:
        """Go to the next or previous change; returns False if there is none. `first` goes to the first or last one."""
        starts = self.document.changes if direction > 0 else self.document.changes[::-1]
        return self._jump(next((at for at in starts if first or (at - self._cursor) * direction > 0), None))

    def to_comment(self, direction: int) -> bool:
        """Go to the next or previous comment; returns False if there is none."""
        at = self._cursor + direction
        while (row := self.document.row(at)) is not None and (row.kind != NOTE or row.part):
            at += direction
        return self._jump(at if row is not None else None)

    def to_side(self, side: Side) -> None:
        self._side = side
        self._tell()

    def sideways(self, direction: int) -> None:
        if not self.is_wrapped:
            self._offset = max(0, self._offset + direction * STEP)
            self._drawn_rows.clear()
            self.redraw()

    def _jump(self, at: int | None) -> bool:
        if at is None:
            return False
        self._cursor = at
        self._reveal(center=True)
        self._tell()
        return True

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
        while (row := self.document.row(bottom + 1)) is not None and row.part:
            bottom += 1
        self._top = min(self._top, self._cursor - margin)
        self._top = max(self._top, min(bottom, self._cursor + height // 2) + margin - height + 1)
        self._clamp()

    def _clamp(self) -> None:
        self._top = max(0, min(self._top, len(self.document) - max(1, self.size.height)))

    def _scroll(self, rows: int) -> None:
        """Scroll; the cursor stays in sight."""
        self._top += rows
        self._clamp()
        at = max(self._top, min(self._cursor, self._top + max(1, self.size.height) - 1))
        found = self.document.stop_near(at, 1 if at >= self._cursor else -1)
        self._cursor = found if found is not None else self._cursor
        self._tell()

    def _tell(self) -> None:
        self.redraw()
        self.post_message(self.Moved())

    # ── choosing and searching ──────────────────────────────────────────────────────────────────────────────────

    def choose(self, *, is_on: bool) -> None:
        """Begin a range at the cursor, or give it up."""
        self._start = (self.side, self.number) if is_on and self.number else None
        self._tell()

    def search(self, text: str) -> bool:
        """Go to the first place at or after the cursor that has the text; returns whether there is one."""
        self.wanted = text.lower()
        self._drawn_rows.clear()
        self._hits = self.document.rows_having(self.wanted)
        found = next((at for at in self._hits if at >= self._cursor), next(iter(self._hits), None))
        self._tell()
        return not text or self._to_hit(found)

    def find(self, direction: int) -> bool:
        """Go to the next or previous place that has the text, beyond the end from the beginning on."""
        hits = self._hits if direction > 0 else self._hits[::-1]
        found = next((at for at in hits if (at - self._cursor) * direction > 0), next(iter(hits), None))
        return self._to_hit(found)

    def _to_hit(self, at: int | None) -> bool:
        line = self.document.line(at, self._side) if at is not None else None
        if at is not None and (line is None or self.wanted not in line.text.lower()):
            self._side = "old" if self._side == "new" else "new"
        return self._jump(at)

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not len(self.document):
            return self._sentence
        self.color(self._top, self._top + height, COLOR_SECONDS)
        return [self._line(at) for at in range(self._top, min(len(self.document), self._top + height))]

    def _line(self, at: int) -> Line:
        row = self.document.rows[at]
        side = self._marked(at, row)
        if side is None:
            known = self._drawn_rows.get(at)
            if known is None:
                known = self._paint.draw(row, Marks(None, self.wanted), self._offset)
                if all(self._colors.of(row.hunk, *one) is not None for one in self._sides(row)):
                    self._drawn_rows[at] = known
            return known
        is_found = bool(self.wanted) and at == self._cursor
        return self._paint.draw(row, Marks(side, self.wanted, is_found), self._offset)

    def _marked(self, at: int, row: DiffRow) -> Side | None:
        """The side with the cursor or with a part of the chosen range."""
        if at == self._cursor or (row.part and row.kind == LINE and at - row.part == self._cursor):
            return self.side
        chosen = self.chosen if self._start is not None else None
        if chosen is not None and chosen[1] <= self.document.number(at, chosen[0]) <= chosen[2]:
            return chosen[0]
        return None

    def color(self, first: int, end: int, seconds: float) -> bool:
        """Color these rows for so long; what is missing then comes soon. Returns whether all are colored."""
        until = time.monotonic() + seconds
        for at in range(max(0, first), min(end, len(self.document))):
            row = self.document.rows[at]
            for place, side in self._sides(row):
                while self._colors.of(row.hunk, place, side) is None:
                    if time.monotonic() > until:
                        self._soon(self._color_seen)
                        return False
                    self._colors.learn(row.hunk, place, side)
        self._soon(self._color_ahead)
        return True

    def _sides(self, row: DiffRow) -> list[tuple[int, Side]]:
        """The lines of a row that are drawn."""
        if row.kind != LINE:
            return []
        if not self._geometry.is_split and row.right >= 0:
            return [(row.right, "new")]
        both: tuple[tuple[int, Side], ...] = ((row.left, "old"), (row.right, "new"))
        return [(place, side) for place, side in both if place >= 0]

    def _soon(self, work: Callable[[], None]) -> None:
        if not self._is_coloring and self.is_mounted:
            self._is_coloring = True
            self.set_timer(PAUSE_SECONDS, work)

    def _color_seen(self) -> None:
        """Color what is on the screen."""
        self._is_coloring = False
        self.redraw()

    def _color_ahead(self) -> None:
        """Color the next page and the one before, before they are asked for."""
        height = self.size.height
        pages = (self._top + height, self._top - height)
        is_done = all(self.color(first, first + height, COLOR_SECONDS) for first in pages)
        self._is_coloring = False
        if not is_done:
            self._soon(self._color_ahead)

    # ── the mouse ───────────────────────────────────────────────────────────────────────────────────────────────

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-3)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        row = self.document.row(self._top + event.y)
        if row is None:
            return
        at = self._top + event.y - row.part
        if not self.document.is_stop(at):
            return
        if self._geometry.is_split:
            self._side = self._geometry.side_at(event.x)
        is_again = at == self._cursor
        self._go(at)
        if event.chain > 1 and is_again:
            self.post_message(self.Chosen())
