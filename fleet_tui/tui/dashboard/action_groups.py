"""The groups of actions of one dashboard: made once, wired to each other and to the screen's widgets.

A new subject is a file with its group, a line here, and its rows in the table of actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widget import Widget

from fleet_tui.faces.form_drafts import FormDrafts
from fleet_tui.tui.actions import ACTIONS
from fleet_tui.tui.dashboard.agent_actions import AgentActions
from fleet_tui.tui.dashboard.away_actions import AwayActions
from fleet_tui.tui.dashboard.compare_actions import CompareActions
from fleet_tui.tui.dashboard.conflict_actions import ConflictActions
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.draft_keeper import DraftKeeper
from fleet_tui.tui.dashboard.end_actions import EndActions
from fleet_tui.tui.dashboard.fleet_actions import FleetActions
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.dashboard.handlers import Handler, bind
from fleet_tui.tui.dashboard.land_actions import LandActions
from fleet_tui.tui.dashboard.layout_actions import LayoutActions
from fleet_tui.tui.dashboard.leader_actions import LeaderActions
from fleet_tui.tui.dashboard.list_actions import ListActions
from fleet_tui.tui.dashboard.outside import ExternalPrograms
from fleet_tui.tui.dashboard.prompt_actions import PromptActions
from fleet_tui.tui.dashboard.review_actions import ReviewActions
from fleet_tui.tui.dashboard.scrollback_actions import ScrollbackActions
from fleet_tui.tui.dashboard.start_actions import PromptHistory, StartActions
from fleet_tui.tui.dashboard.trust_gate import TrustGate
from fleet_tui.tui.dashboard.typing_mode import TypingMode
from fleet_tui.tui.dashboard.worker_requests import WorkerRequests
from fleet_tui.tui.panes.grid import PaneGrid
from fleet_tui.tui.panes.pane import Pane
from fleet_tui.tui.widgets.away import Away
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.fleet_list import FleetList
from fleet_tui.tui.widgets.which_key import WhichKey
from fleet_tui.tui.worker_client import WorkerClient


class ActionGroups:
    """All groups, by the names that the table of actions uses."""

    def __init__(
        self,
        screen: Screen[Any],
        view: FleetView,
        display: Display,
        worker: WorkerClient,
        *,
        panes: int,
        run: Callable[[str, str], None],
        forget_hint: Callable[[], None],
        clear_filter: Callable[[], None],
        drafts: FormDrafts,
    ) -> None:
        self._screen = screen
        self._view = view
        self._display = display
        self.requests = requests = WorkerRequests(display, worker)
        prompts, trust = PromptHistory(view), TrustGate(view, display, requests)
        self.layout = LayoutActions(view, display, screen, panes)
        self.away = AwayActions(view, display, lambda: screen.query_one(Away), clear_filter=clear_filter)
        self.list = ListActions(
            view,
            display,
            step_summary=self.away.step,
            agents_in_panes=self.layout.agents_in_panes,
            show_list=self.layout.show_list,
            open_filter=self._open_filter,
            clear_filter=clear_filter,
        )
        self.typing = TypingMode(
            view,
            display,
            grid=lambda: screen.query_one(PaneGrid),
            which_key=lambda: screen.query_one(WhichKey),
            focus=self._focus,
            forget_hint=forget_hint,
            run=run,
        )
        self.leader = LeaderActions(self.list, self.typing)
        self.scrollback = ScrollbackActions(self._selected_pane, self._focused_pane)
        outside = ExternalPrograms(display, self.typing.stop_if_typing)
        kept = DraftKeeper(display, drafts)
        self.agent = AgentActions(
            view, display, requests, outside, kept,
            frame_of=lambda agent: screen.query_one(PaneGrid).frame_of(agent),
        )  # fmt: skip
        self.review = ReviewActions(
            view, display, requests, outside, kept,
            fork=lambda agent, number: self.start.fork_checkpoint(agent, number),
            land=lambda agent: self.landing.open(agent),
        )  # fmt: skip
        self.landing = LandActions(
            view, display, requests, review=self.review.open, shell=self.agent.shell_in
        )
        self.compare = CompareActions(
            view, display, requests, review=self.review.open, land=self.landing.open
        )
        self.fleet = FleetActions(view, display, requests, outside)
        self.start = StartActions(view, display, requests, trust, prompts, kept)
        self.end = EndActions(view, display, requests, trust, self.start.select_when_listed)
        self.prompts = PromptActions(
            view,
            display,
            requests,
            prompts,
            kept,
            type_to=self.typing.begin,
            explain=self.agent.explain,
            beside_selected=self._beside_selected,
        )

        self.conflicts = ConflictActions(view, display, self.review.open)

    def handlers(self) -> dict[str, Handler]:
        """The method of every action of the table; raises MissingHandler for a row without one."""
        groups = {
            "list": self.list,
            "layout": self.layout,
            "typing": self.typing,
            "leader": self.leader,
            "scrollback": self.scrollback,
            "start": self.start,
            "end": self.end,
            "prompts": self.prompts,
            "conflicts": self.conflicts,
            "agent": self.agent,
            "compare": self.compare,
            "review": self.review,
            "landing": self.landing,
            "fleet": self.fleet,
        }
        return bind(ACTIONS, groups)

    # ── what groups need of the widgets ─────────────────────────────────────────────────────────────────────────

    def _beside_selected(self) -> tuple[int, int]:
        """The place right of the list, at the height of the selected row."""
        agents = self._screen.query_one(FleetList)
        return agents.region.right + 1, agents.y_of_selected()

    def _selected_pane(self) -> Pane | None:
        frame = self._screen.query_one(PaneGrid).frame_of(self._view.selected)
        return frame.pane if frame is not None else None

    def _focused_pane(self) -> Pane | None:
        focused = self._screen.focused
        return focused if isinstance(focused, Pane) else None

    def _focus(self, widget: Widget | None) -> None:
        self._screen.set_focus(widget, scroll_visible=False)

    def _open_filter(self) -> None:
        self._screen.add_class("filtering")
        self._screen.query_one("#filter", Input).focus()
        self._display.after_refresh(self._display.redraw)
