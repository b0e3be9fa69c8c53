"""How the room is divided: how many panes, whose, zoom, and how wide the list is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_tui.models import Agent
from fleet_tui.tui.widgets.pane_grid import LAYOUTS, follow
from fleet_tui.tui.widgets.welcome import LEAST

if TYPE_CHECKING:
    from fleet_tui.tui.screens.dashboard import Dashboard

STACKED, WIDE, BIG = 100, 140, 200
"""Widths of the terminal: below the first the list is on top; from the others on there is room for more."""
HUGE = (220, 54)
"""Columns and rows from which nine panes are readable."""
SIDE_STEP, SIDE_LEAST, PANES_LEAST = 4, 28, 44


class LayoutActions:
    """Layout keys, bound to one dashboard."""

    def __init__(self, desk: Dashboard, panes: int = 0) -> None:
        self._desk = desk
        self._panes = panes if panes in LAYOUTS else 0
        self._side_width = 0
        self._is_zoomed = False
        self.pinned: tuple[str, ...] = ()

    @property
    def is_zoomed(self) -> bool:
        return self._is_zoomed

    def in_panes(self) -> list[Agent]:
        """Whose terminals are shown, in the order of the panes."""
        desk = self._desk
        wanted = desk.typing or desk.selected
        typed_to = desk.by_id(desk.typing)
        agents = desk.listed
        if typed_to is not None and typed_to not in agents:
            # A filter may come to hide it; its terminal stays as long as keys go there.
            agents = [*agents, typed_to]
        if self._is_zoomed:
            return [agent for agent in agents if agent.id == wanted]
        return follow(agents, wanted, self._panes or self._usual_panes(), self.pinned)

    def _usual_panes(self) -> int:
        width, height = self._desk.size
        if width < STACKED:
            return 1
        if width < WIDE:
            return 2
        if width < BIG:
            return 4
        return 9 if width >= HUGE[0] and height >= HUGE[1] else 6

    def arrange(self) -> None:
        """Fit the columns to the terminal."""
        desk = self._desk
        width, height = desk.size
        desk.set_class(width < LEAST[0] or height < LEAST[1], "small")
        desk.set_class(width < STACKED, "stacked")
        desk.set_class(WIDE <= width < BIG, "wide")
        desk.set_class(width >= BIG, "big")
        side = desk.query_one("#side")
        if width < STACKED:
            side.styles.width = "1fr"
            side.styles.height = max(6, min(desk.line_count + 2, height // 2))
        else:
            side.styles.height = "1fr"
            usual = 44 if width < WIDE else 48 if width < BIG else 52
            side.styles.width = min(max(SIDE_LEAST, width - PANES_LEAST), self._side_width or usual)

    def do_wider(self) -> None:
        self.set_side(self._desk.query_one("#side").outer_size.width + SIDE_STEP)

    def do_narrower(self) -> None:
        self.set_side(self._desk.query_one("#side").outer_size.width - SIDE_STEP)

    def set_side(self, width: int) -> None:
        """The list's own width from now on."""
        self._side_width = max(SIDE_LEAST, min(self._desk.size.width - PANES_LEAST, width))
        self.arrange()

    def do_layout(self) -> None:
        now = self._panes or self._usual_panes()
        self.set_panes(LAYOUTS[(LAYOUTS.index(now) + 1) % len(LAYOUTS)])

    def set_panes(self, panes: int) -> None:
        self._panes = panes
        self._is_zoomed = False
        self._desk.remove_class("no-side")
        self._desk.notify(f"{panes} pane{'s' if panes > 1 else ''}", timeout=1.5)
        self._desk.show()

    def do_zoom(self) -> None:
        self._is_zoomed = not self._is_zoomed
        self._desk.set_class(self._is_zoomed, "no-side")
        self._desk.show()

    def do_side(self) -> None:
        self._desk.toggle_class("no-side")

    def do_pin(self) -> None:
        agent = self._desk.agent
        if agent is None:
            return
        others = tuple(one for one in self.pinned if one != agent.id)
        self.pinned = others if agent.id in self.pinned else (*others, agent.id)
        self._desk.show()
