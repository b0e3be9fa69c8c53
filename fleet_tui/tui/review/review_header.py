"""The top line of the review: whose work into which branch, and what decides whether it can land."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.quantities import counted
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, cut_line, length
from fleet_tui.work import CheckRun, CheckState, Diff

COMMAND_CELLS = 24
"""Of a check's command."""
_CHECKS = {
    CheckState.WAITING: ("◌", "primary", ", waits"),
    CheckState.RUNNING: ("●", "primary", ", running"),
    CheckState.PASSED: ("✓", "success", ""),
    CheckState.FAILED: ("✗", "error", " failed"),
    CheckState.TIMED_OUT: ("✗", "error", " timed out"),
    CheckState.NOT_STARTED: ("✗", "error", " did not start"),
    CheckState.CANCELLED: ("–", "muted", ", cancelled"),
}
"""Glyph, its role, and what is said after the command."""


def check_fact(run: CheckRun | None, tree: str) -> Line:
    """The newest check of an agent's work, and whether its files have changed since."""
    if run is None:
        return ()
    glyph, role, said = _CHECKS[run.state]
    command = cut_line(((clean(run.command), ""),), COMMAND_CELLS)
    if run.state is CheckState.PASSED and tree != run.tree:
        return (("– ", "muted"), *command, (", files changed since", "muted"))
    return ((f"{glyph} ", role), *command, (said, "" if role == "error" else "muted"))


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
