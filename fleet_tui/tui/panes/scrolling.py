"""Scrolling back in a pane: when it shows its past, which keys and drags act on it, and how it returns to the present.

What is fetched, searched and copied is in `scrollback`; where the cursor of copy mode goes is in `copy_mode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget

from fleet_tui.tui.panes.connection import PaneConnection
from fleet_tui.tui.panes.scrollback import Scrollback

if TYPE_CHECKING:
    from fleet_tui.tui.panes.pane import Pane


class PaneScrolling:
    """The scrollback of one pane, if it shows any."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._focus_before: Widget | None = None
        self._has_taken_focus = False
        self.shown: Scrollback | None = None
        """What is shown instead of the screen; None in the present."""

    @property
    def has_cursor(self) -> bool:
        """Copy mode: the pane takes keys to move, search, select and copy."""
        return self.shown is not None and self.shown.mode.has_cursor

    @property
    def is_selecting(self) -> bool:
        return self.shown is not None and self.shown.mode.anchor is not None

    def start_copying(self) -> None:
        """Enter copy mode. It has the focus until it is left."""
        shown, pane = self.shown or self._open(has_cursor=True), self._pane
        if shown is None:
            return
        if pane.screen.focused is not pane:
            self._focus_before, self._has_taken_focus = pane.screen.focused, True
            pane.screen.set_focus(pane)
        shown.mode.has_cursor = True
        pane.repaint_all()
        pane.post_message(pane.CopyModeChanged(pane))

    def scroll(self, rows: int) -> None:
        """Show older rows (newer ones when negative); reaching what the pane shows of the screen returns to the present."""
        shown = self.shown or (self._open(has_cursor=False) if rows > 0 else None)
        if shown is None:
            return
        shown.mode.scroll(rows)
        if rows < 0 and self._shows_present(shown):
            self.leave()
        else:
            self._changed()

    def scroll_pages(self, pages: int = 1) -> None:
        self.scroll(pages * max(1, self._pane.size.height - 1))

    def drag(self, start: tuple[int, int], x: int, y: int) -> bool:
        """Select with the mouse; returns whether there is anything to select in."""
        shown = self.shown or self._open(has_cursor=False)
        if shown is None:
            return False
        shown.drag(start, x, y)
        self._pane.repaint_all()
        return True

    def end_drag(self) -> None:
        """Copy what the mouse selected; copy mode keeps its selection instead."""
        shown = self.shown
        if shown is None or shown.mode.has_cursor:
            return
        shown.copy()
        shown.mode.anchor = None
        if self._shows_present(shown):
            self.leave()
        else:
            self._pane.repaint_all()

    def _shows_present(self, shown: Scrollback) -> bool:
        """Whether the screen itself can be shown instead: nothing older is visible, and no key or drag needs the copy."""
        is_held = shown.mode.has_cursor or self._pane.pointer.is_dragging
        return not is_held and shown.is_present(self._pane.crop.top)

    def _changed(self) -> None:
        """Show what was loaded or scrolled to; with nothing older to show, return to the present."""
        shown = self.shown
        if shown is not None and not shown.is_loading and self._shows_present(shown):
            self.leave()
        else:
            self._pane.repaint_all()

    def press(self, event: events.Key) -> None:
        """Act on a key of copy mode."""
        was_selecting = self.is_selecting
        if self.shown is not None:
            self.shown.press(event.key, event.character)
        if self.is_selecting != was_selecting:
            self._pane.post_message(self._pane.CopyModeChanged(self._pane))
        self._pane.repaint_all()

    def resize(self, width: int, height: int) -> None:
        if self.shown is not None:
            self.shown.resize(width, height)

    def leave(self) -> None:
        """Show the screen as it is now."""
        shown, self.shown = self.shown, None
        if shown is None:
            return
        self._pane.show_present()
        if shown.mode.has_cursor:
            self._give_focus_back()
            self._pane.post_message(self._pane.CopyModeChanged(self._pane))

    def _open(self, *, has_cursor: bool) -> Scrollback | None:
        pane, connection = self._pane, self._connection
        if connection is None or not pane.view.rows:
            return None
        self.shown = Scrollback(
            connection,
            pane.size,
            (pane.crop.left, pane.crop.top),
            has_cursor=has_cursor,
            changed=self._changed,
            copied=pane.copy_to_clipboard,
            left=self.leave,
        )
        pane.place_cursor()
        return self.shown

    @property
    def _connection(self) -> PaneConnection | None:
        return self._pane.connection

    def _give_focus_back(self) -> None:
        pane = self._pane
        before, had_taken = self._focus_before, self._has_taken_focus
        self._focus_before, self._has_taken_focus = None, False
        if had_taken and pane.screen.focused is pane:
            pane.screen.set_focus(before)
