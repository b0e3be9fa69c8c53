"""Moving in the list, and deciding what it shows: folding, marking, order, filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fleet_tui.models import Agent, Status
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.rows import Filter, Shown
from fleet_tui.tui.widgets.statuses import NEEDY
from fleet_tui.values import replace

if TYPE_CHECKING:
    from fleet_tui.tui.screens.dashboard import Dashboard


class ListActions:
    """What the keys of the list do, bound to one dashboard."""

    def __init__(self, desk: Dashboard) -> None:
        self._desk = desk
        self._last_place = 0

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────

    def move(self, step: int, *, among: Callable[[Agent], bool] = lambda _: True) -> bool:
        """Select the next one of a kind, around the ends; whether there is any."""
        agents = self._desk.listed
        count = len(agents)
        here = next((place for place, one in enumerate(agents) if one.id == self._desk.selected), -1)
        for distance in range(1, count + 1):
            place = (here + step * distance) % count
            if among(agents[place]):
                self._select_at(place)
                return True
        return False

    def _select_at(self, place: int) -> None:
        self._last_place = place
        self._desk.selected = self._desk.listed[place].id

    def select_something(self) -> None:
        """The cursor stays where it is as long as its agent is listed; else a neighbour gets it."""
        agents = self._desk.listed
        places = {agent.id: place for place, agent in enumerate(agents)}
        if self._desk.selected in places:
            self._last_place = places[self._desk.selected]
        elif agents:
            self._select_at(min(self._last_place, len(agents) - 1))

    def do_next(self) -> None:
        self.move(1)

    def do_previous(self) -> None:
        self.move(-1)

    def do_first(self) -> None:
        if self._desk.listed:
            self._select_at(0)

    def do_last(self) -> None:
        if self._desk.listed:
            self._select_at(len(self._desk.listed) - 1)

    def do_next_needing(self) -> bool:
        return self._to_needing(1)

    def do_previous_needing(self) -> bool:
        return self._to_needing(-1)

    def _to_needing(self, step: int) -> bool:
        """Who waits for an answer comes before who is merely done or went wrong; a summary is gone through first."""
        if self._desk.away_actions.step(step):
            return True
        self._unfold_needing()
        if self.move(step, among=lambda agent: agent.status is Status.BLOCKED):
            return True
        if self.move(step, among=lambda agent: agent.status in NEEDY):
            return True
        self._desk.notify("nobody needs you")
        return False

    def _unfold_needing(self) -> None:
        needing = {(agent.project, agent.batch) for agent in self._desk.state.agents if agent.status in NEEDY}
        if self._desk.shown.folded & needing:
            self._change(folded=self._desk.shown.folded - needing)

    def do_jump(self, number: int) -> None:
        agents = self._desk.in_panes
        if number <= len(agents):
            self._desk.selected = agents[number - 1].id

    # ── what is shown ───────────────────────────────────────────────────────────────────────────────────────────

    def _change(self, **changes: object) -> None:
        shown: Shown = replace(self._desk.shown, **changes)  # type: ignore[arg-type]  # names and types are the dataclass's
        self._desk.show_rows(shown)

    def do_fold(self) -> None:
        agent = self._desk.agent
        if agent is not None and self._desk.shown.order == "batch":
            self.fold((agent.project, agent.batch))

    def do_unfold(self) -> None:
        self._change(folded=frozenset())

    def fold(self, place: tuple[str, str]) -> None:
        """Fold a batch, or unfold it."""
        self._change(folded=self._desk.shown.folded ^ {place})

    def unfold_for(self, agent: Agent) -> None:
        place = (agent.project, agent.batch)
        if place in self._desk.shown.folded:
            self._change(folded=self._desk.shown.folded - {place})

    def do_mark(self) -> None:
        if self._desk.agent is not None:
            self._desk.marked ^= {self._desk.agent.id}
            self.move(1)
            self._desk.show()

    def do_mute(self) -> None:
        """No notices of the selected batch until the dashboard is left, or again."""
        agent = self._desk.agent
        if agent is not None:
            self._desk.muted ^= {(agent.project, agent.batch)}
            is_muted = (agent.project, agent.batch) in self._desk.muted
            said = "muted until you leave" if is_muted else "on again"
            self._desk.notify(f"notices of {clean(agent.batch)} are {said}")

    def do_order(self) -> None:
        self._change(order="need" if self._desk.shown.order == "batch" else "batch")

    def _has_any(self) -> bool:
        """Whether there is anybody to filter; a filter set before there is would hide who comes."""
        if self._desk.has_class("empty"):
            self._desk.notify("there is nobody to filter", severity="warning")
            return False
        return True

    def do_filter(self) -> None:
        if not self._has_any():
            return
        self._desk.add_class("filtering")
        self._desk.query_one("#filter", Input).focus()
        self._desk.call_after_refresh(self._desk.show)

    def do_needing_only(self) -> None:
        if not self._has_any():
            return
        what = self._desk.shown.filter
        self._change(filter=replace(what, needing_only=not what.needing_only))

    def filter(self, text: str) -> None:
        self._change(filter=replace(self._desk.shown.filter, text=text))

    def end_filter(self) -> None:
        """Leave the line; the filter stays, unless it is empty."""
        desk = self._desk
        desk.set_focus(None)
        desk.set_class(bool(desk.query_one("#filter", Input).value.strip()), "filtering")
        desk.show()

    def clear_filter(self) -> None:
        self._desk.query_one("#filter", Input).value = ""
        self._desk.remove_class("filtering")
        self._change(filter=Filter())
