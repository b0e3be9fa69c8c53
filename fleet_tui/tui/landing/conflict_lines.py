"""What conflicts, as lines: the files with their places, and one place as bands of both sides."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.landings import LandingPlan
from fleet_tui.quantities import counted
from fleet_tui.tui.widgets.lines import Line, clean, cut_line, fit
from fleet_tui.work import ConflictingFile, ConflictPlace

MOST_BAND = 12
"""Lines of one side."""


def span(place: ConflictPlace) -> str:
    """The lines of a place, as people write them."""
    if place.last > place.first:
        return f"lines {place.first}–{place.last}"
    return f"line {place.first}"


def conflict_list(plan: LandingPlan, selected: int, width: int) -> tuple[list[Line], list[tuple[int, int]]]:
    """The files that conflict, then those that merge; and the rows of each."""
    lines: list[Line] = [()]
    rows: list[tuple[int, int]] = []
    for number, file in enumerate(plan.conflicts):
        on = " on sel" if number == selected else ""
        edge: Line = (("▌", f"accent{on}"),) if on else ((" ", ""),)
        block: list[Line] = [((f" {'✗'} ", f"error{on}"), (clean(file.path), f"bold{on}"))]
        places = f", {counted(len(file.places), 'place')}" if file.places else ""
        block.append(((f"   {file.kind}{places}", on.strip() and f"foreground{on}"),))
        block += [
            ((f"   {span(place)}", f"foreground{on}"), (f"  {clean(place.function)}", f"muted{on}"))
            for place in file.places[:4]
        ]
        rows.append((len(lines), len(lines) + len(block) - 1))
        lines += [fit((*edge, *line), width, fill=on.strip()) for line in block]
        lines.append(())
    broken = {file.path for file in plan.conflicts}
    lines += [
        cut_line((("  ✓ ", "success"), (clean(changed.path), "muted")), width)
        for changed in plan.files
        if changed.path not in broken
    ]
    return lines, rows


def place_bands(plan: LandingPlan, file: ConflictingFile, number: int, width: int) -> list[Line]:
    """One place of a file: what both started from, then each side."""
    if not file.places:
        said = clean(file.message) or f"{file.kind}: there are no lines to show"
        return [(), *(((f" {part}", "muted"),) for part in said.split("\n"))]
    place = file.places[min(number, len(file.places) - 1)]
    lines: list[Line] = [()]
    lines += _band("before", "what both started from", place.before, "-", "error", width)
    lines += _band(plan.into, "the branch", place.theirs, "+", "success", width)
    lines += _band(plan.name, "the agent", place.ours, "+", "success", width)
    return lines


def _band(name: str, says: str, lines: Sequence[str], sign: str, role: str, width: int) -> list[Line]:
    head: Line = ((clean(name), "bold"), (f"  {says} ", "muted"))
    rule = width - sum(len(text) for text, _ in head)
    found: list[Line] = [cut_line((*head, ("╌" * max(0, rule), "rule")), width)]
    found += [cut_line(((f"  {sign} ", role), (line.expandtabs(4), "")), width) for line in lines[:MOST_BAND]]
    if len(lines) > MOST_BAND:
        found.append(((f"    ⋯ {len(lines) - MOST_BAND} more lines", "muted"),))
    if not lines:
        found.append((("    nothing", "muted"),))
    return [*found, ()]
