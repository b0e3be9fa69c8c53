"""The dashboard's model: the fleet as last read, and what the user has selected, marked, folded, pinned and filtered.

Plain Python, without Textual. Announces each change by the part that changed; widgets and actions read it and never
keep a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fleet_tui.faces.live import LiveData
from fleet_tui.faces.notices import BatchKey
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.tui.widgets.rows import Filter, ListRow, Order, ProjectRow, RowFilter, agents_of, rows

Part = Literal["state", "live", "project", "selected", "typing", "rows", "marked", "panes"]
"""What a change is about."""


class FleetView:
    """The state behind one dashboard."""

    def __init__(self, state: FleetState) -> None:
        self.state = state
        self.live = LiveData()
        self.project: ProjectInfo | None = None
        """The project that the dashboard was opened in; None until the worker has answered."""
        self.selected = ""
        self.typing = ""
        """The agent that keys go to; empty while they go to the list."""
        self.marked: frozenset[str] = frozenset()
        self.muted: set[BatchKey] = set()
        """Batches without notices."""
        self.pinned: tuple[str, ...] = ()
        """Agents that keep their panes, in this order."""
        self.is_zoomed = False
        self.shown = RowFilter()
        self.rows: tuple[ListRow, ...] = rows(state, self.shown)
        self._last_place = 0
        self.on_change: Callable[[Part], None] = lambda _: None

    # ── new data ────────────────────────────────────────────────────────────────────────────────────────────────────

    def take_state(self, state: FleetState) -> None:
        if state == self.state:
            return
        self.state = state
        there = {agent.id for agent in state.agents if agent.status is not Status.KILLED}
        self.marked &= there
        self.pinned = tuple(one for one in self.pinned if one in there)
        self.rows = rows(state, self.shown)
        self.on_change("state")
        if self.agent is None or self.agent in self.listed:
            self.keep_selection()
        self.on_change("rows")

    def take_live(self, live: LiveData) -> None:
        if live != self.live:
            self.live = live
            self.on_change("live")

    def take_project(self, project: ProjectInfo) -> None:
        if project != self.project:
            is_first = self.project is None
            has_chosen = bool(self.typing) or self._last_place > 0
            self.project = project
            self.on_change("project")
            self.change_rows(replace(self.shown, here=project.project))
            if is_first and not has_chosen:
                # Its agents have come to the top, away from the cursor.
                self.select_first()

    # ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_empty(self) -> bool:
        """No agent can be listed."""
        return all(agent.status is Status.KILLED for agent in self.state.agents)

    @property
    def agent(self) -> Agent | None:
        """The selected agent; None while a filter or a folded batch hides it, as keys act only on what is shown."""
        is_shown = (
            self.selected == self.typing
            or self.selected in self.pinned
            or any(agent.id == self.selected for agent in self.listed)
        )
        return self.by_id(self.selected) if is_shown else None

    @property
    def looked_at(self) -> frozenset[str]:
        """The ids of the agents that the user is looking at: no notice is needed of them."""
        selected = self.agent
        return frozenset({self.typing, selected.id if selected is not None else ""} - {""})

    @property
    def targets(self) -> list[Agent]:
        """The marked agents, or the selected one."""
        if self.marked:
            return [agent for agent in self.state.agents if agent.id in self.marked]
        return [self.agent] if self.agent else []

    @property
    def listed(self) -> list[Agent]:
        """The agents in the order of the list."""
        return agents_of(self.rows)

    @property
    def pinned_agents(self) -> list[Agent]:
        """Including those in folded batches, and those that the filter hides."""
        found = (self.by_id(one) for one in self.pinned)
        return [agent for agent in found if agent is not None]

    @property
    def line_count(self) -> int:
        """Lines of the list at its lowest density."""
        return sum(not isinstance(row, ProjectRow) for row in self.rows)

    def by_id(self, agent_id: str) -> Agent | None:
        if not agent_id:
            return None
        return next((agent for agent in self.state.agents if agent.id == agent_id), None)

    # ── selection ───────────────────────────────────────────────────────────────────────────────────────────────

    def select(self, agent_id: str) -> None:
        """Select an agent, unfolding its batch if that is folded."""
        agent = self.by_id(agent_id)
        if agent is None:
            return
        place = (agent.project, agent.batch)
        if place in self.shown.folded:
            self.change_rows(replace(self.shown, folded=self.shown.folded - {place}))
        self._set_selected(agent_id)

    def move(self, step: int, *, among: Callable[[Agent], bool] = lambda _: True) -> bool:
        """Select the next agent of a kind, wrapping around the ends; returns whether there is any."""
        agents = self.listed
        count = len(agents)
        here = next((place for place, one in enumerate(agents) if one.id == self.selected), -1)
        for distance in range(1, count + 1):
            place = (here + step * distance) % count
            if among(agents[place]):
                self._select_at(place)
                return True
        return False

    def select_first(self) -> None:
        if self.listed:
            self._select_at(0)

    def select_last(self) -> None:
        if self.listed:
            self._select_at(len(self.listed) - 1)

    def keep_selection(self) -> None:
        """Keep the cursor on its agent while that is listed or typed to; else move it to a neighbor."""
        agents = self.listed
        places = {agent.id: place for place, agent in enumerate(agents)}
        if self.selected in places:
            self._last_place = places[self.selected]
        elif agents and not (self.typing and self.selected == self.typing):
            self._select_at(min(self._last_place, len(agents) - 1))

    def _select_at(self, place: int) -> None:
        self._last_place = place
        self._set_selected(self.listed[place].id)

    def _set_selected(self, agent_id: str) -> None:
        if agent_id != self.selected:
            self.selected = agent_id
            self.on_change("selected")

    def type_to(self, agent_id: str) -> None:
        """Let keys go to this agent, or to the list when empty."""
        if agent_id != self.typing:
            self.typing = agent_id
            self.on_change("typing")

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────

    def change_rows(self, shown: RowFilter) -> None:
        """List the rows that pass; the cursor stays with its agent."""
        self.shown = shown
        self.rows = rows(self.state, shown)
        self.keep_selection()
        self.on_change("rows")

    def toggle_fold(self, batch: BatchKey) -> None:
        """Fold a batch or unfold it; not under a filter, which shows whatever passes."""
        if not self.shown.filter.is_empty:
            return
        self.change_rows(replace(self.shown, folded=self.shown.folded ^ {batch}))

    def unfold(self, batches: frozenset[BatchKey] | None = None) -> None:
        """Unfold these batches, or all."""
        folded = self.shown.folded - batches if batches is not None else frozenset()
        if folded != self.shown.folded or batches is None:
            self.change_rows(replace(self.shown, folded=folded))

    def set_order(self, order: Order) -> None:
        self.change_rows(replace(self.shown, order=order))

    def filter(self, text: str) -> None:
        self.change_rows(replace(self.shown, filter=replace(self.shown.filter, text=text)))

    def toggle_needing_only(self) -> None:
        what = self.shown.filter
        self.change_rows(replace(self.shown, filter=replace(what, needing_only=not what.needing_only)))

    def clear_filter(self) -> None:
        self.change_rows(replace(self.shown, filter=Filter()))

    # ── marks, notices, panes ───────────────────────────────────────────────────────────────────────────────────

    def toggle_mark(self) -> None:
        """Mark the selected agent, or take its mark away, and go on to the next."""
        if self.agent is not None:
            self.marked ^= {self.agent.id}
            self.move(1)
            self.on_change("marked")

    def unmark(self) -> None:
        self.marked = frozenset()
        self.on_change("marked")

    def toggle_mute(self, batch: BatchKey) -> bool:
        """Mute the notices of a batch, or unmute them; returns whether they are muted now."""
        self.muted ^= {batch}
        return batch in self.muted

    def toggle_pin(self) -> None:
        """Let the selected agent keep its pane, or no longer."""
        if self.agent is None:
            return
        others = tuple(one for one in self.pinned if one != self.selected)
        self.pinned = others if self.selected in self.pinned else (*others, self.selected)
        self.on_change("panes")

    def zoom(self, is_zoomed: bool) -> None:
        self.is_zoomed = is_zoomed
        self.on_change("panes")
