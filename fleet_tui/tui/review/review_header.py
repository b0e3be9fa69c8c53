"""The top line of the review: whose work into which branch, and what decides whether it can land."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.quantities import counted
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, length
from fleet_tui.work import Diff


class ReviewHeader(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._name = ""
        self._target: Line = ()
        self._facts: Sequence[Line] = ()
        self._diff: Diff | None = None

    def show(self, name: str, target: Line, facts: Sequence[Line], diff: Diff | None) -> None:
        """Show whose diff it is. Facts are by importance: the last one gives way first."""
        self._name, self._target, self._facts, self._diff = name, target, facts, diff
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        left: Line = ((" fleet  ", "bold"), ("review  ", "muted"), (clean(self._name), "bold"), *self._target)
        facts = [*self._facts]
        right = self._right(facts)
        while facts and length(left) + length(right) + 2 > width:
            facts.pop()
            right = self._right(facts)
        return [both_ends(left, right, width)]

    def _right(self, facts: Sequence[Line]) -> Line:
        found: Line = ()
        for fact in facts:
            found = (*found, *fact, ("   ", ""))
        diff = self._diff
        if diff is None:
            return (*found, ("reading ", "muted"))
        counts: Line = ((counted(len(diff.files), "file"), ""),)
        if diff.added:
            counts = (*counts, (f" +{diff.added}", "success"))
        if diff.removed:
            counts = (*counts, (f" −{diff.removed}", "error"))
        return (*found, *counts, (" ", ""))
