"""Show checks the same way in every face: glyphs, color roles and words of each state."""

from __future__ import annotations

from collections.abc import Mapping

from fleet_tui.faces.wording import ColorRole
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.quantities import age
from fleet_tui.text import one_line
from fleet_tui.work import CheckRun, CheckState


@dataclass(frozen=True, slots=True)
class CheckLook:
    """How the state of a check is shown."""

    glyph: str
    role: ColorRole


CHECK_LOOKS: Mapping[CheckState, CheckLook] = {
    CheckState.WAITING: CheckLook("○", "muted"),
    CheckState.RUNNING: CheckLook("●", "primary"),
    CheckState.PASSED: CheckLook("✓", "success"),
    CheckState.FAILED: CheckLook("✗", "error"),
    CheckState.TIMED_OUT: CheckLook("✗", "error"),
    CheckState.NOT_STARTED: CheckLook("!", "warning"),
    CheckState.CANCELLED: CheckLook("–", "muted"),
}


def check_words(run: CheckRun | None) -> str:
    """How a check went: its summary if it passed or failed, else its state and the reason."""
    if run is None:
        return "not run"
    if run.state in (CheckState.PASSED, CheckState.FAILED):
        return one_line(run.summary) or str(run.state)
    reason = run.note or (run.summary if run.state is CheckState.NOT_STARTED else "")
    return f"{run.state}: {one_line(reason)}" if reason else str(run.state)


def check_time(run: CheckRun, now: float) -> str:
    """How long a check has run so far, or ran."""
    return age((run.ended_at or now) - run.started_at)
