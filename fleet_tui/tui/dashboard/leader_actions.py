"""Keys after the leader that select another agent and keep typing, to that one."""

from __future__ import annotations

from fleet_tui.tui.dashboard.list_actions import ListActions
from fleet_tui.tui.dashboard.typing_mode import TypingMode


class LeaderActions:
    """Moves of the list while typing."""

    def __init__(self, moves: ListActions, typing: TypingMode) -> None:
        self._moves = moves
        self._typing = typing

    def next_needing(self) -> None:
        if self._moves.select_next_needing():
            self._typing.go_on()

    def previous_needing(self) -> None:
        if self._moves.select_previous_needing():
            self._typing.go_on()

    def next(self) -> None:
        self._moves.select_next()
        self._typing.go_on()

    def previous(self) -> None:
        self._moves.select_previous()
        self._typing.go_on()

    def pane(self, number: int) -> None:
        self._moves.select_pane(number)
        self._typing.go_on()
