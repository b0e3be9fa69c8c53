"""Pressure: measure how late the event loop runs, and lower the frame rate while it is late.

A late loop competes with other programs for the cores. The scheduler favors processes that use little CPU time, so asking
for fewer frames of the panes without the focus makes keys fast again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

LATE_SECONDS, CALM_SECONDS = 0.012, 0.006
"""Above the first lateness the rate goes down, below the second it may go up."""
WEIGHT, MOST_SECONDS = 0.2, 0.048
"""The weight of a new measurement in the average, and its cap: one hiccup is no pressure."""
SHARES = (1.0, 0.5, 0.25)
"""Shares of the usual rates, from no pressure to high pressure."""
WORSE_SECONDS, BETTER_SECONDS = 0.5, 3.0
"""The least time at one rate before the next lower or the next higher one is tried."""
LONGEST_SECONDS = 48.0
"""The longest time before a higher rate is tried again that failed every time so far."""


class Pressure:
    """Decides which share of the usual frame rates the dashboard asks for."""

    def __init__(self, changed: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._clock = clock
        self._late = 0.0
        self._level = 0
        self._since = clock()
        self._retry_seconds = BETTER_SECONDS
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
                self._retry_seconds = BETTER_SECONDS
            elif self._has_risen:
                self._retry_seconds = min(LONGEST_SECONDS, 2 * self._retry_seconds)
            self._change(1)
        elif self._late < CALM_SECONDS and kept >= self._retry_seconds and self._level:
            self._change(-1)

    def _change(self, step: int) -> None:
        self._level += step
        self._has_risen = step < 0
        self._since = self._clock()
        self._changed()
