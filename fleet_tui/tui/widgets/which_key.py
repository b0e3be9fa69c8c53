"""The which-key sheet: the keys after the leader, at the bottom, without taking keys itself."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, LineView, fit

KeyGroup = tuple[str, Sequence[tuple[str, str]]]
"""A heading with its keys and their meanings."""


class KeyColumns(LineView):
    """Groups of keys beside each other, or below each other where there is no room."""

    def __init__(self, *, key_width: int = 9, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._groups: Sequence[KeyGroup] = ()
        self._key_width = key_width

    def show(self, groups: Sequence[KeyGroup]) -> None:
        self._groups = groups
        self.redraw(everything=True)

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return key_columns(self._groups, width, self._key_width)


def key_columns(groups: Sequence[KeyGroup], width: int, key_width: int, *, gap: int = 3) -> list[Line]:
    """Arrange groups in as many columns as fit uncut; the others go below, in further rows."""
    if not groups:
        return [(("no key matches", "muted"),)]
    widths = _column_widths([_needs(keys, key_width) for _, keys in groups], width, gap)
    lines: list[Line] = []
    for first in range(0, len(groups), len(widths)):
        if lines:
            lines.append(())
        lines += _band(groups[first : first + len(widths)], widths, key_width, gap)
    return lines


def _needs(keys: Sequence[tuple[str, str]], key_width: int) -> int:
    return _chords_width(keys, key_width) + 1 + max(len(says) for _, says in keys)


def _chords_width(keys: Sequence[tuple[str, str]], key_width: int) -> int:
    return max(key_width, *(len(chord) + 1 for chord, _ in keys))


def _column_widths(needs: Sequence[int], width: int, gap: int) -> list[int]:
    """Columns of equal width if that is enough for each, else of the needed width and a share of the rest."""
    for count in range(len(needs), 1, -1):
        room = width - gap * (count - 1)
        columns = [max(needs[place::count]) for place in range(count)]
        if max(columns) <= room // count:
            return [room // count] * count
        if sum(columns) <= room:
            return [need + (room - sum(columns)) // count for need in columns]
    return [width]


def _band(groups: Sequence[KeyGroup], widths: Sequence[int], key_width: int, gap: int) -> list[Line]:
    space = (" " * gap, "")
    columns = list(zip(groups, widths, strict=False))
    head: Line = tuple(
        part for (name, _), width in columns for part in (*fit(((name, "bold"),), width), space)
    )
    rule: Line = tuple(part for _, width in columns for part in (("─" * width, "rule"), space))
    lines = [head, rule]
    for row in range(max(len(keys) for _, keys in groups)):
        line: list[tuple[str, str]] = []
        for (_, keys), width in columns:
            cell: Line = ()
            if row < len(keys):
                chord, says = keys[row]
                chords = fit(((chord, "bold accent"),), _chords_width(keys, key_width))
                cell = (*chords, (" ", ""), (says, ""))
            line += [*fit(cell, width), space]
        lines.append(tuple(line))
    return lines


class WhichKey(Frame):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="sheet")
        self._columns = KeyColumns(key_width=7)

    def compose(self) -> ComposeResult:
        yield self._columns

    def show(self, leader: str, groups: Sequence[KeyGroup], name: str) -> None:
        self._columns.show(groups)
        self.title(((leader, "bold accent"), (" then …", "muted")), ((f"then you type to {name}", "muted"),))
        self.display = True
