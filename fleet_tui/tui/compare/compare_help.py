"""The keys of the compare screen in a dialog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.binding import Binding
from textual.widget import Widget

from fleet_tui.tui.compare.keys import groups
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.widgets.lines import Line, LineView
from fleet_tui.tui.widgets.which_key import key_columns


class CompareHelp(Dialog[None]):
    heading = "Keys of the comparison"

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("question_mark,q,enter", "leave", show=False),
        Binding("j,down", "scroll_keys(1)", show=False),
        Binding("k,up", "scroll_keys(-1)", show=False),
    ]

    def body(self) -> Iterable[Widget]:
        yield CompareKeys(id="keys")

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("j k", "scroll"), ("esc", "close")

    def action_scroll_keys(self, rows: int) -> None:
        self.query_one(CompareKeys).scroll_lines(rows)


class CompareKeys(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._top = 0

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = key_columns(groups(), width, 4)
        self._top = max(0, min(self._top, len(found) - height))
        return found[self._top : self._top + height]

    def scroll_lines(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()
