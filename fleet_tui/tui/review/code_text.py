"""Prepare lines of code for cells: tabs expanded, control characters replaced, long lines broken."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, chop_cells

from fleet_tui.text import flat

TAB = 4
LONGEST = 4000
"""Characters of one line that are shown."""


@lru_cache(maxsize=16384)
def shown(text: str) -> str:
    """One line of a file as it is drawn."""
    if len(text) > LONGEST:
        text = text[: LONGEST - 1] + "…"
    return text if text.isprintable() else flat(text.expandtabs(TAB))


def width_of(text: str) -> int:
    return len(text) if text.isascii() else cell_len(text)


def breaks(text: str, width: int) -> list[tuple[int, int]]:
    """The first character of each part that fits the width, and the one after its last."""
    if width < 1 or width_of(text) <= width:
        return [(0, len(text))]
    if text.isascii():
        return [(start, min(len(text), start + width)) for start in range(0, len(text), width)]
    found, start = [], 0
    for part in chop_cells(text, width):
        found.append((start, start + len(part)))
        start += len(part)
    return found


def from_cell(text: str, cell: int) -> int:
    """The first character at or after a cell."""
    if text.isascii():
        return min(cell, len(text))
    place = cells = 0
    while place < len(text) and cells < cell:
        cells += cell_len(text[place])
        place += 1
    return place
