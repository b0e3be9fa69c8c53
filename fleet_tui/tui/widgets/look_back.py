"""A pane's look at what has left its screen: rows asked from the screen server, or lines from the agent's log.

Owns one look, from its first scrolled row to the return to the present: what is fetched, searched, selected and
copied. Where the cursor goes is decided in `copy_mode`; when to look back, and painting, are the pane's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.strip import Strip

from fleet_tui import wire
from fleet_tui.session import Run
from fleet_tui.transcript import last_lines
from fleet_tui.tui.paint import MARKED, REVERSE, Styles, marked, strip
from fleet_tui.tui.sessions import PaneSession
from fleet_tui.tui.widgets.copy_mode import CopyMode, Past, Place, Row

LOG_LINES = 5000
LEAVING = frozenset({"escape", "q", "ctrl+c"})
"""Keys that are not kept for later: should an answer never come, they are the way out."""

DrawRow = Callable[[Row, int], Strip]
"""Draws a row from a column on, as wide as the pane."""


class LookBack:
    """One look at the past of one session."""

    def __init__(
        self,
        session: PaneSession,
        size: tuple[int, int],
        corner: tuple[int, int],
        *,
        has_cursor: bool,
        changed: Callable[[], None],
        copied: Callable[[str], None],
        left: Callable[[], None],
    ) -> None:
        self._session = session
        self._changed = changed
        self._copied = copied
        self._left = left
        self._held: list[tuple[str, str | None]] | None = None
        """Keys that were pressed while a search is under way: they are meant for where it leads to."""
        self._is_searching = False
        self._width = size[0]
        self.left = corner[0]
        """The column of the screen that is at the pane's left."""
        view = session.view
        screen = [list(line) for line in view.lines]
        self._has_rows = session.is_connected and not view.is_alternate
        """The screen server has the rows above; else only the log knows them."""
        past = Past(screen, view.history if self._has_rows else 0, self._ask_rows)
        x, y = view.cursor[:2]
        self.mode = CopyMode(
            past, max(size[0], view.cols), size[1], has_cursor=has_cursor, at=Place(past.above + y, x)
        )
        self.mode.top = min(past.above + corner[1], self.mode.lowest)
        if not self._has_rows:
            self._load_log(screen)

    # rows

    def _ask_rows(self, start: int, count: int) -> None:
        def take(answer: wire.Message) -> None:
            self._take_rows(answer)
            came = len(answer["lines"])
            if 0 < came < count:
                # As many as fit a message; the others have to be asked for.
                self._ask_rows(start + came, count - came)

        self._session.ask("rows", take, start=start, count=count)

    def _take_rows(self, answer: wire.Message) -> None:
        rows: list[Row] = [
            [(text, tuple(style) if style else None, width) for text, style, width in row]
            for row in answer["lines"]
        ]
        self.mode.past.take(int(answer["start"]), rows)
        self._press_held()
        self._changed()

    def _load_log(self, screen: Sequence[Row]) -> None:
        loop = asyncio.get_running_loop()
        loading = loop.run_in_executor(None, _logged, self._session.folder, screen, self._width)
        loading.add_done_callback(self._take_log)

    def _take_log(self, loading: asyncio.Future[Past]) -> None:
        if not loading.cancelled():
            self.mode.extend(loading.result())
            self._changed()

    # painting

    def resize(self, width: int, height: int) -> None:
        self._width = width
        self.mode.resize(max(width, self._session.view.cols), height)

    def row(self, y: int, draw: DrawRow, styles: Styles) -> Strip:
        """A row of the pane, with what is found and selected in it."""
        mode, left = self.mode, self.left
        number = mode.top + y
        made = draw(mode.past.row(number) or (), left)
        for start, end in mode.matches_in(number):
            made = marked(made, start - left, end - left, MARKED)
        selected = mode.selected_in(number)
        if selected is not None:
            made = marked(made, selected[0] - left, selected[1] - left)
        if mode.has_cursor and mode.cursor.row == number:
            made = marked(made, mode.cursor.col - left, mode.cursor.col - left + 1)
        return self._with_status(made, styles) if y == mode.height - 1 else made

    def _with_status(self, made: Strip, styles: Styles) -> Strip:
        status = self.mode.status()[-self._width :]
        runs: list[Run] = [(status, None, len(status))]
        label = strip(runs, 0, len(status), styles, draws_clusters=False).apply_style(REVERSE)
        return Strip.join([made.crop(0, self._width - len(status)), label])

    # keys and mouse

    def press(self, key: str, character: str | None) -> None:
        """A key in copy mode."""
        if self._held is not None and key not in LEAVING:
            self._held.append((key, character))
            return
        self._held, self._is_searching = None, False
        wish = self.mode.press(key, character)
        if wish == "copy":
            self.copy()
        elif wish == "search":
            self._search(self.mode.needle)
        self._follow_cursor()
        if wish in {"copy", "leave"}:
            self._left()

    def _follow_cursor(self) -> None:
        col = self.mode.cursor.col
        self.left = max(0, min(max(self.left, col - self._width + 1), col))

    def place_at(self, x: int, y: int) -> Place:
        """The cell that is at a place of the pane, or at its edge nearest to it."""
        row = self.mode.top + max(0, min(y, self.mode.height - 1))
        return Place(row, self.left + max(0, min(x, self._width - 1)))

    def drag(self, start: tuple[int, int], x: int, y: int) -> None:
        """Select from where the drag began to the pointer; beyond an edge, scroll."""
        mode = self.mode
        if mode.anchor is None:
            mode.anchor, mode.is_by_line = self.place_at(*start), False
        if y < 0:
            mode.scroll(-y)
        elif y >= mode.height:
            mode.scroll(mode.height - 1 - y)
        mode.cursor = self.place_at(x, y)

    # search and copy

    def _search(self, needle: str) -> None:
        if not self._has_rows:
            self.mode.found(needle, self.mode.past.find(needle))
            return

        def take(answer: wire.Message) -> None:
            found = [(int(row), int(col), int(width)) for row, col, width in answer["found"]]
            self.mode.found(needle, [match for match in found if match[0] < self.mode.past.total])
            self._follow_cursor()
            self._is_searching = False
            self._press_held()
            self._changed()

        self._held, self._is_searching = [], True
        self._session.ask("find", take, text=needle)

    def _press_held(self) -> None:
        """What is found has to be here before anything can be done with it."""
        if self._held is None or self._is_searching or self.mode.past.row(self.mode.cursor.row) is None:
            return
        held, self._held = self._held, None
        for key, character in held:
            self.press(key, character)

    def copy(self) -> None:
        """Have what is selected copied."""
        selection = self.mode.selection
        if selection is None:
            return
        start, end = selection
        if not (self._has_rows and end.row < self.mode.past.above):
            self._copied(self.mode.past.copied(start, end) or "")
            return
        # Only the screen server knows which rows are one line that was wrapped.
        self._session.ask(
            "copy",
            lambda answer: self._copied(str(answer["text"])),
            start=[start.row, start.col],
            end=[end.row, end.col],
        )


def _logged(folder: Path, screen: Sequence[Row], width: int) -> Past:
    """The log above the screen, without the lines at its end that are on the screen too."""
    lines = last_lines(folder, LOG_LINES)
    shown = ["".join(text for text, _, _ in row).rstrip() for row in screen]
    while shown and not shown[-1]:
        shown.pop()
    if shown and lines[-len(shown) :] == shown:
        lines = lines[: -len(shown)]
    return Past.of_lines(lines, screen, width)
