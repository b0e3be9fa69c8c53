"""Viewer's mirror of a screen: rows of styled text, a cursor and modes, updated by frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.terminal.cells import Style

LARGEST = 0xFFFF
"""Columns, and rows, of the largest terminal that there can be."""

Run = tuple[str, Style | None, int]
"""Text, style (None: the terminal's own), width in cells."""


@dataclass(slots=True)
class View:
    """A screen, mirrored from frames."""

    cols: int = 0
    rows: int = 0
    lines: list[list[Run]] = field(default_factory=list)
    cursor: tuple[int, int, bool, str, bool] = (0, 0, True, "block", False)
    """x, y, visible, shape, blinking."""
    is_alternate: bool = False
    mouse: str = ""
    """The mouse events that the program wants; empty for none."""
    scrolls_alternate: bool = False
    """The wheel sends arrow keys on the alternate screen."""
    title: str = ""
    history: int = 0
    _styles: dict[int, Style] = field(default_factory=dict)
    _epoch: int = -1

    def apply(self, frame: Mapping[str, Any]) -> set[int]:
        """Apply a frame; returns the rows that changed. Raises KeyError, TypeError, ValueError, … for a malformed one."""
        size = (int(frame["cols"]), int(frame["rows"]))
        if not all(0 <= side <= LARGEST for side in size):
            raise ValueError(f"a screen of {size[0]}×{size[1]}")
        if frame["full"] or frame["epoch"] != self._epoch:
            self._styles, self._epoch = {}, frame["epoch"]
        changed: set[int] = set()
        if frame["full"] or size != (self.cols, self.rows):
            self.cols, self.rows = size
            self.lines = [[] for _ in range(self.rows)]
            changed = set(range(self.rows))
        self._styles.update((int(number), _style(values)) for number, values in frame["styles"].items())
        for y, runs in frame["lines"]:
            if 0 <= y < self.rows:
                self.lines[y] = self._runs(runs)
                changed.add(y)
        self._take_header(frame)
        return changed

    def _runs(self, runs: list[Any]) -> list[Run]:
        styles = self._styles
        return [(runs[i], styles.get(runs[i + 1]), runs[i + 2]) for i in range(0, len(runs) - 2, 3)]

    def _take_header(self, frame: Mapping[str, Any]) -> None:
        x, y, visible, shape, blink = frame["cursor"][:5]
        self.cursor = (x, y, visible, shape, blink)
        # The screen server encodes pastes and focus, so a view has no use for their modes.
        self.is_alternate, _paste, self.mouse, _focus, self.scrolls_alternate = frame["modes"][:5]
        self.title = frame["title"]
        self.history = frame["history"]

    def text(self) -> list[str]:
        return ["".join(run[0] for run in line).rstrip() for line in self.lines]


def _style(values: list[int]) -> Style:
    foreground, background, attributes, underline = values[:4]
    return (foreground, background, attributes, underline)
