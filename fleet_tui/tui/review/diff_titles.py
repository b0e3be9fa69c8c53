"""The edges of the diff's frame: the file and its counts above, what holds for the diff as a whole below. Pure."""

from __future__ import annotations

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, Status
from fleet_tui.tui.widgets.lines import Line, TextPart, clean
from fleet_tui.work import ChangedFile, FileDiff

DiffTitle = tuple[Line, Line]


def titles(
    file: ChangedFile, language: str, place: Line
) -> tuple[DiffTitle, DiffTitle, DiffTitle, DiffTitle]:
    """Name and facts of a file, the longest form first. `place` says where in it the cursor is."""
    name: Line = ((clean(file.path), "bold foreground"),)
    more: list[TextPart] = []
    if file.old_path:
        more.append((f"  was {clean(file.old_path)}", "muted"))
    if language:
        more.append((f"  {language}", "muted"))
    added: Line = ((f"+{file.added} ", "success"),) if file.added else ()
    removed: Line = ((f"−{file.removed} ", "error"),) if file.removed else ()
    gap: Line = (("  ", ""),) if (added or removed) and place else ()
    facts = (*added, *removed, *gap, *place)
    return ((*name, *more), facts), (name, facts), (name, place), (name, ())


def place_words(change: tuple[int, int], hits: tuple[int, int] | None) -> Line:
    """The number of the change at the cursor, or of the place found while something is searched for."""
    if hits is not None:
        return ((f"found {hits[0]} of {hits[1]}", "accent"),)
    return ((f"change {change[0]} of {change[1]}", "muted"),) if change[1] else ()


def notice(chosen: tuple[int, int] | None, failure: FleetError | None, agent: Agent, shown: FileDiff) -> Line:
    """The one thing to know about what is shown: the chosen lines, that it is old, or not all of it."""
    if chosen is not None:
        return ((f"lines {chosen[0]} to {chosen[1]} chosen", "accent"),)
    if failure is not None:
        return _warning(f"not up to date: {clean(failure.message)}")
    if agent.status is Status.KILLED:
        return _warning("killed: this is what it had")
    return _warning("too long: the rest is left out") if shown.is_cut and shown.hunks else ()


def _warning(said: str) -> Line:
    return ("! ", "bold warning"), (said, "muted")
