"""The summary of what changed while the user was away: shown once, stepped through with one key, closed by any other."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from fleet_tui.faces.away_summary import Summary
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.keys import event_key
from fleet_tui.tui.widgets.away import Away


class AwayActions:
    """The summary of one dashboard."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        widget: Callable[[], Away],
        *,
        clear_filter: Callable[[], None],
    ) -> None:
        self._view = view
        self._display = display
        self._widget = widget
        self._clear_filter = clear_filter
        self._summary: Summary | None = None
        self._current = ""
        self.is_awaited = False
        """Whether there is one is not known yet; until then no agent counts as seen."""

    @property
    def is_open(self) -> bool:
        """It is shown, or may still be."""
        return self.is_awaited or self.is_shown

    @property
    def is_shown(self) -> bool:
        return self._summary is not None

    def show(self, summary: Summary) -> None:
        self._summary, self._current = summary, ""
        self._draw()

    def _draw(self) -> None:
        if self._summary is not None:
            key = self._display.keymap.shown("next-needing")
            tails = self._view.live.tails
            self._widget().show(self._summary, self._current, key, tails, self._display.now)

    def hide(self) -> None:
        if self._summary is not None:
            self._summary = None
            self._widget().display = False

    def pressed(self, event: events.Key | events.Paste | events.MouseDown) -> None:
        """Close it on any input, which goes where it would have gone, except the keys that step through it."""
        if self._summary is None:
            return
        if isinstance(event, events.MouseDown):
            is_own = self._widget().region.contains(event.screen_x, event.screen_y)
        else:
            is_own = isinstance(event, events.Key) and self._steps(event.key)
        if not is_own:
            self.hide()

    def _steps(self, key: str) -> bool:
        display = self._display
        if self._view.typing or display.is_focused or not display.is_on_top:
            return False
        chords = (*display.keymap.of("next-needing"), *display.keymap.of("previous-needing"))
        return key in map(event_key, chords)

    def step(self, step: int) -> bool:
        """Select the next agent of the summary; closes it and returns False when there is none left."""
        if self._summary is None:
            return False
        there = {agent.id for agent in self._view.state.agents}
        ids = [agent.id for agent in self._summary.agents if agent.id in there]
        place = ids.index(self._current) + step if self._current in ids else (0 if step > 0 else len(ids) - 1)
        if not 0 <= place < len(ids):
            self.hide()
            return False
        self._current = ids[place]
        self._select(self._current)
        self._draw()
        return True

    def choose(self, agent_id: str) -> None:
        """Close it and select one of its agents."""
        self.hide()
        self._select(agent_id)

    def _select(self, agent_id: str) -> None:
        self._view.select(agent_id)
        if self._view.agent is None:
            self._clear_filter()
