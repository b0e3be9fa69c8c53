"""The table of compared agents: two lines each, the facts and then the reason for its place.

`table` is pure: a comparison in, lines out. Columns that do not fit are left out, the least important first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.message import Message

from fleet_tui.comparison import ComparedAgent, Comparison
from fleet_tui.faces.check_wording import CHECK_LOOKS, check_time, check_words
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.quantities import clock, dollars
from fleet_tui.tui.widgets.lines import Line, LineView, clean, fit, length

GAP = 2
MARGIN = 6
"""Cells before the first column: the cursor's bar, the mark and the place."""
BAR_LEAST, BAR_MOST = 8, 32
CAPS = {"agent": 24, "profile": 12, "check": 30, "conflicts": 24}
"""The most cells of a column whose text may be long."""
LEAST = {"agent": 6, "check": 12, "conflicts": 9}
"""Down to this they are cut before a column is left out."""
DROPPED = ("tests", "profile", "time", "cost", "files", "conflicts")
"""The columns that leave a narrow table, the first one first."""
RIGHT = frozenset({"diff", "files", "tests", "cost", "time"})
"""Columns that are aligned on the right."""


@dataclass(frozen=True, slots=True)
class TableLook:
    """What the table depends on besides the comparison."""

    selected: str = ""
    """The id."""
    marked: frozenset[str] = frozenset()
    now: float = 0.0


RankedLine = tuple[Line, str]
"""A line, and the id of the agent that it is about; empty for none."""


def table(found: Comparison, look: TableLook, width: int, height: int) -> list[RankedLine]:
    """The head and the agents' lines, as many as fit around the selected one."""
    agents = found.agents
    columns = _columns(found, look)
    widths = _widths(columns, width)
    room = max(0, width - MARGIN - sum(widths.values()) - GAP * (len(widths) - 1) - 1)
    head = _joined({name: ((name, "muted"),) for name in widths}, widths, room, ())
    rows: list[RankedLine] = [(((" " * (MARGIN - 3), ""), ("#  ", "muted"), *head), "")]
    is_roomy = height >= len(agents) * 3 + 2
    has_reasons = height >= len(agents) * 2 + 1
    if is_roomy:
        rows.append(((), ""))
    most = max((one.size for one in agents), default=0)
    for place, one in enumerate(agents):
        cells = {name: cells[place] for name, cells in columns.items()}
        line = _joined(cells, widths, room, _bar(one, most, min(room - GAP, BAR_MOST)))
        is_selected = one.id == look.selected
        rows.append((_row(found.ranks[one.id].place, line, one, look, width), one.id))
        if has_reasons or is_selected:
            reason: Line = ((" " * MARGIN, ""), (clean(found.ranks[one.id].reason), "muted"))
            rows.append((_tinted(fit(reason, width), is_selected=is_selected), one.id))
        if is_roomy:
            rows.append(((), ""))
    return _around_selected(rows, look.selected, height)


def _row(place: int, line: Line, one: ComparedAgent, look: TableLook, width: int) -> Line:
    is_selected = one.id == look.selected
    start: Line = (
        ("▌" if is_selected else " ", "bar"),
        ("•" if one.id in look.marked else " ", "bold accent"),
        (f"{place:>2}  ", "bold" if is_selected else "muted"),
    )
    return _tinted(fit((*start, *line), width), is_selected=is_selected)


def _tinted(line: Line, *, is_selected: bool) -> Line:
    if not is_selected:
        return line
    return tuple((text, f"{role or 'foreground'} on sel") for text, role in line)


def _around_selected(rows: list[RankedLine], selected: str, height: int) -> list[RankedLine]:
    """The head, and as many rows as fit with the selected agent among them."""
    last = max((place for place, (_, agent) in enumerate(rows) if agent == selected), default=0)
    skipped = max(0, last - height + 1)
    return [rows[0], *rows[1 + skipped : height + skipped]]


# ── columns ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _columns(found: Comparison, look: TableLook) -> dict[str, list[Line]]:
    """The cells of each column, in the order of the agents."""
    makers: dict[str, Callable[[ComparedAgent], Line]] = {
        "agent": lambda one: ((clean(one.label), "bold"),),
        "profile": lambda one: ((clean(one.profile), "muted"),),
        "check": lambda one: check_cell(one, look.now),
        "diff": _diff,
        "files": lambda one: ((str(len(one.files) or ""), ""),),
        "tests": lambda one: ((f"{one.tests:+}" if one.tests else "", ""),),
        "conflicts": lambda one: _conflicts(one, found),
        "cost": lambda one: ((dollars(one.cost), ""),),
        "time": lambda one: ((clock(one.seconds), "muted"),),
    }
    columns = {name: [make(one) for one in found.agents] for name, make in makers.items()}
    unknown = {"tests", "cost"}
    return {
        name: cells
        for name, cells in columns.items()
        if name not in unknown or any(length(cell) for cell in cells)
    }


def _widths(columns: dict[str, list[Line]], width: int) -> dict[str, int]:
    """How wide each column is; those that do not fit are left out."""
    widths = {
        name: min(CAPS.get(name, 99), max([len(name), *(length(cell) for cell in cells)]))
        for name, cells in columns.items()
    }

    def excess() -> int:
        return MARGIN + sum(widths.values()) + GAP * (len(widths) - 1) + 1 - width

    for name in DROPPED:
        if excess() <= sum(max(0, widths.get(one, 0) - least) for one, least in LEAST.items()):
            break
        widths.pop(name, None)
    for name, least in LEAST.items():
        if name in widths and excess() > 0:
            widths[name] = max(least, widths[name] - excess())
    return widths


def _joined(cells: dict[str, Line], widths: dict[str, int], room: int, drawn: Line) -> Line:
    """The cells in their columns. Of the room that is left, the bar behind the diff takes as much as it may have, and
    the rest keeps cost and time on the right."""
    bar = min(room - GAP, BAR_MOST) if room - GAP >= BAR_LEAST else 0
    rest = room - (bar + GAP if bar else 0)
    line: list[tuple[str, str]] = []
    for name, size in widths.items():
        if name in ("cost", "time") and rest:
            line.append((" " * rest, ""))
            rest = 0
        line += [*(((" " * GAP, ""),) if line else ()), *fit(cells[name], size, right=name in RIGHT)]
        if name == "diff" and bar:
            line += [(" " * GAP, ""), *fit(drawn, bar)]
    return tuple(line)


def check_cell(one: ComparedAgent, now: float) -> Line:
    """How its check went: mark and words."""
    check = one.check
    if check is None:
        return (("– ", "muted"), ("not run", "muted"))
    if check.is_over and not one.is_check_current:
        return (("– ", "muted"), ("outdated", "muted"))
    look = CHECK_LOOKS[check.state]
    words = check_words(check)
    if not check.is_over:
        return ((f"{look.glyph} ", look.role), (f"{words} {check_time(check, now)}", "muted"))
    return ((f"{look.glyph} ", look.role), (clean(words), ""))


def _diff(one: ComparedAgent) -> Line:
    if one.is_empty:
        return (("–", "muted"),)
    return ((f"+{one.added}", "success"), (f" {f'−{one.removed}':>5}", "error"))


def _bar(one: ComparedAgent, most: int, width: int) -> Line:
    """Lines added and removed; all bars share one scale."""
    if not most or width < BAR_LEAST or not one.size:
        return ()
    cells = max(1, round(one.size / most * width))
    added = round(one.added / one.size * cells)
    return (("■" * added, "success"), ("■" * (cells - added), "error"))


def _conflicts(one: ComparedAgent, found: Comparison) -> Line:
    if found.problem:
        return (("?", "muted"),)
    if one.base_conflicts:
        more = f" +{len(one.base_conflicts) - 1}" if len(one.base_conflicts) > 1 else ""
        name = one.base_conflicts[0].rpartition("/")[2]
        return (("✗ ", "error"), (f"{clean(name)}{more}", ""))
    if one.conflicts:
        labels = {other.id: other.label for other in found.agents}
        others = " ".join(sorted(labels.get(other, "") for other in one.conflicts))
        return (("≠ ", "muted"), (clean(others), "muted"))
    return (("none", "muted"),)


# ── the widget ──────────────────────────────────────────────────────────────────────────────────────────────────


class RankingTable(LineView):
    """Draws the table; a click selects an agent."""

    class Clicked(Message):
        """An agent was clicked."""

        def __init__(self, agent: str) -> None:
            super().__init__()
            self.agent = agent
            """The id."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._found: Comparison | None = None
        self._look = TableLook()
        self._sentence: Line = (("  reading", "muted"),)
        self._rows: list[RankedLine] = []

    def show(self, found: Comparison | None, look: TableLook, sentence: Line = ()) -> None:
        """Show a comparison, or a sentence where there is none."""
        self._found, self._look = found, look
        self._sentence = sentence or self._sentence
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if self._found is None:
            return [(), self._sentence]
        self._rows = table(self._found, self._look, width, height)
        return [line for line, _ in self._rows]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        agent = self._rows[event.y][1] if event.y < len(self._rows) else ""
        if agent:
            self.post_message(self.Clicked(agent))
