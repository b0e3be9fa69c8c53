"""The list of a timeline: states of an agent's files, joined by a line; on a narrow screen one line each."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.review.timeline_rows import (
    ROW_HEIGHT,
    TimelineRow,
    connecting_line,
    first_line,
    second_line,
    short_line,
)
from fleet_tui.tui.widgets.lines import Line, LineView


class TimelinePanel(LineView):
    class Clicked(Message):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: Sequence[TimelineRow] = ()
        self._sentence: Sequence[Line] = ()
        self._selected = 0
        self._marked: frozenset[int] = frozenset()
        self._top = 0
        self.is_short = False

    def show(
        self, rows: Sequence[TimelineRow], selected: int, marked: frozenset[int], sentence: Sequence[Line]
    ) -> None:
        """Show rows, with the numbers of those that are marked, and a sentence below."""
        self._rows, self._selected, self._marked, self._sentence = rows, selected, marked, sentence
        self._reveal()
        self.redraw()

    @property
    def _height(self) -> int:
        return 1 if self.is_short else ROW_HEIGHT

    def _reveal(self) -> None:
        height = max(1, self.size.height)
        first = self._selected * self._height
        shown = 1 if self.is_short else ROW_HEIGHT - 1
        self._top = max(first + shown - height, min(self._top, first))
        self._top = max(0, min(self._top, self._total - height))

    def on_resize(self) -> None:
        self._reveal()
        super().on_resize()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = [self._line(at, width) for at in range(self._top, min(self._top + height, self._total))]
        return [*found, *self._sentence]

    @property
    def _total(self) -> int:
        """The height of all rows."""
        return max(0, len(self._rows) * self._height - (0 if self.is_short else 1))

    def _line(self, at: int, width: int) -> Line:
        place, part = divmod(at, self._height)
        if place >= len(self._rows):
            return ()
        row, is_here = self._rows[place], place == self._selected
        is_marked, is_last = row.number in self._marked, place == len(self._rows) - 1
        if self.is_short:
            return short_line(row, width, is_here=is_here, is_marked=is_marked)
        if part == 0:
            return first_line(row, width, is_here=is_here, is_marked=is_marked)
        if part == 1:
            return second_line(row, width, is_here=is_here, is_last=is_last)
        return () if is_last else connecting_line(width)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        place = (self._top + event.y) // self._height
        if place < len(self._rows):
            self.post_message(self.Clicked(place))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(event, -3)

    def _scroll(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        self._top = max(0, min(self._top + rows, self._total - max(1, self.size.height)))
        self.redraw()
