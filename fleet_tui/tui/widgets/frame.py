"""A rounded frame with titles in its edges: name on the left, state on the right, the line between."""

from __future__ import annotations

from collections.abc import Sequence

from textual.containers import Container
from textual.geometry import Region

from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.lines import Line, edge, keys, length


class Frame(ErrorBoundary, Container):
    """Contains one widget; titles are lines, built to the width of the frame."""

    def __init__(self, *, id: str | None = None, classes: str = "") -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=f"frame {classes}".strip())
        self._tops: tuple[tuple[Line, Line], ...] = (((), ()),)
        self._bottom: tuple[Line, Line] = ((), ())
        self._entries: tuple[tuple[tuple[str, str], ...], Line] = ((), ())
        self._edges: tuple[object, ...] = ()
        self.edge_line = "─"

    def title(self, left: Line, right: Line = (), *shorter: tuple[Line, Line]) -> None:
        """Set the title; where it does not fit, the first of the shorter ones that does is shown."""
        self._tops = ((left, right), *shorter)
        self._draw_edges()

    def foot(self, left: Line = (), right: Line = ()) -> None:
        self._bottom = (left, right)
        self._draw_edges()

    def foot_keys(self, entries: Sequence[tuple[str, str]], right: Line = ()) -> None:
        """Set keys on the left of the lower edge: whole ones, as many as fit; the last one closes it and is dropped last."""
        self._entries = (tuple(entries), right)
        self._draw_edges()

    def on_resize(self) -> None:
        self._draw_edges()

    def _title_for(self, width: int) -> tuple[Line, Line]:
        fitting = (pair for pair in self._tops if length(pair[0]) + length(pair[1]) + 3 <= width)
        return next(fitting, self._tops[-1])

    def _whole_keys(self, width: int) -> tuple[Line, Line]:
        entries, right = list(self._entries[0]), self._entries[1]
        while entries and length(keys(*entries)) > width - length(right) - 4:
            entries.pop(-2 if len(entries) > 1 else -1)
        return keys(*entries), right

    def _draw_edges(self) -> None:
        width = self.outer_size.width - 6
        if self._entries[0]:
            self._bottom = self._whole_keys(width)
        top = self._title_for(width)
        wanted = (top, self._bottom, width, self.edge_line)
        if width <= 4 or wanted == self._edges:
            return
        before, self._edges = self._edges, wanted
        # Setting `border_title` would repaint the frame and its contents, four times a second for one glyph.
        self._border_title = edge(*top, width, line=self.edge_line)
        self._border_subtitle = edge(*self._bottom, width, line=self.edge_line)
        if before and before[2:] == wanted[2:]:
            self._refresh_edges(top=before[0] != wanted[0], bottom=before[1] != wanted[1])
        else:
            self.refresh()

    def _refresh_edges(self, *, top: bool, bottom: bool) -> None:
        width, height = self.outer_size
        rows = [*([0] if top else []), *([height - 1] if bottom else [])]
        # Regions are relative to the content; borders are outside of it.
        x, y = self.content_offset
        self.refresh(*(Region(-x, row - y, width, 1) for row in rows))
