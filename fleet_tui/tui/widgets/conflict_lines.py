"""Draw the conflicts of the selected agent: who and since when, then file, lines and function; then what merges. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fleet_tui.faces.conflict_wording import NO_COMMON_COMMIT, file_words, short_names
from fleet_tui.faces.live import ConflictDetails
from fleet_tui.models import Agent
from fleet_tui.tui.widgets.lines import Line, TextPart, clean, fit, length
from fleet_tui.tui.widgets.row_lines import CONFLICT
from fleet_tui.work import Conflict, ConflictingFile

MOST_FILES = 4
"""Of one conflict; the others are counted."""
MOST_NAMED = 3


def conflict_lines(
    details: ConflictDetails, agent: Agent, agents: Sequence[Agent], width: int, most: int
) -> list[Line]:
    """At most that many lines, the last of which says what merges; none without a conflict."""
    if not details.conflicts or most < 2:
        return []
    ending = _merging(details, agent, agents)
    room = most - len(ending)
    lines: list[Line] = []
    for place, (conflict, files) in enumerate(details.conflicts):
        left = len(details.conflicts) - place
        # The last line tells how many are not shown.
        if room - len(lines) < 2 or (left > 1 and room - len(lines) < 3):
            lines.append(
                (
                    (" ", ""),
                    (f"{CONFLICT} ", "error"),
                    (f"{left} more conflict{'s' if left > 1 else ''}", "error"),
                )
            )
            break
        lines.append(_head(conflict, agents, width))
        lines += _files(conflict, files, width, min(MOST_FILES, room - len(lines) - (left > 1)))
    return [fit(line, width) if length(line) > width else line for line in [*lines[:room], *ending]]


def shared_line(details: ConflictDetails, agent: Agent, agents: Sequence[Agent]) -> Line:
    """Files that others have changed too and that merge, for an agent without a conflict; empty if there are none."""
    if details.conflicts or not details.shared or details.agent != agent.id:
        return ()
    files, called = _named_files(details), _named_others(details, agent, agents)
    end = "merges" if len(details.shared) == 1 else "merge"
    return ((" shared  ", "muted"), (files, ""), (f" with {called}, {end}" if called else "", "muted"))


def _named_files(details: ConflictDetails) -> str:
    files = [clean(path).rsplit("/", 1)[-1] for path in details.shared]
    return ", ".join(files[:2]) + (f" +{len(files) - 2}" if len(files) > 2 else "")


def _named_others(details: ConflictDetails, agent: Agent, agents: Sequence[Agent]) -> str:
    called = short_names(agent, [one for one in agents if one.id in details.merging], agents)
    return ", ".join(called[:MOST_NAMED]) + (
        f" +{len(called) - MOST_NAMED}" if len(called) > MOST_NAMED else ""
    )


def _head(conflict: Conflict, agents: Sequence[Agent], width: int) -> Line:
    name = next((one.name for one in agents if one.id == conflict.other), conflict.base)
    since: TextPart = (time.strftime("  %H:%M", time.localtime(conflict.since)), "muted")
    said: Line = ((f" {CONFLICT} conflicts with ", "error"), (clean(name), "bold foreground"))
    return (*fit(said, min(length(said), width - length((since,)))), since)


def _files(conflict: Conflict, files: Sequence[ConflictingFile], width: int, most: int) -> list[Line]:
    known = {file.path: file_words(file) for file in files}
    paths = list(known) or list(conflict.files)
    if not paths:
        return [((f"   {NO_COMMON_COMMIT}", "muted"),)]
    shown = paths if len(paths) <= most else paths[: max(1, most - 1)]
    widest = max(length(((clean(path), ""),)) for path in shown)
    lines: list[Line] = []
    for path in shown:
        words = known.get(path, "")
        # The words tell more than the beginning of a long path.
        room = min(widest, max(12, width - 6 - length(((words, ""),))))
        lines.append((("   ", ""), *_path(path, room), (f"  {words}".rstrip(), "muted")))
    if len(shown) < len(paths):
        lines.append(((f"   {len(paths) - len(shown)} more files", "muted"),))
    return lines[: max(1, most)]


def _path(path: str, room: int) -> Line:
    """Cut at the left: files differ at their ends."""
    text = clean(path)
    while length(((text, ""),)) > room:
        text = "…" + text.lstrip("…")[1:]
    return fit(((text, ""),), room)


def _merging(details: ConflictDetails, agent: Agent, agents: Sequence[Agent]) -> list[Line]:
    """One line that says what merges, and one about files that others have changed as well."""
    named = _named_others(details, agent, agents)
    lines: list[Line] = []
    if details.base or named:
        first = f"merges with {clean(details.base)}" if details.base else "merges with"
        also = f" and with {named}" if details.base and named else f" {named}" if named else ""
        lines.append(((" ✓ ", "success"), (first, ""), (also, "muted")))
    if details.shared and named:
        who = "both touch " if len(details.merging) == 1 else "all touch "
        end = ", it merges" if len(details.shared) == 1 else ", they merge"
        lines.append((("   ", ""), (who, "muted"), (_named_files(details), ""), (end, "muted")))
    return lines
