"""The panes of one dashboard: which of them are connected, at what frame rate, and the styles they share.

Connects exactly the panes that are visible now. Nothing keeps count of Show and Hide: Textual may lose both for a
widget when anything looks up a region between a change and the next layout.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from textual.widget import Widget

from fleet_tui import paths
from fleet_tui.models import Agent
from fleet_tui.tui.driver import host_of
from fleet_tui.tui.panes.connection import ConnectionListener, PaneConnection, RunFolders
from fleet_tui.tui.panes.key_priority import KeyPriority
from fleet_tui.tui.panes.painting import StyleSets
from fleet_tui.tui.panes.pressure import Pressure
from fleet_tui.tui.panes.repaint import PaintedPane, RepaintScheduler

TYPING_RATE, SHOWN_RATE, CROWDED_RATE = 60.0, 30.0, 15.0
"""Frames a second: of the pane that is typed into, of the others, and of the others when there are many."""
CROWD = 7
"""Visible panes from which each gets fewer frames."""


class LivePane(PaintedPane, Protocol):
    """A pane, as far as its connection is concerned."""

    @property
    def is_visible(self) -> bool:
        """Whether it shows an agent that can be seen now, derived from the widgets at every call."""

    def connect(self, rate: float) -> None:
        """Open its connection, or change the rate of the open one."""

    def disconnect(self) -> None:
        """Close its connection, if it has one."""


class LivePanes:
    """Keeps the visible panes connected."""

    def __init__(self, folders: RunFolders) -> None:
        self._folders = folders
        self._panes: dict[Widget, LivePane] = {}
        self._checks: dict[str, tuple[Path, Path]] = {}
        self._visible_count = 0
        self._is_reconciling = False
        self.styles = StyleSets()
        self.priority = KeyPriority()
        self.pressure = Pressure(self.reconcile_soon)
        self.repaint = RepaintScheduler(lambda: self._shown_rate, self.priority, self.pressure)

    def connection(self, agent: Agent, listener: ConnectionListener) -> PaneConnection:
        """Return a connection to this run of the agent, or to its check if that is shown; not opened yet."""
        usual = self._folders.run_folder(agent), paths.lock(agent.id)
        return PaneConnection(*self._checks.get(agent.id, usual), agent.name, listener)

    def shows_check(self, agent_id: str) -> bool:
        """Whether the agent's panes show its check instead of its program."""
        return agent_id in self._checks

    def set_check(self, agent_id: str, screen: tuple[Path, Path] | None) -> None:
        """Say where the check of an agent shows its screen, by run folder and lock; None to show the agent again."""
        self._checks.pop(agent_id, None)
        if screen is not None:
            self._checks[agent_id] = screen

    def add(self, widget: Widget, pane: LivePane) -> None:
        """Keep this pane connected while it is visible."""
        self._panes[widget] = pane
        host = host_of(widget.app)
        if host is not None:
            host.on_key = self.priority.pressed
        self.reconcile_soon()

    def remove(self, widget: Widget) -> None:
        self.repaint.cancel(widget)
        pane = self._panes.pop(widget, None)
        if pane is not None:
            pane.disconnect()
            self.reconcile_soon()

    def reconcile_soon(self) -> None:
        """Call after every change of what decides visibility or rate: layout, dialogs, agents, typing."""
        if not self._is_reconciling:
            self._is_reconciling = True
            asyncio.get_running_loop().call_soon(self._reconcile)

    def _reconcile(self) -> None:
        """Connect the panes that are visible now, disconnect the others."""
        self._is_reconciling = False
        visible = {widget for widget, pane in self._panes.items() if pane.is_visible}
        self._visible_count = len(visible)
        for widget, pane in self._panes.items():
            if widget in visible:
                pane.connect(self._typing_rate if pane.wants_rate else self._shown_rate)
            else:
                self.repaint.cancel(widget)
                pane.disconnect()

    @property
    def _shown_rate(self) -> float:
        rate = CROWDED_RATE if self._visible_count >= CROWD else SHOWN_RATE
        return rate * self.pressure.share

    @property
    def _typing_rate(self) -> float:
        return max(SHOWN_RATE, TYPING_RATE * self.pressure.share)
