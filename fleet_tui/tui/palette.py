"""The command palette: every action of the table by name, every agent, every layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from fleet_tui.quantities import counted
from fleet_tui.tui.actions import in_context
from fleet_tui.tui.dashboard.screen import Dashboard
from fleet_tui.tui.panes.grid import LAYOUTS
from fleet_tui.tui.widgets.lines import clean, content, fit

_NOT_LISTED = frozenset({"jump", "palette"})
NAME_WIDTH, SAYS_WIDTH = 20, 36

PaletteCommand = tuple[str, str, str, Callable[[], Any]]
"""Name, description, chord, and the function."""


class FleetCommands(Provider):
    """The commands of the palette over a dashboard."""

    @property
    def _dashboard(self) -> Dashboard | None:
        screen: Screen[Any] = self.screen
        return screen if isinstance(screen, Dashboard) else None

    def _commands(self) -> Iterator[PaletteCommand]:
        dashboard = self._dashboard
        if dashboard is None:
            return
        for action in in_context("list"):
            if action.id not in _NOT_LISTED:
                run = partial(dashboard.action_run, action.id)
                yield action.id.replace("-", " "), action.says, dashboard.keymap.shown(action.id), run
        for count in LAYOUTS:
            says = counted(count, "pane")
            yield f"layout {count}", says, "", partial(dashboard.groups.layout.set_panes, count)
        for agent in dashboard.view.listed:
            yield (
                f"go to {clean(agent.name)}",
                f"{clean(agent.profile)}, {agent.status}",
                "",
                partial(dashboard.view.select, agent.id),
            )

    async def discover(self) -> Hits:
        for name, says, chord, run in self._commands():
            yield DiscoveryHit(_row(name, says, chord), run, text=name)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, says, chord, run in self._commands():
            score = max(matcher.match(name), 0.8 * matcher.match(says))
            if score > 0:
                yield Hit(score, _row(name, says, chord), run, text=name)


def _row(name: str, says: str, chord: str) -> Content:
    """One line: a long name takes the room of the description."""
    wide = max(NAME_WIDTH, len(name) + 2)
    rest = max(0, NAME_WIDTH + SAYS_WIDTH - wide)
    return content(
        (
            *fit(((name, "bold foreground"),), wide),
            *fit(((says, "muted"),), rest),
            (f"{chord:>8}", "bold accent"),
        )
    )
