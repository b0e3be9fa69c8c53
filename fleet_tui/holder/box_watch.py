"""Watch on the input box: read it from the screen once it is stable, and notice when a menu covers it."""

from __future__ import annotations

from fleet_tui.programs import input_box
from fleet_tui.programs.input_box import UNSETTLED, Box, BoxRule, BoxState
from fleet_tui.terminal.emulator import Screen

BOX_SECONDS = 0.12
"""Two looks at the box must agree for this long before they are believed."""
MENU_SECONDS = 0.6
"""A program that waits without showing its box for this long is in a menu."""


class BoxWatch:
    def __init__(self, rule: BoxRule | None, screen: Screen) -> None:
        self.rule = rule
        self._screen = screen
        self._box = UNSETTLED
        """The box at the last look."""
        self._since = 0.0
        """Since when every look has shown it so."""
        self._due: float | None = None
        self.was_seen = False
        """It was seen in this run, so the profile's rule fits this program."""

    def next_read(self) -> float | None:
        """When to read the box again."""
        return self._due

    def read_at(self, moment: float) -> None:
        """Read the box at that time, if the program waits then."""
        self._due = moment

    def take_due(self, now: float) -> bool:
        """Whether it is time to read the box; True once for each time."""
        if self._due is None or now < self._due:
            return False
        self._due = None
        return True

    def typed(self) -> None:
        """Something was typed: look again before believing anything."""
        self._box = UNSETTLED

    def look(self, now: float) -> Box | None:
        """The box once it is stable, UNSETTLED before; None where the profile describes none."""
        if self.rule is None:
            return None
        if self._screen.is_holding:
            self._due = now + BOX_SECONDS
            return UNSETTLED
        seen = input_box.read(self.rule, self._screen.look(), self._screen.cursor)
        if seen != self._box:
            self._box, self._since = seen, now
        if now < self._since + BOX_SECONDS:
            self._due = self._since + BOX_SECONDS
            return UNSETTLED
        self.was_seen |= seen.state is not BoxState.NONE
        return seen

    def is_shown(self, now: float) -> bool | None:
        """Whether a program that waits shows its box; None while that is not certain."""
        self._due = None
        box = self.look(now)
        if box is None or not self.was_seen or box.state is BoxState.UNSETTLED:
            return None
        if box.state is not BoxState.NONE:
            return True
        if now >= self._since + MENU_SECONDS:
            return False
        self._due = self._since + MENU_SECONDS
        return None
