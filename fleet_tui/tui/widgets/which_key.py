"""What may follow the leader: a sheet at the bottom that hides nothing above it and takes no keys itself."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, Lines, fit

Group = tuple[str, Sequence[tuple[str, str]]]
"""A heading with its keys and their meanings."""


class KeyColumns(Lines):
    """Groups of keys beside each other, or below each other where there is no room."""

    def __init__(self, *, key_width: int = 9, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._groups: Sequence[Group] = ()
        self._key_width = key_width

    def show(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self.redraw(everything=True)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return key_columns(self._groups, width, self._key_width)


def key_columns(
    groups: Sequence[Group], width: int, key_width: int, *, gap: int = 3, least: int = 28
) -> list[Line]:
    """As many columns as fit; groups that do not go below, in rows of columns."""
    if not groups:
        return [(("no key does that", "muted"),)]
    columns = max(1, min(len(groups), (width + gap) // (least + gap)))
    lines: list[Line] = []
    for first in range(0, len(groups), columns):
        if lines:
            lines.append(())
        lines += _band(
            groups[first : first + columns], (width - gap * (columns - 1)) // columns, key_width, gap
        )
    return lines


def _band(groups: Sequence[Group], column: int, key_width: int, gap: int) -> list[Line]:
    space = (" " * gap, "")
    head: Line = tuple(part for name, _ in groups for part in (*fit(((name, "bold"),), column), space))
    rule: Line = tuple(part for _ in groups for part in (("─" * column, "rule"), space))
    lines = [head, rule]
    widths = [max(key_width, *(len(chord) + 1 for chord, _ in keys)) for _, keys in groups]
    for row in range(max(len(keys) for _, keys in groups)):
        line: list[tuple[str, str]] = []
        for (_, keys), width in zip(groups, widths, strict=True):
            cell: Line = ()
            if row < len(keys):
                chord, says = keys[row]
                cell = (*fit(((chord, "bold accent"),), width), (" ", ""), (says, ""))
            line += [*fit(cell, column), space]
        lines.append(tuple(line))
    return lines


class WhichKey(Frame):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="sheet")
        self._columns = KeyColumns(key_width=7)

    def compose(self) -> ComposeResult:
        yield self._columns

    def show(self, leader: str, groups: Sequence[Group], name: str) -> None:
        self._columns.show(groups)
        self.title(
            ((leader, "bold accent"), (" then …", "muted")), ((f"then typing goes on in {name}", "muted"),)
        )
        self.display = True
