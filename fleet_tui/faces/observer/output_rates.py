"""Measures how many bytes a second each agent prints, as a history for a graph."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui.holder.transcript import segments

OUTPUT_SAMPLES = 60


class OutputRates:
    """Samples the sizes of transcripts, in step with CPU samples."""

    def __init__(self, folder_of: Callable[[str], Path]) -> None:
        self._folder_of = folder_of
        self._ends: dict[str, tuple[float, int]] = {}
        self._active: dict[str, float] = {}
        self._histories: dict[str, deque[float]] = {}

    def history(self, agent: str) -> tuple[float, ...]:
        return tuple(self._histories.get(agent, ()))

    def sample(self, agents: Sequence[str], active: Mapping[str, float], now: float) -> None:
        """Look at the transcripts of the agents that have printed since the last sample."""
        for gone in self._ends.keys() - set(agents):
            for kept in (self._ends, self._active, self._histories):
                kept.pop(gone, None)
        for agent in agents:
            self._count(agent, active.get(agent, 0.0), now)

    def _count(self, agent: str, active: float, now: float) -> None:
        before = self._ends.get(agent)
        is_silent = before is not None and self._active.get(agent) == active
        end = before[1] if before is not None and is_silent else self._end(agent)
        self._ends[agent], self._active[agent] = (now, end), active
        if before is not None and now > before[0]:
            rate = max(0, end - before[1]) / (now - before[0])
            self._histories.setdefault(agent, deque(maxlen=OUTPUT_SAMPLES)).append(rate)

    def _end(self, agent: str) -> int:
        found = segments.list_segments(self._folder_of(agent))
        return found[-1].end if found else 0
