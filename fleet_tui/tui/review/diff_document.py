"""A diff as laid out in rows, with the lines and comments that they show. Pure: knows no widget and no cursor."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.tui.review.diff_rows import GAP, LINE, DiffRow, Layout, LineNote, changes_in, line_on, rows_of
from fleet_tui.tui.review.place import Place, find, place_of
from fleet_tui.work import DiffLine, Hunk, ReviewComment, Side


class DiffDocument:
    """The rows of one file's diff."""

    def __init__(
        self,
        hunks: Sequence[Hunk],
        layout: Layout,
        comments: Sequence[ReviewComment] = (),
        notes: Sequence[LineNote] = (),
    ) -> None:
        self.hunks = hunks
        self.comments = comments
        self.rows = rows_of(hunks, layout, notes)
        self.changes = changes_in(self.rows, hunks)
        """The first row of each run of changed lines."""

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, at: int) -> DiffRow | None:
        return self.rows[at] if 0 <= at < len(self.rows) else None

    def line(self, at: int, side: Side) -> DiffLine | None:
        """The line of a row on one side."""
        row = self.row(at)
        return line_on(row, self.hunks, side) if row is not None else None

    def side_of(self, at: int, wanted: Side) -> Side:
        """The wanted side, or the other one where the row has a line only there."""
        other: Side = "old" if wanted == "new" else "new"
        return other if self.line(at, wanted) is None and self.line(at, other) is not None else wanted

    def number(self, at: int, side: Side) -> int:
        """The number of a row's line; 0 where it has none on that side."""
        return number_of(self.line(at, side), side)

    def number_up_to(self, at: int, side: Side) -> int:
        """The number of the nearest line at or above a row."""
        above = (self.number(place, side) for place in range(min(at, len(self.rows) - 1), -1, -1))
        return next(filter(None, above), 1)

    def row_with(self, side: Side, number: int) -> int | None:
        """The row that shows the line of that number."""
        is_old = side == "old"
        for at, row in enumerate(self.rows):
            place = row.left if is_old else row.right
            if place >= 0:
                line = self.hunks[row.hunk].lines[place]
                if (line.old if is_old else line.new) == number:
                    return at
        return None

    def is_stop(self, at: int) -> bool:
        """Whether the cursor may stand there: on lines and on the first row of a comment."""
        row = self.rows[at]
        return row.part == 0 and row.kind != GAP

    def stop_near(self, at: int, direction: int) -> int | None:
        """The nearest row in a direction, from this one on, where the cursor may stand."""
        while 0 <= at < len(self.rows):
            if self.is_stop(at):
                return at
            at += direction
        return None

    # ── places that outlive a change of the file ────────────────────────────────────────────────────────────────

    def place(self, at: int, side: Side) -> Place | None:
        """The line of a row, or the nearest above it, as it can be found again."""
        while at > 0 and self.rows[at].kind != LINE:
            at -= 1
        side = self.side_of(at, side)
        number = self.number(at, side)
        return place_of(self.hunks, side, number) if number else None

    def row_of(self, place: Place) -> int | None:
        return self.row_with(place.side, find(self.hunks, place))

    def comment_row(self, comment_id: str) -> int | None:
        """The first row of a comment."""
        found = (
            at
            for at, row in enumerate(self.rows)
            if row.note >= 0 and self.comments[row.note].id == comment_id
        )
        return next(found, None)

    # ── contents ────────────────────────────────────────────────────────────────────────────────────────────────

    def comment_at(self, at: int, side: Side) -> ReviewComment | None:
        """The comment of a row, or the newest one on its line; one that can be changed comes first."""
        row = self.row(at)
        if row is not None and row.note >= 0:
            return self.comments[row.note]
        number = self.number(at, side)
        here = [one for one in self.comments if number and (one.side, one.last) == (side, number)]
        return max(here, key=lambda one: (not one.is_sent, one.created_at), default=None)

    def quoted(self, side: Side, first: int, last: int) -> list[str]:
        """The lines of one side from one number to another, as far as they are shown."""
        missing = "+" if side == "old" else "-"
        lines = (line for hunk in self.hunks for line in hunk.lines if line.sign != missing)
        return [line.text for line in lines if first <= number_of(line, side) <= last]

    def rows_having(self, wanted: str) -> list[int]:
        """The rows whose code has a text, which is in lower case."""
        return [at for at, row in enumerate(self.rows) if self._has(row, wanted)] if wanted else []

    def _has(self, row: DiffRow, wanted: str) -> bool:
        if row.kind != LINE or row.part:
            return False
        lines = self.hunks[row.hunk].lines
        return any(place >= 0 and wanted in lines[place].text.lower() for place in {row.left, row.right})


def number_of(line: DiffLine | None, side: Side) -> int:
    if line is None:
        return 0
    return line.old if side == "old" else line.new
