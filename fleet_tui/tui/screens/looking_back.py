"""Looking back in a pane from the list: by pages, or in copy mode, without typing to its agent first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_tui.tui.widgets.pane import Pane
from fleet_tui.tui.widgets.pane_grid import PaneGrid

if TYPE_CHECKING:
    from fleet_tui.tui.screens.dashboard import Dashboard


class LookingBack:
    """The keys that show a pane's past, bound to one dashboard."""

    def __init__(self, desk: Dashboard) -> None:
        self._desk = desk

    @property
    def _pane(self) -> Pane | None:
        frame = self._desk.query_one(PaneGrid).frame_of(self._desk.selected)
        return frame.pane if frame is not None else None

    @property
    def is_copying(self) -> bool:
        """Keys go to a pane's copy mode."""
        focused = self._desk.focused
        return isinstance(focused, Pane) and focused.is_copying

    @property
    def is_selecting(self) -> bool:
        focused = self._desk.focused
        return isinstance(focused, Pane) and focused.is_selecting

    def do_look_back(self) -> None:
        if self._pane is not None:
            self._pane.page_back(1)

    def do_look_on(self) -> None:
        if self._pane is not None:
            self._pane.page_back(-1)

    def do_copy_mode(self) -> None:
        if self._pane is not None:
            self._pane.start_copying()

    def to_the_present(self) -> bool:
        """Show what is there now; whether the pane had shown its past."""
        pane = self._pane
        if pane is None or not pane.is_scrolled:
            return False
        pane.return_to_present()
        return True
