"""The rows of a pane as strips: rendered when needed, cached until they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.strip import Strip
from textual.theme import Theme

from fleet_tui.models import Status
from fleet_tui.tui.color_depth import depth_of
from fleet_tui.tui.driver import host_of
from fleet_tui.tui.panes.copy_mode import RunRow
from fleet_tui.tui.panes.painting import Styles, StyleSets, marked, strip
from fleet_tui.tui.themes import program_colors

if TYPE_CHECKING:
    from fleet_tui.tui.panes.pane import Pane


class PaneCanvas:
    """What one pane shows: its screen, its scrollback, or a placeholder."""

    def __init__(self, pane: Pane, styles: StyleSets) -> None:
        self._pane = pane
        self._style_sets = styles
        self._strips: list[Strip] = []
        self._stale: set[int] = set()
        """Rows whose strips are out of date."""
        self._unpainted: set[int] = set()
        """Changed rows that Textual does not know of yet."""
        self._cursor_row = -1
        """The row that a drawn cursor is in, on a host without a cursor of its own."""

    def clear(self) -> None:
        self._strips = []

    def follow_theme(self) -> None:
        """Paint in the colors of the current theme, and follow it when it changes."""
        self._use_theme(self._pane.app.current_theme)
        self._pane.app.theme_changed_signal.subscribe(self._pane, self._use_theme)

    def _use_theme(self, theme: Theme) -> None:
        depth = depth_of(self._pane.app)
        self._style_sets.use(program_colors(theme, depth), depth)
        self._pane.repaint_all()

    @property
    def is_fitted(self) -> bool:
        """The cache has the pane's height."""
        return len(self._strips) == self._pane.size.height

    def invalidate(self, rows: set[int]) -> bool:
        """Mark rows as changed; returns whether any has to be painted."""
        height = self._pane.size.height
        rows = {y for y in rows if 0 <= y < height}
        self._stale |= rows
        self._unpainted |= rows
        return bool(self._unpainted)

    def take_unpainted(self) -> set[int]:
        rows, self._unpainted = self._unpainted, set()
        return rows

    def move_cursor(self, row: int) -> set[int]:
        """Draw the cursor in this row, if the host has none; returns the rows that change."""
        if not self._draws_cursor:
            row = -1
        if row != self._cursor_row:
            rows, self._cursor_row = {self._cursor_row, row}, row
            return rows
        return {row} if row >= 0 else set()

    @property
    def _draws_cursor(self) -> bool:
        return self._pane.is_typing and host_of(self._pane.app) is None

    def strips(self) -> list[Strip]:
        """All rows, up to date unless the screen is in the middle of a frame that comes in parts."""
        pane, height = self._pane, self._pane.size.height
        if len(self._strips) != height:
            self._strips = [Strip.blank(pane.size.width, self._style_sets.plain[None])] * height
            self._stale = set(range(height))
        if self._stale and (pane.connection is None or pane.connection.is_whole):
            # A new list: the compositor may still hold the old one.
            strips = list(self._strips)
            for y in self._stale:
                if y < height:
                    strips[y] = self._row(y)
            self._strips, self._stale = strips, set()
        return self._strips

    def _row(self, y: int) -> Strip:
        pane = self._pane
        if pane.scrolling.shown is not None:
            return pane.scrolling.shown.row(y, self._strip, self._style_sets.plain)
        view = pane.view
        if not view.rows:
            return self._placeholder_row(y)
        row, left = pane.crop.top + y, pane.crop.left
        made = self._strip(view.lines[row] if row < len(view.lines) else (), left)
        x, cursor_y, is_visible, *_ = view.cursor
        if self._draws_cursor and is_visible and cursor_y == row:
            made = marked(made, x - left, x - left + 1)
        return made

    def _strip(self, runs: RunRow, left: int) -> Strip:
        pane = self._pane
        host = host_of(pane.app)
        draws_clusters = host is None or host.draws_clusters
        styles = self._styles(is_quiet=pane.is_quiet)
        return strip(runs, left, pane.size.width, styles, draws_clusters=draws_clusters)

    def _styles(self, *, is_quiet: bool) -> Styles:
        pane = self._pane
        if pane.is_covered:
            return self._style_sets.covered
        return self._style_sets.quiet if is_quiet else self._style_sets.plain

    def _placeholder_row(self, y: int) -> Strip:
        width, height = self._pane.size
        text = self._placeholder() if y == height // 2 else ""
        text = text[:width].center(width).rstrip()
        styles = self._styles(is_quiet=True)
        return strip([(text, None, len(text))], 0, width, styles, draws_clusters=False)

    def _placeholder(self) -> str:
        agent, connection = self._pane.agent, self._pane.connection
        if agent is None:
            return ""
        if not agent.has_ended and agent.status is Status.SETUP:
            return agent.status_detail or "setting up…"
        if agent.has_ended or (connection is not None and connection.has_ended):
            return "it left nothing on its screen"
        return "starting…"
