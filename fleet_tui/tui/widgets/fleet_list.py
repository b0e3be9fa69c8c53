"""The list of agents: shows rows, keeps the selected one visible, posts clicks."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.widgets.lines import Line, LineView
from fleet_tui.tui.widgets.row_lines import Drawn, Look, draw
from fleet_tui.tui.widgets.rows import AgentRow, BatchRow, ListRow

WHEEL_LINES = 3


class FleetList(LineView):
    """Shows rows on as many lines as there is room for."""

    class Selected(Message):
        """An agent was clicked; a double click opens it."""

        def __init__(self, agent: str, *, is_double: bool) -> None:
            super().__init__()
            self.agent = agent
            self.is_double = is_double

    class Folded(Message):
        """The heading of a batch was clicked."""

        def __init__(self, key: tuple[str, str]) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The list was scrolled."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: tuple[ListRow, ...] = ()
        self._look = Look()
        self._drawn_rows: list[Drawn] = []
        self._drawn_from: tuple[ListRow, ...] = ()
        """The rows that the lines were drawn from; the current rows may differ."""
        self._top = 0
        self._empty: Sequence[Line] = ()

    def show(self, rows: tuple[ListRow, ...], look: Look, *, empty: Sequence[Line] = ()) -> None:
        """Show these rows, or the lines of `empty` when there are none.

        A selected row in view stays in view when rows appear or vanish above it. One that the user has scrolled away
        from stays out of view, until another is selected.
        """
        follows = look.selected != self._look.selected or self._shows_selected
        self._rows, self._look, self._empty = rows, look, empty
        self.redraw()
        if follows:
            self.reveal()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self._rows:
            self._drawn_rows = []
            return self._empty
        self._drawn_from = self._rows
        self._drawn_rows = draw(self._rows, self._look, width, height)
        self._top = max(0, min(self._top, len(self._drawn_rows) - height))
        return [line for line, _ in self._drawn_rows[self._top : self._top + height]]

    @property
    def hidden(self) -> tuple[int, int]:
        """The number of lines above and below the visible ones."""
        return self._top, max(0, len(self._drawn_rows) - self._top - self.size.height)

    def reveal(self) -> None:
        """Scroll just far enough to make the selected row visible, with its batch's heading if possible."""
        places = self._places_of_selected()
        if not places or not self.size.height:
            return
        first, last = places[0], places[-1]
        top = self._top
        if last >= top + self.size.height:
            top = last - self.size.height + 1
        if first - 1 < top:
            top = max(0, first - 1)
        if top != self._top:
            self._top = top
            self.redraw()
            self.post_message(self.Moved())

    def _places_of_selected(self) -> list[int]:
        """Its lines, counted from the first line of the list."""
        return [
            y
            for y, (_, index) in enumerate(self._drawn_rows)
            if isinstance(row := self._drawn_from[index], AgentRow) and row.agent.id == self._look.selected
        ]

    @property
    def _shows_selected(self) -> bool:
        """Whether the whole selected row is in view."""
        places = self._places_of_selected()
        return bool(places) and self._top <= places[0] and places[-1] < self._top + self.size.height

    def y_of_selected(self) -> int:
        """The screen line of the selected row."""
        visible = [y for y in self._places_of_selected() if y >= self._top]
        return self.region.y + (visible[0] - self._top if visible else 0)

    def on_resize(self) -> None:
        super().on_resize()
        self.reveal()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        y = event.y + self._top
        if y >= len(self._drawn_rows):
            return
        row = self._drawn_from[self._drawn_rows[y][1]]
        if isinstance(row, AgentRow):
            self.post_message(self.Selected(row.agent.id, is_double=event.chain >= 2))
        elif isinstance(row, BatchRow):
            self.post_message(self.Folded(row.key))

    def on_mouse_scroll_down(self) -> None:
        self._scroll(WHEEL_LINES)

    def on_mouse_scroll_up(self) -> None:
        self._scroll(-WHEEL_LINES)

    def _scroll(self, lines: int) -> None:
        top = max(0, min(self._top + lines, len(self._drawn_rows) - self.size.height))
        if top != self._top:
            self._top = top
            self.redraw()
            self.post_message(self.Moved())
