"""Settled lines of an alternate screen, which has no scrollback: each line that stays unchanged is logged once."""

from __future__ import annotations

from collections.abc import Iterable


class SettledLines:
    """Picks each distinct line of a screen once it has been there for `hold` seconds.

    Lines are identified by their text, not their position: one that scrolls has not changed. Lines already logged are
    remembered, so that a redraw does not repeat them; lines on the screen are never forgotten.
    """

    def __init__(self, *, hold: float = 1.0, remember: int = 2000) -> None:
        self._hold = hold
        self._remember = remember
        self._given: dict[int, None] = {}
        self._waiting: dict[str, float] = {}

    def seen(self, rows: Iterable[str], now: float) -> list[str]:
        """The lines that have settled by now, top to bottom."""
        waiting: dict[str, float] = {}
        settled: list[str] = []
        for row in rows:
            line = row.rstrip()
            if not line or line in waiting:
                continue
            if self._is_given(line):
                self._note(line)
                continue
            since = self._waiting.get(line, now)
            if now - since >= self._hold:
                settled.append(line)
                self._note(line)
            else:
                waiting[line] = since
        self._waiting = waiting
        self._forget()
        return settled

    def rest(self) -> list[str]:
        """The lines that have not settled yet, for the last screen of a program that ended."""
        lines = list(self._waiting)
        for line in lines:
            self._note(line)
        self._waiting = {}
        return lines

    @property
    def due(self) -> float | None:
        """When the next line settles if nothing changes; None when all have."""
        return min(self._waiting.values()) + self._hold if self._waiting else None

    def _is_given(self, line: str) -> bool:
        return hash(line) in self._given

    def _note(self, line: str) -> None:
        """Remember a line as the newest; only its hash, to keep the screen server small."""
        self._given.pop(hash(line), None)
        self._given[hash(line)] = None

    def _forget(self) -> None:
        while len(self._given) > self._remember:
            del self._given[next(iter(self._given))]
