"""The top line of the screens of a landing."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.tui.widgets.lines import Line, LineView, both_ends


class LandHeader(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._what: Line = ()
        self._facts: Line = ()

    def show(self, what: Line, facts: Line) -> None:
        """What lands where, and what decides it."""
        self._what, self._facts = what, facts
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        left: Line = ((" fleet  ", "bold"), ("land  ", "muted"), *self._what)
        return [both_ends(left, (*self._facts, (" ", "")), width)]
