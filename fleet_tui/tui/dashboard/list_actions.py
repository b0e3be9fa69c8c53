"""Move in the list and decide what it shows: folding, marks, order, filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleet_tui import selection
from fleet_tui.faces.wording import STATUS_LOOKS
from fleet_tui.models import Agent, Status
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.statuses import NEEDY


class ListActions:
    """The keys of the list."""

    def __init__(
        self,
        view: FleetView,
        display: Display,
        *,
        step_summary: Callable[[int], bool],
        agents_in_panes: Callable[[], list[Agent]],
        show_list: Callable[[], None],
        open_filter: Callable[[], None],
        clear_filter: Callable[[], None],
    ) -> None:
        self._view = view
        self._display = display
        self._step_summary = step_summary
        self._agents_in_panes = agents_in_panes
        self._show_list = show_list
        self._open_filter = open_filter
        self._clear_filter = clear_filter

    # ── moving ──────────────────────────────────────────────────────────────────────────────────────────────────

    def select_next(self) -> None:
        self._view.move(1)

    def select_previous(self) -> None:
        self._view.move(-1)

    def select_first(self) -> None:
        self._view.select_first()

    def select_last(self) -> None:
        self._view.select_last()

    def select_next_needing(self) -> bool:
        return self._select_needing(1)

    def select_previous_needing(self) -> bool:
        return self._select_needing(-1)

    def _select_needing(self, step: int) -> bool:
        """Go through an open summary first, then agents that wait for an answer, then those done or failed."""
        if self._step_summary(step):
            return True
        agents = self._view.state.agents
        if self._show_next(step, [agent for agent in agents if agent.status is Status.BLOCKED]):
            return True
        if self._show_next(step, [agent for agent in agents if agent.status in NEEDY]):
            return True
        self._display.notify("no agent needs you")
        return False

    def select_next_counted(self, total: Status) -> None:
        """Select the next agent that the header counts as this status."""
        agents = self._view.state.agents
        self._show_next(1, [agent for agent in agents if STATUS_LOOKS[agent.status].total is total])

    def select_next_colliding(self) -> None:
        """Select the next agent whose work does not merge."""
        marked = self._view.live.conflict_marks
        self._show_next(1, [agent for agent in self._view.state.agents if agent.id in marked])

    def _show_next(self, step: int, agents: Sequence[Agent]) -> bool:
        """Select the next of these agents: unfold their batches, and clear a filter that hides them all."""
        if not agents:
            return False
        self._view.unfold(frozenset((agent.project, agent.batch) for agent in agents))
        if not self._view.move(step, among=lambda agent: agent in agents):
            self._clear_filter()
            self._view.move(step, among=lambda agent: agent in agents)
        return True

    def select_pane(self, number: int) -> None:
        agents = self._agents_in_panes()
        if number <= len(agents):
            self._view.select(agents[number - 1].id)

    # ── what the list shows, so it is shown first ───────────────────────────────────────────────────────────────

    def fold(self) -> None:
        """Fold the batch of the selected agent, or unfold it if that hides the agent."""
        self._show_list()
        agent = self._view.by_id(self._view.selected)
        if agent is not None and self._view.shown.order == "batch":
            self._view.toggle_fold((agent.project, agent.batch))

    def unfold_all(self) -> None:
        self._show_list()
        self._view.unfold()

    def mark(self) -> None:
        self._show_list()
        self._view.toggle_mark()

    def mute(self) -> None:
        """Mute the notices of the selected batch until the dashboard is left, or unmute them."""
        agent = self._view.agent
        if agent is not None:
            batch = (agent.project, agent.batch)
            name = selection.batch_names(self._view.state.agents)[batch]
            now = "muted until you quit" if self._view.toggle_mute(batch) else "on again"
            self._display.notify(f"notices of {clean(name)} are {now}")

    def toggle_order(self) -> None:
        self._show_list()
        self._view.set_order("need" if self._view.shown.order == "batch" else "batch")

    def filter(self) -> None:
        if self._has_any():
            self._show_list()
            self._open_filter()

    def toggle_needing_only(self) -> None:
        if self._has_any():
            self._show_list()
            self._view.toggle_needing_only()

    def _has_any(self) -> bool:
        """Whether there is an agent; a filter set before there is one would hide the first."""
        if self._view.is_empty:
            self._display.warn("no agents to filter")
        return not self._view.is_empty
