"""The part of an agent's screen that a smaller pane shows."""

from __future__ import annotations

from fleet_tui.terminal.view import View


class Crop:
    """The cell of the screen at the pane's top left; it follows the cursor."""

    def __init__(self) -> None:
        self.left, self.top = 0, 0

    def follow(self, view: View, width: int, height: int) -> bool:
        """Move just far enough to keep the cursor visible; returns whether the crop moved."""
        x, y = view.cursor[:2]
        left = _moved(self.left, x, width, view.cols)
        top = _moved(self.top, y, height, view.rows)
        is_moved = (left, top) != (self.left, self.top)
        self.left, self.top = left, top
        return is_moved


def _moved(start: int, at: int, size: int, total: int) -> int:
    start = min(max(start, at - size + 1), at)
    return max(0, min(start, total - size))
