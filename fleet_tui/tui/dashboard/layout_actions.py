"""Divide the screen: how many panes, of which agents, zoom, and the width of the list."""

from __future__ import annotations

from typing import Any

from textual.geometry import Region, Size
from textual.screen import Screen

from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.dashboard.display import Display
from fleet_tui.tui.dashboard.fleet_view import FleetView
from fleet_tui.tui.panes.grid import LAYOUTS, follow
from fleet_tui.tui.widgets.header import Header
from fleet_tui.tui.widgets.toasts import ToastRoom, at_header
from fleet_tui.tui.widgets.welcome import LEAST

STACKED, WIDE, BIG = 100, 140, 200
"""Widths of the terminal: below the first the list is above the panes; from the others on there is more room."""
HUGE = (220, 54)
"""Columns and rows from which nine panes are readable."""
SIDE_STEP, SIDE_LEAST, PANES_LEAST = 4, 28, 44


class LayoutActions:
    """The keys of the layout. `body` is the screen whose columns they change."""

    def __init__(self, view: FleetView, display: Display, body: Screen[Any], panes: int = 0) -> None:
        self._view = view
        self._display = display
        self._body = body
        self._panes = panes if panes in LAYOUTS else 0
        self._side_width = 0

    def agents_in_panes(self) -> list[Agent]:
        """The agents whose terminals are shown, in the order of the panes."""
        view = self._view
        typed_to = view.by_id(view.typing)
        if view.is_zoomed:
            zoomed = typed_to or view.agent
            return [zoomed] if zoomed is not None else []
        wanted = view.typing or view.selected
        agents = view.listed
        if typed_to is not None and typed_to not in agents:
            # A filter may hide it; its terminal stays as long as keys go there.
            agents = [*agents, typed_to]
        return follow(agents, wanted, self._panes or self._usual_panes(), view.pinned_agents)

    @property
    def _size(self) -> Size:
        return self._body.size

    def _usual_panes(self) -> int:
        width, height = self._size
        if width < STACKED:
            return 1
        if width < WIDE:
            return 2
        if width < BIG:
            return 4
        return 9 if width >= HUGE[0] and height >= HUGE[1] else 6

    def arrange(self) -> None:
        """Fit the columns to the terminal."""
        body = self._body
        width, height = self._size
        body.set_class(width < LEAST[0] or height < LEAST[1], "small")
        body.set_class(width < STACKED, "stacked")
        body.set_class(WIDE <= width < BIG, "wide")
        body.set_class(width >= BIG, "big")
        side = body.query_one("#side")
        if width < STACKED:
            side.styles.width = "1fr"
            side.styles.height = max(6, min(self._view.line_count + 2, height // 2))
        else:
            side.styles.height = "1fr"
            usual = 44 if width < WIDE else 48 if width < BIG else 52
            side.styles.width = min(max(SIDE_LEAST, width - PANES_LEAST), self._side_width or usual)

    def toast_room(self) -> ToastRoom:
        """Over the detail if it is shown, else over the header: never over a terminal or the list."""
        side, detail = self._body.query_one("#side"), self._body.query_one("#detail")
        if side.region and detail.region:
            return ToastRoom(
                Region(side.region.x, detail.region.y, side.region.width, detail.region.height), is_low=True
            )
        return at_header(self._body, taken=self._body.query_one(Header).chip_end)

    @property
    def is_stacked(self) -> bool:
        return self._body.has_class("stacked")

    def widen_list(self) -> None:
        self._change_width(SIDE_STEP)

    def narrow_list(self) -> None:
        self._change_width(-SIDE_STEP)

    def _change_width(self, step: int) -> None:
        if self.is_stacked:
            self._display.notify("the list has the whole width in a narrow terminal", timeout=3)
        self.set_list_width(self._body.query_one("#side").outer_size.width + step)

    def set_list_width(self, width: int) -> None:
        """Keep the list this wide from now on; above the panes it has the whole width."""
        if self.is_stacked:
            return
        self._side_width = max(SIDE_LEAST, min(self._size.width - PANES_LEAST, width))
        self.arrange()

    def next_layout(self) -> None:
        now = self._panes or self._usual_panes()
        self.set_panes(LAYOUTS[(LAYOUTS.index(now) + 1) % len(LAYOUTS)])

    def set_panes(self, panes: int) -> None:
        self._panes = panes
        self._body.remove_class("no-side")
        self._display.notify(counted(panes, "pane"), timeout=1.5)
        self._view.zoom(False)

    def toggle_zoom(self) -> None:
        if self._view.agent is None and not self._view.is_zoomed:
            self._display.warn("no agent selected")
            return
        self._body.set_class(not self._view.is_zoomed, "no-side")
        self._view.zoom(not self._view.is_zoomed)

    def show_list(self) -> None:
        """Bring back the list that zoom, or a key, has hidden."""
        if self._body.has_class("no-side"):
            self._body.remove_class("no-side")
            self._view.zoom(False)

    def toggle_list(self) -> None:
        self._body.toggle_class("no-side")

    def pin(self) -> None:
        self._view.toggle_pin()
