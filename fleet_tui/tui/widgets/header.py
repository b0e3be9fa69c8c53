"""The top line: how the fleet does, the most urgent first. Zero counts never show; words leave before numbers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from fleet_tui.listing import dollars
from fleet_tui.models import Agent, FleetState, Spending, Status
from fleet_tui.tui.exchange import Sights
from fleet_tui.tui.widgets.lines import CHIP_YOU, Line, Lines, Part, both_ends, length
from fleet_tui.tui.widgets.statuses import counts, glyph

_TOGETHER = {
    Status.STARTING: Status.SETUP, Status.FAILED: Status.ERROR, Status.INTERRUPTED: Status.LOST,
}  # fmt: skip
_HIDDEN = frozenset({Status.BLOCKED, Status.KILLED, Status.STOPPED, Status.EXITED, Status.UNKNOWN})

_DENSITIES = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
"""With words, with cores and memory, with the cost: what leaves first, and next, where room is short."""


class Header(Lines):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._agents: Sequence[Agent] = ()
        self._sights = Sights()
        self._clock = ""
        self._today: float | None = None
        self._note = ""

    def show(self, state: FleetState, sights: Sights, now: float, *, note: str = "") -> None:
        self._agents = [agent for agent in state.agents if agent.status is not Status.KILLED]
        self._sights = sights
        self._clock = time.strftime("%H:%M", time.localtime(now)) if now else ""
        self._today = spent_today(sights.spending.values(), now)
        self._note = note
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        for words, load, cost in _DENSITIES:
            left, right = self._left(words=words, full=load), self._right(load=load, cost=cost)
            if length(left) + length(right) + 2 <= width:
                return [both_ends(left, right, width)]
        statuses = len(self._counted())
        while statuses and length(left) + length(right) + 2 > width:
            statuses -= 1
            left = self._left(words=False, full=False, statuses=statuses)
        return [both_ends(left, right, width)]

    def _left(self, *, words: bool, full: bool, statuses: int | None = None) -> Line:
        total = len(self._agents)
        said = f"{total} agent{'s' if total != 1 else ''}" if total else "no agents yet"
        parts: list[Part] = [(" fleet ", "bold")]
        if full or not total:
            parts.append((f" {said}", "muted"))
        if self._note:
            parts.append((f"  {self._note}", "accent"))
        waiting = dict(counts(self._agents)).get(Status.BLOCKED, 0)
        if waiting:
            parts += [
                ("  ", ""),
                (f" ◆ {waiting} need{'s' if waiting == 1 else ''} you ", CHIP_YOU),
                (" ", ""),
            ]
        for status, count in list(self._counted().items())[:statuses]:
            mark, role = glyph(
                next(agent for agent in self._agents if _TOGETHER.get(agent.status, agent.status) is status)
            )
            parts += [("  ", ""), (mark, role), (f" {count}", ""), (f" {status}" if words else "", "muted")]
        return tuple(parts)

    def _counted(self) -> dict[Status, int]:
        merged: dict[Status, int] = {}
        for status, count in counts(self._agents):
            together = _TOGETHER.get(status, status)
            if together not in _HIDDEN:
                merged[together] = merged.get(together, 0) + count
        return merged

    def _right(self, *, load: bool, cost: bool) -> Line:
        parts: list[Part] = []
        if load and self._sights.memory:
            parts += [(f"{self._sights.cores:.1f}", ""), (" cores   ", "muted")]
            gigabytes = self._sights.memory / (1 << 30)
            size = (
                (f"{gigabytes:.1f}", " GB   ")
                if gigabytes >= 0.95
                else (f"{self._sights.memory >> 20}", " MB   ")
            )
            parts += [(size[0], ""), (size[1], "muted")]
        if cost and self._today is not None:
            parts += [(dollars(self._today), ""), (" today   " if load else "   ", "muted")]
        return (*parts, (f"{self._clock} ", ""))


def spent_today(spending: Iterable[Spending], now: float) -> float | None:
    """What is known to have been spent since midnight; None where nothing is."""
    day = time.localtime(now)[:3]
    costs = [
        one.cost - one.cost_before
        for one in spending
        if one.cost is not None and time.localtime(one.at)[:3] == day
    ]
    return sum(costs) if costs else None
