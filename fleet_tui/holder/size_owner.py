"""The owner of the terminal's size among several viewers.

The viewer that typed last owns the size; before any has typed, the newest one with a size does. When the owner leaves,
the next takes over after a moment; without viewers the last size stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet_tui.holder.frames import Viewer

PANE_FLOOR = (40, 10)
"""Smallest size for panes; a smaller pane crops, as few programs can draw in less."""
TERMINAL_FLOOR = (10, 3)
CEILING = (1000, 500)
TAKE_OVER_SECONDS = 0.5


class SizeOwner:
    def __init__(self, current: tuple[int, int]) -> None:
        self._current = current
        self._wanted: dict[Viewer, tuple[int, int]] = {}
        """Ordered by when they last asked or typed; the last one is next."""
        self._owner: Viewer | None = None
        self._take_over_at: float | None = None
        self._has_typed = False

    def wanted(self, viewer: Viewer, cols: int, rows: int, now: float) -> None:
        """An interactive viewer has this much room."""
        if viewer.kind not in {"pane", "terminal"} or cols <= 0 or rows <= 0:
            return
        floor = PANE_FLOOR if viewer.kind == "pane" else TERMINAL_FLOOR
        size = (min(CEILING[0], max(floor[0], cols)), min(CEILING[1], max(floor[1], rows)))
        is_new = viewer not in self._wanted
        self._wanted[viewer] = size
        if self._owner is None and self._take_over_at is None:
            self._owner = viewer
        elif is_new and not self._has_typed:
            self._owner, self._take_over_at = viewer, None

    def typed(self, viewer: Viewer) -> None:
        if viewer in self._wanted:
            self._wanted[viewer] = self._wanted.pop(viewer)
            self._owner, self._take_over_at, self._has_typed = viewer, None, True

    def left(self, viewer: Viewer, now: float) -> None:
        self._wanted.pop(viewer, None)
        if viewer is self._owner:
            self._owner = None
            self._has_typed = False
            self._take_over_at = now + TAKE_OVER_SECONDS if self._wanted else None

    def due(self) -> float | None:
        return self._take_over_at

    def settle(self, now: float) -> tuple[int, int] | None:
        """The size to change to, or None when it is unchanged."""
        if self._take_over_at is not None and now >= self._take_over_at:
            self._take_over_at = None
            self._owner = next(reversed(self._wanted), None)
        size = self._wanted.get(self._owner, self._current) if self._owner is not None else self._current
        if size == self._current:
            return None
        self._current = size
        return size
