"""Scroll back in the selected pane from the list: by pages, or in copy mode, without typing to its agent first."""

from __future__ import annotations

from collections.abc import Callable

from fleet_tui.tui.panes.pane import Pane


class ScrollbackActions:
    """The keys that scroll the selected agent's pane."""

    def __init__(
        self, selected_pane: Callable[[], Pane | None], focused_pane: Callable[[], Pane | None]
    ) -> None:
        self._selected_pane = selected_pane
        self._focused_pane = focused_pane

    @property
    def is_copying(self) -> bool:
        """Keys go to a pane's copy mode."""
        pane = self._focused_pane()
        return pane is not None and pane.is_copying

    @property
    def is_selecting(self) -> bool:
        pane = self._focused_pane()
        return pane is not None and pane.is_selecting

    def page_up(self) -> None:
        self._scroll(1)

    def page_down(self) -> None:
        self._scroll(-1)

    def _scroll(self, pages: int) -> None:
        pane = self._selected_pane()
        if pane is not None:
            pane.scrolling.scroll_pages(pages)

    def copy_mode(self) -> None:
        pane = self._selected_pane()
        if pane is not None:
            pane.scrolling.start_copying()

    def return_to_present(self) -> bool:
        """Show the present in the selected pane; returns whether it was scrolled back."""
        pane = self._selected_pane()
        if pane is None or not pane.is_scrolled:
            return False
        pane.scrolling.leave()
        return True
