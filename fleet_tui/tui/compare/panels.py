"""What is below the table: why the selected agent has its place, what landing it means, the prompt, and the files touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fleet_tui.comparison import ComparedAgent, Comparison
from fleet_tui.quantities import counted
from fleet_tui.text import block
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, cut_line, fit, wrap

SQUARES = 4
"""The longest bar of a file."""
CELL, SMALL_CELL = 11, 6
"""Cells of an agent's column with bars, and without."""
PATH_LEAST, PATH_MOST = 14, 46
FACT = 28
"""Cells of a fact, before how the others compare."""
_ORDINALS = ("", "1st", "2nd", "3rd")


def ordinal(place: int) -> str:
    return _ORDINALS[place] if place < len(_ORDINALS) else f"{place}th"


# ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def reasons(found: Comparison, one: ComparedAgent, width: int) -> list[Line]:
    """The facts about an agent beside the others, then what decided its place."""
    rank = found.ranks[one.id]
    lines: list[Line] = []
    if one.problem:
        return [((" ✗ ", "error"), (clean(one.problem), ""))]
    longest = max((len(ground.fact) for ground in rank.grounds), default=0)
    fact = min(FACT, longest, max(12, width // 2))
    for ground in rank.grounds:
        mark = (
            (" ✓ ", "success")
            if ground.is_better
            else (" ✗ ", "error")
            if ground.is_bad
            else (" · ", "muted")
        )
        lines.append(
            (mark, *fit(((clean(ground.fact), ""),), fact), ("  ", ""), (clean(ground.others), "muted"))
        )
    if one.is_empty:
        lines.append(((" – ", "muted"), ("it has changed nothing", "")))
    if rank.decided:
        lines += [(), ((" ", ""), (clean(rank.decided), "muted"))]
    if one.check is not None and one.check.note:
        lines.append(((" ", ""), (f"check: {clean(one.check.note)}", "muted")))
    return lines


def landing(found: Comparison, one: ComparedAgent, landing_key: str) -> list[Line]:
    """What landing an agent's work means, in numbered steps."""
    steps: list[Line] = []
    unsaved = sum(file.is_uncommitted for file in one.files)
    if one.base_conflicts:
        first = clean(one.base_conflicts[0])
        steps.append(((f"stop: {first} conflicts with {clean(found.base)}", ""),))
    else:
        if unsaved:
            steps.append(((f"commit {counted(unsaved, 'uncommitted file')}", ""),))
        if found.command:
            steps.append(((f"run the check again on {clean(found.base)} + {clean(one.label)}", ""),))
        steps.append(((f"merge it into {clean(found.base)}", ""),))
        others = len(found.agents) - 1
        if others:
            rest: Line = ((f"offer the other {others if others > 1 else 'one'} for the trash; ", ""),)
            steps.append((*rest, ("u", "bold accent"), (" brings back", "muted")))
    head: Line = ((f" Landing {clean(one.label)} will", "bold"), (f"  {landing_key}", "bold accent"))
    return [head, *(((f" {number} ", "muted"), *step) for number, step in enumerate(steps, 1))]


def prompt_lines(text: str, width: int, most: int) -> list[Line]:
    """The prompt, wrapped to so many lines."""
    lines: list[str] = []
    for line in block(text).splitlines():
        lines += wrap(line, max(8, width - 2), max(1, most))
    shown = lines[:most]
    return [cut_line(((" ", ""), (line, "muted")), width) for line in shown]


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────────────


def matrix(found: Comparison, selected: str, width: int, height: int) -> list[Line]:
    """Files against agents, with the lines that each has changed; what most of them touch comes first."""
    agents = [one for one in found.agents if not one.is_empty]
    if not agents:
        return [((" nothing is changed yet", "muted"),)]
    lines_of = {one.id: {file.path: file.added + file.removed for file in one.files} for one in agents}
    paths = sorted(
        {path for changed in lines_of.values() for path in changed},
        key=lambda path: (
            -sum(path in changed for changed in lines_of.values()),
            -sum(changed.get(path, 0) for changed in lines_of.values()),
            path,
        ),
    )
    cell = CELL if width - CELL * len(agents) >= PATH_LEAST else SMALL_CELL
    agents = agents[: max(1, (width - PATH_LEAST) // cell)]
    room = min(PATH_MOST, max(map(len, paths)) + 2, width - cell * len(agents) - 1)
    most = max((count for changed in lines_of.values() for count in changed.values()), default=1)
    head: list[tuple[str, str]] = [(" " * (room + 1), "")]
    for one in agents:
        head += fit(((clean(one.label), "bold" if one.id == selected else "muted"),), cell)
    rows: list[Line] = [tuple(head)]
    shown = paths if len(paths) < height else paths[: max(1, height - 2)]
    for path in shown:
        row: list[tuple[str, str]] = [(" ", ""), *_path(path, room)]
        for one in agents:
            row += fit(_cell(lines_of[one.id].get(path), most, has_bar=cell == CELL), cell)
        rows.append(tuple(row))
    if len(shown) < len(paths):
        rows.append(((f" and {counted(len(paths) - len(shown), 'more file')}", "muted"),))
    return rows


def _path(path: str, width: int) -> Line:
    """A path, cut on the left: its end tells files apart."""
    text = clean(path)
    if len(text) > width - 1:
        text = f"…{text[-(width - 2) :]}"
    return fit(((text, ""),), width)


def _cell(count: int | None, most: int, *, has_bar: bool) -> Line:
    if count is None:
        return (("·", "muted"),)
    squares = "■" * max(1, round(SQUARES * count / max(1, most))) if has_bar else ""
    return ((f"{squares} ", "primary"), (str(count), "muted")) if squares else ((str(count), ""),)


def across(found: Comparison) -> list[Line]:
    """What is to be seen across all of them."""
    if not found.differences:
        return []
    head: Line = ((" Seen across them", "bold"),)
    return [head, *(((" • ", "muted"), (clean(text), "")) for text in found.differences)]


# ── widgets ─────────────────────────────────────────────────────────────────────────────────────────────────────


class ComparePanel(LineView):
    """Lines that a function makes for the size of the panel; the parts are separated by rules where there is room."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make: Callable[[int, int], list[list[Line]]] = lambda _width, _height: []

    def show(self, make: Callable[[int, int], list[list[Line]]]) -> None:
        """Draw what this makes: parts, of which later ones are left out where they do not fit."""
        self._make = make
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        parts = [part for part in self._make(width, height) if part]
        found: list[Line] = []
        for part in parts:
            left = height - len(found)
            if not found:
                found += part[:left]
            elif left >= len(part) + 3:
                found += [(), ((" ", ""), ("─" * max(0, width - 3), "rule")), (), *part]
            elif left >= len(part) + 1:
                found += [(), *part]
        return [cut_line(line, width) for line in found]


class CompareHeader(LineView):
    """The top line: what is compared, what it has cost, and how long it took."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar top")
        self._left: Line = ()
        self._right: Line = ()

    def show(self, left: Line, right: Line) -> None:
        self._left, self._right = left, right
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        start: Line = ((" fleet  ", "bold"), ("compare  ", "muted"))
        return [both_ends((*start, *self._left), self._right, width)]
