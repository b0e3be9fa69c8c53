"""The rows of a timeline: what is there now, then the checkpoints, newest first. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fleet_tui.faces.check_wording import CHECK_LOOKS
from fleet_tui.faces.timeline import GLYPHS, checkpoint_title, left_behind
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Status
from fleet_tui.tui.widgets.lines import Line, TextPart, both_ends, clean, fit, length
from fleet_tui.tui.widgets.statuses import glyph
from fleet_tui.work import Checkpoint, CheckpointKind, CheckRun, Timeline

NAMES = 4
"""Files that a row names."""
ROW_HEIGHT = 3
"""Lines of a row: what it is, its files, the line to the next."""
NOW = -1
"""The number of the row for the files now."""
_MARK_AT = 8
"""The cell of a row's mark, where the line to the next is drawn, too."""


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One state of the agent's files."""

    number: int
    """Of the checkpoint; NOW for the files now."""
    at: str
    mark: TextPart
    title: str
    """Safe to draw."""
    detail: Line
    added: int = 0
    removed: int = 0
    has_changes: bool = True
    is_strong: bool = False
    """The user made it."""
    is_faint: bool = False
    """It did not lead to the files now."""


def rows_of(timeline: Timeline, agent: Agent) -> list[TimelineRow]:
    """All rows, newest first."""
    behind = left_behind(timeline.checkpoints)
    checks = dict(timeline.checks)
    times = {one.number: time_of_day(one.at) for one in timeline.checkpoints}
    rows = [
        _row(one, timeline, times, checks.get(one.number), is_faint=one.number in behind)
        for one in timeline.checkpoints
    ]
    return [*_now(timeline, agent), *rows[::-1]]


def _now(timeline: Timeline, agent: Agent) -> list[TimelineRow]:
    if agent.status is Status.KILLED or timeline.now is None:
        return []
    now = timeline.now
    said = f"not saved yet: {names([one.path for one in now.files], len(now.files))}"
    detail = said if now.files else "as in the newest checkpoint"
    return [
        TimelineRow(
            NOW, "now", glyph(agent), str(agent.status), ((detail, "muted"),), now.added, now.removed, bool(now.files)
        )
    ]  # fmt: skip


def _row(
    one: Checkpoint, timeline: Timeline, times: dict[int, str], check: CheckRun | None, *, is_faint: bool
) -> TimelineRow:
    is_named = one.kind is CheckpointKind.NAMED
    mark = "bold foreground" if is_named else "muted"
    detail: Line
    if one.kind is CheckpointKind.START:
        detail = ((clean(timeline.origin), "muted"),)
    elif is_faint:
        detail = (("left behind by a restore", "faint"),)
    elif one.kind is CheckpointKind.RESTORED:
        earlier = [other for other in timeline.checkpoints if other.number < one.number]
        when = times.get(earlier[-1].number, "") if earlier else ""
        detail = ((f"what was there is {when}", "muted"),)
    else:
        said = names(one.files, one.changed) or "nothing changed"
        detail = ((f"named; {said}" if is_named else said, "muted"), *_check(check))
    title = checkpoint_title(one)
    if one.kind in (CheckpointKind.RESTORED, CheckpointKind.SAVED):
        title = title.replace(f" {one.restored}", f" {times.get(one.restored, one.restored)}", 1)
    return TimelineRow(
        one.number, times[one.number], (GLYPHS[one.kind], "faint" if is_faint else mark), title, detail,
        one.added, one.removed, bool(one.changed), is_named, is_faint,
    )  # fmt: skip


def _check(run: CheckRun | None) -> Line:
    if run is None:
        return ()
    look = CHECK_LOOKS[run.state]
    return (("  ", ""), (f"{look.glyph} ", look.role), (clean(run.summary), "muted"))


def names(paths: Sequence[str], count: int) -> str:
    """The last parts of the first paths, and how many more there are."""
    shown = ", ".join(clean(path.rpartition("/")[2]) for path in paths[:NAMES])
    more = count - min(NAMES, len(paths))
    return f"{shown} +{more}" if more > 0 and shown else shown


def time_of_day(at: float) -> str:
    return time.strftime("%H:%M", time.localtime(at))


# ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────────


def first_line(row: TimelineRow, width: int, *, is_here: bool, is_marked: bool) -> Line:
    """What the state is, and how much changed."""
    role = "faint" if row.is_faint else "bold" if is_here or row.is_strong else ""
    bar: TextPart = ("▌", "accent") if is_here else ("+", "bold accent") if is_marked else (" ", "")
    second: TextPart = ("+", "bold accent") if is_here and is_marked else (" ", "")
    when = "faint" if row.is_faint else "muted"
    left: Line = (
        bar, second, (f"{row.at:>5}", when), (" ", ""), row.mark, (" ", ""), (row.title, role)
    )  # fmt: skip
    return _ground(both_ends(left, _counts(row), width), is_here=is_here)


def second_line(row: TimelineRow, width: int, *, is_here: bool, is_last: bool) -> Line:
    """Its files and its check."""
    head: Line = (
        ("▌" if is_here else " ", "accent"), (" " * (_MARK_AT - 1), ""), (" " if is_last else "│", "rule"), (" ", "")
    )  # fmt: skip
    return _ground(fit((*head, *row.detail), width), is_here=is_here)


def connecting_line(width: int) -> Line:
    return fit(((" " * _MARK_AT, ""), ("│", "rule")), width)


def short_line(row: TimelineRow, width: int, *, is_here: bool, is_marked: bool) -> Line:
    """All of a row in one line, for a narrow screen."""
    line = first_line(row, width, is_here=is_here, is_marked=is_marked)
    room = width - length(_counts(row)) - 2 - _MARK_AT - 2 - length(((row.title, ""),))
    if room < 12:
        return line
    head = (*line[:7], ("  ", ""), *fit(row.detail, room - 2))
    return _ground(both_ends(head, _counts(row), width), is_here=is_here)


def _counts(row: TimelineRow) -> Line:
    if not row.has_changes:
        return (("  ·      ", "faint"),) if row.number else ((" " * 9, ""),)
    strength = "faint" if row.is_faint else ""
    return (
        (f"{f'+{row.added}' if row.added else '':>4}", strength or "success"),
        (f"{f'−{row.removed}' if row.removed else '':>4}", strength or "error"),
        (" ", ""),
    )


def _ground(line: Line, *, is_here: bool) -> Line:
    if not is_here:
        return line
    return tuple((text, role if " on " in role else f"{role or 'foreground'} on sel") for text, role in line)
