"""The list of changed files; a click selects one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message

from fleet_tui.tui.review.file_rows import FileMarks, FileRow, paint, rows_for
from fleet_tui.tui.widgets.lines import Line, LineView
from fleet_tui.work import ChangedFile


class FilesPanel(LineView):
    class Clicked(Message):
        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    class Scrolled(Message):
        """Another part of the list is in view."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._files: Sequence[ChangedFile] = ()
        self._left_out: Sequence[str] = ()
        self._rows: list[FileRow] = []
        self._selected = 0
        self._marks: Callable[[ChangedFile], FileMarks] = lambda _: FileMarks()
        self._top = 0

    def show(
        self,
        files: Sequence[ChangedFile],
        left_out: Sequence[str],
        selected: int,
        marks: Callable[[ChangedFile], FileMarks],
    ) -> None:
        if files is not self._files or left_out != self._left_out:
            self._rows = rows_for(files, left_out)
        has_moved = selected != self._selected or files is not self._files
        self._files, self._left_out, self._selected, self._marks = files, left_out, selected, marks
        if has_moved:
            self._reveal()
        self.redraw()

    @property
    def hidden(self) -> tuple[int, int]:
        """The number of rows above and below the visible ones."""
        return self._top, max(0, len(self._rows) - self._top - max(1, self.size.height))

    def _reveal(self) -> None:
        height = max(1, self.size.height)
        at = next((at for at, row in enumerate(self._rows) if row.place == self._selected), 0)
        # The heading of the first file of a folder stays in sight.
        first = at - 1 if at and self._rows[at - 1].heading else at
        below = min(at + 1, len(self._rows) - 1)
        self._top = max(below - height + 1, min(self._top, first))
        self._clamp()

    def _clamp(self) -> None:
        self._top = max(0, min(self._top, len(self._rows) - max(1, self.size.height)))
        self.post_message(self.Scrolled())

    def on_resize(self) -> None:
        self._reveal()
        super().on_resize()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = []
        for row in self._rows[self._top : self._top + height]:
            file = self._files[row.place] if row.place >= 0 else None
            marks = self._marks(file) if file is not None else FileMarks()
            found.append(
                paint(row, file, marks, width, is_here=row.place == self._selected and file is not None)
            )
        return found

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = self._top + event.y
        if at < len(self._rows) and self._rows[at].place >= 0:
            self.post_message(self.Clicked(self._rows[at].place))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._scroll(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._scroll(event, -3)

    def _scroll(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        self._top += rows
        self._clamp()
        self.redraw()
