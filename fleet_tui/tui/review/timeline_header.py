"""The top line of a timeline: whose it is, how many checkpoints there are, and how long they are kept."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.models import Agent
from fleet_tui.quantities import age, counted
from fleet_tui.tui.review.timeline_rows import time_of_day
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, length


class TimelineHeader(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._left: Line = ()
        self._facts: Sequence[Line] = ()

    def show(self, agent: Agent, count: int, days: int, now: float) -> None:
        said = f"  {clean(agent.profile)}, {age(max(0.0, now - agent.created_at))}"
        self._left = (
            (" fleet  ", "bold"),
            ("timeline  ", "muted"),
            (clean(agent.name), "bold"),
            (said, "muted"),
        )
        facts: list[Line] = [((f"{count} ", ""), ("checkpoint" if count == 1 else "checkpoints", "muted"))]
        if days:
            facts.append((("kept ", ""), (f"{counted(days, 'day')}", "muted")))
        self._facts = [*facts, ((time_of_day(now), "bold"),)]
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        facts = [*self._facts]
        while len(facts) > 1 and length(self._left) + sum(length(one) + 3 for one in facts) > width:
            facts.pop(-2)
        right: list[tuple[str, str]] = []
        for fact in facts:
            right += [*fact, ("   ", "")]
        return [both_ends(self._left, [*right[:-1], (" ", "")], width)]
