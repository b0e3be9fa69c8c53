"""Several agents landing one after the other, as lines: a track for each, and the branch as it will be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.landings import LandingPlan, LandingProgress, StepKind
from fleet_tui.tui.landing.plan_lines import size
from fleet_tui.tui.widgets.lines import Line, TextPart, clean, column, cut_line, fit, length
from fleet_tui.tui.widgets.statuses import MOVING

STAGES = ("merge", "check", "land")
_STAGE_OF: Mapping[StepKind, int] = {
    "commit": 0, "bring in": 0, "check": 1, "build": 1, "update": 2, "push": 2, "tidy": 2,
}  # fmt: skip
STAGE_WIDTH = 12


@dataclass(slots=True)
class TrainTrack:
    """One agent of the train."""

    plan: LandingPlan
    progress: LandingProgress | None = None
    has_landed: bool = False
    commit: str = ""
    """Where the branch was after it, once the report says so."""
    reason: str = ""
    """Why it was stopped."""

    @property
    def has_begun(self) -> bool:
        return self.progress is not None or self.has_landed or bool(self.reason)

    @property
    def stage(self) -> int:
        """How far it is; 3 once it has landed."""
        if self.has_landed:
            return len(STAGES)
        return _STAGE_OF[self.progress.step] if self.progress is not None else 0


def track_lines(tracks: Sequence[TrainTrack], selected: int, tick: int, width: int) -> list[Line]:
    """A line per agent: what it is, how far it got, and why it waits."""
    names = max((len(clean(one.plan.name)) for one in tracks), default=8)
    head = min(names + 28, max(24, width // 2))
    lines: list[Line] = [
        (),
        ((" " * (head + 4), ""), *((f"{stage:<{STAGE_WIDTH}}", "muted") for stage in STAGES)),
    ]
    for number, track in enumerate(tracks):
        on = " on sel" if number == selected else ""
        mark = ("▌", f"accent{on}") if on else (" ", "")
        plan = track.plan
        who: Line = (
            mark,
            (f"{number + 1:>2} ", f"faint{on}"),
            *fit(((clean(plan.name), f"bold{on}"),), min(names, head - 12), fill=on.strip()),
            (f"  {clean(plan.profile.rsplit('/', 1)[-1])}", f"muted{on}"),
            ("  ", on.strip()),
            *((text, f"{role}{on}") for text, role in size(plan)),
        )
        rails = _rails(track, tick, on)
        left = (*column(who, head + 4, fill=on.strip()), *rails)
        said = _said(track, number, tracks)
        room = width - length(left) - 1
        right = fit(
            ((said, f"{'error' if track.reason else 'muted'}{on}"),), room, right=True, fill=on.strip()
        )
        lines += [(), (*left, *right, (" ", on.strip()))]
    return lines


def _rails(track: TrainTrack, tick: int, on: str) -> list[TextPart]:
    parts: list[TextPart] = []
    rail = STAGE_WIDTH - 3
    for place in range(len(STAGES)):
        is_last = place == len(STAGES) - 1
        bar = "" if is_last else f" {'━' * rail} "
        if place < track.stage:
            parts += [("✓", f"success{on}"), (bar, f"success 45%{on}")]
        elif place == track.stage and track.reason:
            parts += [("✗", f"error{on}"), (bar, f"track{on}")]
        elif place == track.stage and track.progress is not None:
            parts += [(MOVING[tick % len(MOVING)], f"bold primary{on}"), (bar, f"track{on}")]
        else:
            parts += [("○", f"faint{on}"), (bar, f"track{on}")]
    return parts


def _said(track: TrainTrack, number: int, tracks: Sequence[TrainTrack]) -> str:
    if track.reason:
        return clean(track.reason)
    if track.has_landed:
        return track.commit[:7] or "landed"
    if track.progress is not None:
        return clean(track.progress.text)
    if not track.plan.can_land and not track.plan.conflicts:
        return clean(track.plan.obstacles[0].message)
    if track.plan.conflicts:
        return f"conflicts in {clean(track.plan.conflicts[0].path)}"
    return f"waits for {number}" if number else "first"


def branch_lines(tracks: Sequence[TrainTrack], before: str, width: int) -> list[Line]:
    """The branch as it will be when all have landed, newest on top."""
    lines: list[Line] = [()]
    for number, track in reversed(list(enumerate(tracks, 1))):
        mark = ("✓", "success") if track.has_landed else ("✗", "error") if track.reason else ("○", "faint")
        subject = clean(track.plan.message.partition("\n")[0]) or clean(track.plan.name)
        role = "bold" if track.has_landed else ""
        lines.append(cut_line((mark, (f"  {subject}", role), (f"  {number}", "faint")), width))
        if track.commit:
            lines.append((("│  ", "faint"), (track.commit[:7], "muted")))
        lines.append((("│", "faint"),))
    lines.append((("●  ", "muted"), (f"{before[:7]} before the train", "muted")))
    return lines
