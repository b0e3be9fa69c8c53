"""The scrollback of a pane: rows requested from the screen server, or lines of the agent's log.

Owns one look, from its first scrolled row to the return to the present: what is fetched, searched, selected and
copied. Where the cursor goes is decided in `copy_mode`; when to look back, and painting, are the pane's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.strip import Strip

from fleet_tui.holder import wire
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.terminal.view import Run
from fleet_tui.tui.panes.connection import PaneConnection
from fleet_tui.tui.panes.copy_mode import CopyMode, CopyPosition, RunRow, ScrolledRows
from fleet_tui.tui.panes.painting import REVERSE, Styles, marked, strip

LOG_LINES = 5000
LEAVING = frozenset({"escape", "q", "ctrl+c"})
"""Keys that are never held back: they leave even if no answer comes."""

DrawRow = Callable[[RunRow, int], Strip]
"""Draws a row from a column on, as wide as the pane."""


class Scrollback:
    """One visit to the scrollback of one connection."""

    def __init__(
        self,
        connection: PaneConnection,
        size: tuple[int, int],
        corner: tuple[int, int],
        *,
        has_cursor: bool,
        changed: Callable[[], None],
        copied: Callable[[str], None],
        left: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._changed = changed
        self._copied = copied
        self._left = left
        self._held: list[tuple[str, str | None]] | None = None
        """Keys pressed during a search, held back until its result is shown."""
        self._is_searching = False
        self._width = size[0]
        self.left = corner[0]
        """The column of the screen that is at the pane's left."""
        view = connection.view
        screen = [list(line) for line in view.lines]
        self._has_rows = connection.is_connected and not view.is_alternate
        """The screen server has the rows above; else only the log has them."""
        past = ScrolledRows(screen, view.history if self._has_rows else 0, self._ask_rows)
        x, y = view.cursor[:2]
        self.mode = CopyMode(
            past, max(size[0], view.cols), size[1], has_cursor=has_cursor, at=CopyPosition(past.above + y, x)
        )
        self.mode.top = min(past.above + corner[1], self.mode.lowest)
        self.is_loading = not self._has_rows
        """There may be more above than is known yet."""
        if self.is_loading:
            self._load_log(screen)

    def is_present(self, top: int) -> bool:
        """Whether nothing older is visible than in the present, when this row of the screen is at the pane's top."""
        return self.mode.top >= min(self.mode.lowest, self.mode.past.above + top)

    # rows

    def _ask_rows(self, start: int, count: int) -> None:
        def take(answer: wire.Message) -> None:
            self._take_rows(answer)
            came = len(answer["lines"])
            if 0 < came < count:
                # One message holds only so many rows: request the others.
                self._ask_rows(start + came, count - came)

        self._connection.ask("rows", take, start=start, count=count)

    def _take_rows(self, answer: wire.Message) -> None:
        rows: list[RunRow] = [
            [(text, tuple(style) if style else None, width) for text, style, width in row]
            for row in answer["lines"]
        ]
        self.mode.past.take(int(answer["start"]), rows)
        self._press_held()
        self._changed()

    def _load_log(self, screen: Sequence[RunRow]) -> None:
        loop = asyncio.get_running_loop()
        loading = loop.run_in_executor(None, _logged, self._connection.folder, screen, self._width)
        loading.add_done_callback(self._take_log)

    def _take_log(self, loading: asyncio.Future[ScrolledRows]) -> None:
        self.is_loading = False
        if not loading.cancelled():
            self.mode.extend(loading.result())
            self._changed()

    # painting

    def resize(self, width: int, height: int) -> None:
        self._width = width
        self.mode.resize(max(width, self._connection.view.cols), height)

    def row(self, y: int, draw: DrawRow, styles: Styles) -> Strip:
        """Draw a row of the pane, with its matches and selection."""
        mode, left = self.mode, self.left
        number = mode.top + y
        made = draw(mode.past.row(number) or (), left)
        for start, end in mode.matches_in(number):
            made = marked(made, start - left, end - left, is_bold=True)
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
        """Act on a key of copy mode."""
        if self._held is not None and key not in LEAVING:
            self._held.append((key, character))
            return
        self._held, self._is_searching = None, False
        outcome = self.mode.press(key, character)
        if outcome == "copy":
            self.copy()
        elif outcome == "search":
            self._search(self.mode.needle)
        self._follow_cursor()
        if outcome in {"copy", "leave"}:
            self._left()

    def _follow_cursor(self) -> None:
        col = self.mode.cursor.col
        self.left = max(0, min(max(self.left, col - self._width + 1), col))

    def place_at(self, x: int, y: int) -> CopyPosition:
        """Return the cell at a place of the pane, or the nearest at its edge."""
        row = self.mode.top + max(0, min(y, self.mode.height - 1))
        return CopyPosition(row, self.left + max(0, min(x, self._width - 1)))

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
        self._connection.ask("find", take, text=needle)

    def _press_held(self) -> None:
        """Replay held keys once the match and its row are loaded."""
        if self._held is None or self._is_searching or self.mode.past.row(self.mode.cursor.row) is None:
            return
        held, self._held = self._held, None
        for key, character in held:
            self.press(key, character)

    def copy(self) -> None:
        """Copy the selection."""
        selection = self.mode.selection
        if selection is None:
            return
        start, end = selection
        if not (self._has_rows and end.row < self.mode.past.above):
            self._copied(self.mode.past.copied(start, end) or "")
            return
        # Only the screen server knows which rows are parts of one wrapped line.
        self._connection.ask(
            "copy",
            lambda answer: self._copied(str(answer["text"])),
            start=[start.row, start.col],
            end=[end.row, end.col],
        )


def _logged(folder: Path, screen: Sequence[RunRow], width: int) -> ScrolledRows:
    """The log above the screen, without the lines at its end that are on the screen too."""
    lines = last_lines(folder, LOG_LINES)
    shown = ["".join(text for text, _, _ in row).rstrip() for row in screen]
    while shown and not shown[-1]:
        shown.pop()
    if shown and lines[-len(shown) :] == shown:
        lines = lines[: -len(shown)]
    return ScrolledRows.of_lines(lines, screen, width)
