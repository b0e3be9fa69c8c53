"""The top line: counts by status, the most urgent first. Zero counts are hidden; words are dropped before numbers.

A click on a count goes to the next agent that it counts.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from textual import events
from textual.message import Message

from fleet_tui.faces.live import LiveData
from fleet_tui.faces.totals import counts, spent_today, totals
from fleet_tui.faces.wording import STATUS_LOOKS
from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.quantities import counted, dollars
from fleet_tui.tui.widgets.lines import CHIP_YOU, Line, LineView, TextPart, both_ends, length
from fleet_tui.tui.widgets.row_lines import CONFLICT
from fleet_tui.tui.widgets.statuses import glyph

_DENSITIES = ((True, True, True), (False, True, True), (False, False, True), (False, False, False))
"""Widths from which words, cores and memory, and the cost are shown."""

Counted = Status | Literal["conflict"] | None
"""What a count is of; None for all agents."""


class Header(LineView):
    class Clicked(Message):
        """A count was clicked."""

        def __init__(self, counted: Counted) -> None:
            super().__init__()
            self.counted = counted

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._agents: Sequence[Agent] = ()
        self._live = LiveData()
        self._clock = ""
        self._today: float | None = None
        self._note = ""
        self._places: list[tuple[int, int, Counted]] = []
        """The first cell of each visible count, and the one after its last."""

    def show(self, state: FleetState, live: LiveData, now: float, *, note: str = "") -> None:
        self._agents = [agent for agent in state.agents if agent.status is not Status.KILLED]
        self._live = live
        self._clock = time.strftime("%H:%M", time.localtime(now)) if now else ""
        self._today = spent_today(live.spending.values(), now)
        self._note = note
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        for words, load, cost in _DENSITIES:
            left, right = self._left(words=words, full=load), self._right(load=load, cost=cost)
            if length(left) + length(right) + 2 <= width:
                return [both_ends(left, right, width)]
        statuses = len(totals(self._agents)) + 1
        while statuses and length(left) + length(right) + 2 > width:
            statuses -= 1
            left = self._left(words=False, full=False, statuses=statuses)
        return [both_ends(left, right, width)]

    def _left(self, *, words: bool, full: bool, statuses: int | None = None) -> Line:
        total = len(self._agents)
        said = counted(total, "agent") if total else "no agents yet"
        parts: list[TextPart] = [(" fleet ", "bold")]
        self._places = [(0, length(parts), None)]
        if full or not total:
            parts.append((f" {said}", "muted"))
            self._places = [(0, length(parts), None)]
        if self._note:
            parts.append((f"  {self._note}", "accent"))
        waiting = dict(counts(self._agents)).get(Status.BLOCKED, 0)
        if waiting:
            chip = (f" ◆ {waiting} need{'s' if waiting == 1 else ''} you ", CHIP_YOU)
            self._add(parts, Status.BLOCKED, chip)
            parts.append((" ", ""))
        found = totals(self._agents)
        for status, count in list(found.items())[:statuses]:
            mark, role = glyph(
                next(agent for agent in self._agents if STATUS_LOOKS[agent.status].total is status)
            )
            self._add(
                parts, status, (mark, role), (f" {count}", ""), (f" {status}" if words else "", "muted")
            )
        colliding = sum(agent.id in self._live.conflict_marks for agent in self._agents)
        if colliding and (statuses is None or statuses > len(found)):
            word = " in conflict" if words else ""
            self._add(parts, "conflict", (CONFLICT, "error"), (f" {colliding}", ""), (word, "muted"))
        return tuple(parts)

    @property
    def chip_end(self) -> int:
        """The first cell after the chip of those who need you; 0 without one."""
        return next((end for _, end, status in self._places if status is Status.BLOCKED), 0)

    def _add(self, parts: list[TextPart], status: Counted, *said: TextPart) -> None:
        """Add a count, and remember its cells for clicks."""
        parts.append(("  ", ""))
        start = length(parts)
        parts += said
        self._places.append((start, length(parts), status))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        for start, end, status in self._places:
            if start <= event.x < end:
                self.post_message(self.Clicked(status))

    def _right(self, *, load: bool, cost: bool) -> Line:
        parts: list[TextPart] = []
        if load and self._live.memory:
            parts += [(f"{self._live.cores:.1f}", ""), (" cores   ", "muted")]
            gigabytes = self._live.memory / (1 << 30)
            size = (
                (f"{gigabytes:.1f}", " GB   ")
                if gigabytes >= 0.95
                else (f"{self._live.memory >> 20}", " MB   ")
            )
            parts += [(size[0], ""), (size[1], "muted")]
        if cost and self._today is not None:
            parts += [(dollars(self._today), ""), (" today   " if load else "   ", "muted")]
        return (*parts, (f"{self._clock} ", ""))
