"""Panels of the screens of a landing: lines that are computed for the panel's size, scrolled if there are more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.widgets.lines import Line, LineView

Compute = Callable[[int, int], Sequence[Line]]


class LinesPanel(LineView):
    """Shows what `compute` returns for a width and a height."""

    class Clicked(Message):
        def __init__(self, panel: LinesPanel, row: int) -> None:
            super().__init__()
            self.panel, self.row = panel, row

    def __init__(self, compute: Compute, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._compute = compute
        self.top = 0
        self._count = 0

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = list(self._compute(width, height))
        self._count = len(found)
        self.top = max(0, min(self.top, self._count - height))
        return found[self.top : self.top + height]

    def scroll(self, step: int) -> None:
        self.top = max(0, min(self.top + step, self._count - self.size.height))
        self.redraw()

    def show(self, first: int, last: int) -> None:
        """Scroll so that these rows are visible."""
        if first < self.top or last - first >= self.size.height:
            self.top = first
        elif last >= self.top + self.size.height:
            self.top = last - self.size.height + 1
        self.redraw()

    def on_mouse_scroll_down(self) -> None:
        self.scroll(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll(-3)

    def on_click(self, event: events.Click) -> None:
        self.post_message(self.Clicked(self, self.top + event.y))
