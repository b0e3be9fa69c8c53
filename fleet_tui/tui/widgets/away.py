"""The summary of what changed while the user was away: a sheet at the bottom that takes no keys and closes on the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.message import Message

from fleet_tui.faces.away_summary import Summary
from fleet_tui.faces.notices import status_text
from fleet_tui.faces.wording import word
from fleet_tui.models import Agent
from fleet_tui.quantities import age, counted
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, LineView, clean, fit, length
from fleet_tui.tui.widgets.statuses import ROLES, glyph

MOST_ROWS, NAME_WIDTH, WORD_WIDTH, AGE_WIDTH = 8, 28, 11, 5
HEAD = 1
"""Lines above the agents."""


class AwayRows(LineView):
    """A sentence, then one line per agent."""

    class Chosen(Message):
        """An agent was clicked."""

        def __init__(self, agent: str) -> None:
            super().__init__()
            self.agent = agent

    def __init__(self) -> None:
        super().__init__()
        self._summary: Summary | None = None
        self._current = ""
        self._tails: Mapping[str, str] = {}
        self._now = 0.0

    def show(self, summary: Summary, current: str, tails: Mapping[str, str], now: float) -> None:
        self._summary, self._current, self._tails, self._now = summary, current, tails, now
        self.refresh(layout=True)
        self.redraw(everything=True)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if self._summary is None:
            return ()
        agents = self._summary.agents
        shown = self._shown()
        more = len(agents) - len(shown)
        name = min(NAME_WIDTH, max(length(((clean(agent.name), ""),)) for agent in agents))
        said: Line = ((clean(self._summary.said), ""),)
        rows = [self._row(agent, name, width) for agent in shown]
        return [fit(said, width), *rows, *([((f"    and {more} more", "muted"),)] if more else [])]

    def _shown(self) -> Sequence[Agent]:
        """The first agents, or those around the current one if it is further down."""
        if self._summary is None:
            return ()
        agents = self._summary.agents
        most = max(2, min(MOST_ROWS, self.app.size.height // 4))
        place = next((at for at, agent in enumerate(agents) if agent.id == self._current), 0)
        first = max(0, place - most + 1)
        return agents[first : first + most]

    def _row(self, agent: Agent, name: int, width: int) -> Line:
        bar = "▌" if agent.id == self._current else " "
        role = ROLES[agent.status]
        since = age(max(0.0, self._now - agent.status_since))
        left: Line = (
            (f"{bar} ", "bar"),
            glyph(agent),
            (" ", ""),
            *fit(((clean(agent.name), "bold"),), name),
            ("  ", ""),
            *fit(((word(agent), role),), WORD_WIDTH),
            ("  ", ""),
            (clean(status_text(agent) or self._tails.get(agent.id, "")), "muted"),
        )
        return (*fit(left, width - AGE_WIDTH), *fit(((since, "muted"),), AGE_WIDTH, right=True))

    def on_click(self, event: events.Click) -> None:
        place = event.y - HEAD
        shown = self._shown()
        if 0 <= place < len(shown):
            self.post_message(self.Chosen(shown[place].id))


class Away(Frame):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="sheet")
        self._rows = AwayRows()

    def compose(self) -> ComposeResult:
        yield self._rows

    def show(
        self, summary: Summary, current: str, next_key: str, tails: Mapping[str, str], now: float
    ) -> None:
        """`tails` are the last lines of agents, used for those without a status text."""
        self.title(
            (("while you were away", "bold foreground"), (f"  {age(summary.seconds)}", "muted")),
            ((counted(len(summary.agents), "agent"), "muted"),),
        )
        entries = [(next_key, "goes through them")] if next_key else []
        self.foot_keys([*entries, ("any other key", "closes this")])
        self.display = True
        self._rows.show(summary, current, tails, now)
