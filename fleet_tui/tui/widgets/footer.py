"""The bottom line: the mode, then keys by importance. Entries are dropped whole, never cut."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.tui.widgets.lines import CHIP_HERE, CHIP_QUIET, Line, LineView, both_ends, clean, key, length

FooterKey = tuple[str, str]
"""A chord as displayed, and its label."""


class Footer(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar bottom")
        self._chip = ""
        self._chip_role = CHIP_QUIET
        self._entries: Sequence[FooterKey] = ()
        self._right: Line = ()

    def show_list(
        self, entries: Sequence[FooterKey], pinned: FooterKey | None, *, chip: str = "LIST"
    ) -> None:
        self._chip, self._chip_role, self._entries = f" {chip} ", CHIP_QUIET, entries
        self._right = (*key(*pinned), (" ", "")) if pinned else ()
        self.redraw()

    def show_typing(self, name: str, entries: Sequence[FooterKey], said: str, *, has_ended: bool) -> None:
        mode, role = ("ENDED", CHIP_QUIET) if has_ended else ("TYPING", CHIP_HERE)
        self._chip, self._chip_role, self._entries = f" {mode} → {clean(name)} ", role, entries
        self._right = ((said, "muted"), (" ", ""))
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        left: Line = ((self._chip, self._chip_role), (" ", ""))
        right = self._right
        must = sum(length(key(*entry)) + 2 for entry in self._entries[:2])
        if length(left) + must + length(right) + 1 > width:
            right = ()
        for entry in self._entries:
            longer = (*left, (" ", ""), *key(*entry), (" ", ""))
            if length(longer) + length(right) + 1 > width:
                break
            left = longer
        return [both_ends(left, right, width, gap=0 if not right else 1)]
