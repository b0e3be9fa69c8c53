"""Pressure: how late the event loop is, and how much fewer frames the dashboard therefore asks for.

A loop that is late shares its cores with other programs. The system favors processes that need little, so asking for fewer
frames of the panes that are not typed into is what makes keys fast again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LATE_SECONDS, CALM_SECONDS = 0.012, 0.006
"""Lateness of the loop from which there are fewer frames, and up to which there may be more."""
WEIGHT, MOST_SECONDS = 0.2, 0.048
"""Of a new measurement in the average, and the most that it counts: one hiccup is no pressure."""
SHARES = (1.0, 0.5, 0.25)
"""Parts of the usual rates, from no pressure to much."""
WORSE_SECONDS, BETTER_SECONDS = 0.5, 3.0
"""How long each is kept at least before the next lower and the next higher one."""
LONGEST_SECONDS = 48.0
"""The longest time before a higher one that was too much whenever it was tried."""


class Pressure:
    """Decides the part of the usual frame rates that there is time for."""

    def __init__(self, changed: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._clock = clock
        self._late = 0.0
        self._level = 0
        self._since = clock()
        self._patience = BETTER_SECONDS
        self._has_risen = False
        """The last change was to a higher rate."""

    @property
    def share(self) -> float:
        return SHARES[self._level]

    def measured(self, late: float) -> None:
        """A timer of the loop ran this many seconds late."""
        self._late += WEIGHT * (min(late, MOST_SECONDS) - self._late)
        kept = self._clock() - self._since
        if self._late > LATE_SECONDS and kept >= WORSE_SECONDS and self._level < len(SHARES) - 1:
            if kept >= LONGEST_SECONDS:
                self._patience = BETTER_SECONDS
            elif self._has_risen:
                self._patience = min(LONGEST_SECONDS, 2 * self._patience)
            self._change(1)
        elif self._late < CALM_SECONDS and kept >= self._patience and self._level:
            self._change(-1)

    def _change(self, step: int) -> None:
        self._level += step
        self._has_risen = step < 0
        self._since = self._clock()
        self._changed()
