"""The summary of what has changed while nobody looked: shown once, gone through with one key, closed by any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from fleet_tui.tui.absence import Summary
from fleet_tui.tui.keys import event_key
from fleet_tui.tui.widgets.away import Away

if TYPE_CHECKING:
    from fleet_tui.tui.screens.dashboard import Dashboard


class AwayActions:
    """The summary, bound to one dashboard."""

    def __init__(self, desk: Dashboard) -> None:
        self._desk = desk
        self._summary: Summary | None = None
        self._current = ""
        self.is_awaited = False
        """It is not known yet whether there is one; until then nobody counts as seen."""

    @property
    def is_open(self) -> bool:
        """Whether the person is still being told."""
        return self.is_awaited or self.is_shown

    @property
    def is_shown(self) -> bool:
        return self._summary is not None

    def show(self, summary: Summary) -> None:
        self._summary, self._current = summary, ""
        self._draw()

    def _draw(self) -> None:
        if self._summary is not None:
            desk = self._desk
            key = desk.keymap.shown("next-needing")
            desk.query_one(Away).show(self._summary, self._current, key, desk.sights.tails, desk.now)

    def hide(self) -> None:
        if self._summary is not None:
            self._summary = None
            self._desk.query_one(Away).display = False

    def pressed(self, event: events.Key | events.Paste | events.MouseDown) -> None:
        """Whatever is pressed closes it and goes where it would have gone, but for the keys that go through it."""
        if self._summary is None:
            return
        if isinstance(event, events.MouseDown):
            is_own = self._desk.query_one(Away).region.contains(event.screen_x, event.screen_y)
        else:
            is_own = isinstance(event, events.Key) and self._goes_through(event.key)
        if not is_own:
            self.hide()

    def _goes_through(self, key: str) -> bool:
        desk = self._desk
        if desk.typing or desk.focused is not None or desk.app.screen is not desk:
            return False
        chords = (*desk.keymap.of("next-needing"), *desk.keymap.of("previous-needing"))
        return key in map(event_key, chords)

    def step(self, step: int) -> bool:
        """Select the next one of the summary; False when there is none left, and the summary is gone."""
        if self._summary is None:
            return False
        there = {agent.id for agent in self._desk.state.agents}
        ids = [agent.id for agent in self._summary.agents if agent.id in there]
        place = ids.index(self._current) + step if self._current in ids else (0 if step > 0 else len(ids) - 1)
        if not 0 <= place < len(ids):
            self.hide()
            return False
        self._current = ids[place]
        self._desk.select(self._current)
        self._draw()
        return True
