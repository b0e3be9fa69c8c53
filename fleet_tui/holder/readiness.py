"""Readiness of a starting program: what its screen must show before an idle title is believed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fleet_tui.programs.screen_text import unframed
from fleet_tui.programs.status_rules import SCREEN_CHARS
from fleet_tui.system import bounded_regex

READY_SECONDS = 15.0
"""How long an idle title waits for the screen that the profile calls ready, in case its words have changed."""


class Readiness:
    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern, re.IGNORECASE) if pattern else None
        self.since = 0.0
        """When the program became ready."""

    @property
    def is_awaited(self) -> bool:
        return self._pattern is not None

    def reached(self, now: float) -> None:
        self._pattern, self.since = None, now

    def assume(self) -> None:
        """The program was ready before this server started."""
        self._pattern = None

    def is_shown(self, lines: Sequence[str]) -> bool:
        """Whether the screen shows it for the first time; a pattern that takes too long counts as shown."""
        if self._pattern is None:
            return False
        try:
            with bounded_regex.limited():
                return self._pattern.search(unframed(lines)[-SCREEN_CHARS:]) is not None
        except bounded_regex.RegexTimedOut:
            return True
