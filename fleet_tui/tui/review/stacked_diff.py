"""The widget that shows the diffs of several files below each other, unified, to be read and scrolled.

Draws only visible rows, with the colors that are known by then; the others come soon.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from textual import events

from fleet_tui.tui.review.code_colors import language_of
from fleet_tui.tui.review.diff_paint import Colors, DiffPaint, Marks, geometry_for
from fleet_tui.tui.review.diff_rows import LINE, DiffRow, Layout, rows_of
from fleet_tui.tui.review.sentences import without_lines
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, cut_line
from fleet_tui.work import ChangedFile, Diff, FileDiff, Side

COLOR_SECONDS = 0.008
"""How long coloring may take at a time."""
PAUSE_SECONDS = 0.012
NO_MARKS = Marks()


class _File(NamedTuple):
    """One file, ready to be drawn."""

    diff: FileDiff
    colors: Colors
    paint: DiffPaint


class StackedDiff(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._diff: Diff | None = None
        self._shown: Sequence[FileDiff] = ()
        self._sentence: Sequence[Line] = ()
        self._files: list[_File] = []
        self._rows: list[tuple[int, DiffRow | Line]] = []
        """Rows of files by the place of the file, and lines between them."""
        self._top = 0
        self._is_coloring = False

    def show(self, diff: Diff | None, files: Sequence[FileDiff], sentence: Sequence[Line], *, is_same: bool) -> None:  # fmt: skip
        """Show the lines of some files of a diff. If it is the same as before, it stays scrolled."""
        if diff == self._diff and files == self._shown and sentence == self._sentence:
            return
        self._diff, self._shown, self._sentence = diff, files, sentence
        if not is_same:
            self._top = 0
        self._lay_out()
        self.redraw()

    def _lay_out(self) -> None:
        self._files, self._rows = [], []
        width = self.size.width
        for place, diff in enumerate(self._shown):
            first = diff.hunks[0].lines[0].text if diff.hunks and diff.hunks[0].lines else ""
            colors = Colors(diff.hunks, language_of(diff.file.path, first))
            geometry = geometry_for(width, diff.hunks, is_split=False)
            paint = DiffPaint(diff.hunks, geometry, colors, (), (), is_ansi=self.app.current_theme.ansi)
            self._files.append(_File(diff, colors, paint))
            if place:
                self._rows.append((place, ()))
            self._rows.append((place, _heading(diff.file, width)))
            found = rows_of(diff.hunks, Layout(is_split=False))
            # The first sentence says why; the others are about keys of the review.
            said = without_lines(diff)[1:2] if not found else []
            self._rows += [(place, row) for row in found]
            self._rows += [(place, line) for line in said]
        rest = [one.path for one in (self._diff.files if self._diff else ())][len(self._shown) :]
        if rest:
            self._rows += [(0, ()), (0, ((f"  {len(rest)} more files", "muted"),))]
            self._rows += [(0, cut_line(((f"    {clean(path)}", "muted"),), width)) for path in rest]

    def on_resize(self) -> None:
        self._lay_out()
        self._clamp()
        super().on_resize()

    def _clamp(self) -> None:
        self._top = max(0, min(self._top, len(self._rows) - max(1, self.size.height)))

    def scroll_rows(self, rows: int) -> None:
        self._top += rows
        self._clamp()
        self.redraw()

    def page(self, direction: int) -> None:
        self.scroll_rows(direction * max(1, self.size.height - 2))

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self._rows:
            return self._sentence
        self._color(time.monotonic() + COLOR_SECONDS, height)
        return [self._line(*one) for one in self._rows[self._top : self._top + height]]

    def _line(self, place: int, row: DiffRow | Line) -> Line:
        return self._files[place].paint.draw(row, NO_MARKS) if isinstance(row, DiffRow) else row

    def _color(self, until: float, height: int) -> None:
        """Color visible rows until then; what is missing comes soon."""
        for place, row in self._rows[self._top : self._top + height]:
            if not isinstance(row, DiffRow) or row.kind != LINE:
                continue
            side: Side = "new" if row.right >= 0 else "old"
            at = row.right if row.right >= 0 else row.left
            colors = self._files[place].colors
            while colors.of(row.hunk, at, side) is None:
                if time.monotonic() > until:
                    self._color_soon()
                    return
                colors.learn(row.hunk, at, side)

    def _color_soon(self) -> None:
        if not self._is_coloring and self.is_mounted:
            self._is_coloring = True
            self.set_timer(PAUSE_SECONDS, self._color_now)

    def _color_now(self) -> None:
        self._is_coloring = False
        self.redraw()

    # ── the mouse ───────────────────────────────────────────────────────────────────────────────────────────────

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-3)


def _heading(file: ChangedFile, width: int) -> Line:
    was: Line = ((f"  was {clean(file.old_path)}", "muted"),) if file.old_path else ()
    gone: Line = (("  deleted", "muted"),) if file.kind == "deleted" else ()
    counts: Line = (
        (f"+{file.added}" if file.added else "", "success"),
        (f"{f'−{file.removed}' if file.removed else '':>5}", "error"),
        (" ", ""),
    )
    return both_ends(((" ", ""), (clean(file.path), "bold"), *was, *gone), counts, width)
