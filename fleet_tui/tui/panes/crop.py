"""The part of an agent's screen that a smaller pane shows."""

from __future__ import annotations

from fleet_tui.terminal.view import View


class Crop:
    """The cell of the screen at the pane's top left; it follows the cursor."""

    def __init__(self) -> None:
        self.left, self.top = 0, 0

    def follow(self, view: View, width: int, height: int) -> bool:
        """Move just far enough to keep the cursor visible; returns whether the crop moved.

        Empty rows at the end of the screen are shown only where there is nothing above them to show instead.
        """
        x, y = view.cursor[:2]
        left = _moved(self.left, x, width, view.cols)
        top = _moved(self.top, y, height, _used_rows(view, height))
        is_moved = (left, top) != (self.left, self.top)
        self.left, self.top = left, top
        return is_moved


def _used_rows(view: View, least: int) -> int:
    """The number of rows up to the cursor or the last text; the least is enough to know."""
    used = view.rows
    while used > max(least, view.cursor[1] + 1) and not any(
        text.strip() for text, *_ in view.lines[used - 1]
    ):
        used -= 1
    return used


def _moved(start: int, at: int, size: int, total: int) -> int:
    start = min(max(start, at - size + 1), at)
    return max(0, min(start, total - size))
