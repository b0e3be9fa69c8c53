"""What a landing will do and what decides it, as lines: the numbered steps, the files, the facts beside them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from fleet_tui.faces.landing_wording import DOING, LETTERS
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.landings import STRATEGIES, LandingPlan, LandingProgress, LandingStep, StepKind
from fleet_tui.quantities import counted
from fleet_tui.tui.widgets.lines import Line, TextPart, both_ends, clean, cut_line, fit, wrap
from fleet_tui.tui.widgets.statuses import MOVING
from fleet_tui.work import CheckRun, CheckState

CHIPS = {"merge": "merge", "squash": "squash", "rebase": "rebase", "pr": "pull request"}
INDENT = "  "
MOST_NOTE = 6
"""Lines of one long finding."""


@dataclass(frozen=True, slots=True)
class ReviewFacts:
    """How far the user has reviewed an agent's work."""

    read: int = 0
    """Files marked as read, as they are now."""
    open: int = 0
    """Comments that are not sent, or not handled."""
    handled: int = 0


def strategy_chips(chosen: str) -> Line:
    """The strategies in a row; the chosen one is reversed."""
    parts: list[TextPart] = [("strategy", "muted")]
    for strategy in STRATEGIES:
        role = "reverse muted" if strategy == chosen else "muted"
        parts += [("  ", ""), (f" {CHIPS[strategy]} ", role)]
    return tuple(parts)


def step_lines(
    plan: LandingPlan, width: int, done: Mapping[StepKind, LandingProgress], tick: int
) -> list[Line]:
    """The steps, each with what it found or what became of it."""
    found: list[Line] = []
    for number, step in enumerate(plan.steps, 1):
        progress = done.get(step.kind)
        found += [(), cut_line((*_mark(number, step, progress, tick), *_heading(step)), width)]
        for text in _findings(step, progress):
            found += _finding(text, width)
    for obstacle in plan.obstacles if not any(step.is_blocked for step in plan.steps) else ():
        found += [(), *_finding(f"✗ {obstacle.message}", width), *_finding(obstacle.hint, width)]
    for warning in plan.warnings:
        found += [(), *_finding(f"! {warning}", width)]
    return found


def _mark(number: int, step: LandingStep, progress: LandingProgress | None, tick: int) -> Line:
    if progress is not None and progress.state == "running":
        return ((MOVING[tick % len(MOVING)], "bold primary"), (" ", ""))
    if progress is not None and progress.state == "done":
        return (("✓ ", "success"),)
    if step.is_blocked or progress is not None:
        return (("✗ ", "error"),)
    return ((f"{number} ", "faint"),)


def _heading(step: LandingStep) -> Line:
    note: Line = ((f"  {clean(step.note)}", "muted"),) if step.note else ()
    return ((clean(step.title), "bold"), *note)


def _findings(step: LandingStep, progress: LandingProgress | None) -> Sequence[str]:
    if progress is None:
        return step.lines
    if progress.state == "running":
        return (progress.text or DOING[progress.step],)
    if progress.state == "failed":
        return (f"✗ {progress.text}", "nothing was changed")
    return (progress.text,) if progress.text else ()


def _finding(text: str, width: int) -> list[Line]:
    """One finding, wrapped; what was tried has its mark in color, a file its letter in grey."""
    if not text:
        return []
    text = clean(text)
    roles = {"✓": "success", "✗": "error", "!": "bold warning"}
    head: Line = ()
    if text[:2] in {f"{mark} " for mark in roles}:
        head, text = ((text[:2], roles[text[0]]),), text[2:]
        role = ""
    elif text[:2] in {f"{letter} " for letter in LETTERS.values()}:
        head, text, role = ((text[:2], "faint"),), text[2:], ""
    else:
        role = "muted"
    rows = wrap(text, max(10, width - len(INDENT) - 2), MOST_NOTE)
    pad = "  " if head else ""
    return [
        cut_line(((INDENT, ""), *(head if at == 0 else ((pad, ""),)), (row, role)), width)
        for at, row in enumerate(rows)
    ]


# ── beside the steps ────────────────────────────────────────────────────────────────────────────────────────────


def file_lines(plan: LandingPlan, width: int, most: int) -> list[Line]:
    """The files that the branch gets; with little room, only how many."""
    if most < 1 or not plan.files:
        return []
    if most < len(plan.files) and most < 3:
        return [((f"{counted(len(plan.files), 'file')} ", ""), *size(plan))]
    shown = plan.files if len(plan.files) <= most else plan.files[: most - 1]
    widest_added = max(len(f"+{one.added}") for one in shown)
    widest_removed = max(len(f"−{one.removed}") for one in shown)
    lines: list[Line] = []
    for one in shown:
        note = "  not committed" if one.is_uncommitted else ""
        counts: Line = (("binary", "muted"),)
        if not one.is_binary:
            counts = (
                (f"{f'+{one.added}' if one.added else '':>{widest_added}}", "success"),
                (" ", ""),
                (f"{f'−{one.removed}' if one.removed else '':>{widest_removed}}", "error"),
            )
        left: Line = ((f"{LETTERS[one.kind]} ", "faint"), (clean(one.path), ""), (note, "muted"))
        lines.append(both_ends(left, counts, width))
    if len(shown) < len(plan.files):
        lines.append(((f"↓ {len(plan.files) - len(shown)} more", "muted"),))
    return lines


def size(plan: LandingPlan) -> Line:
    """Lines added and removed."""
    added: Line = ((f"+{plan.added}", "success"),) if plan.added else ()
    removed: Line = ((f" −{plan.removed}", "error"),) if plan.removed else ()
    return (*added, *removed)


def fact_lines(
    plan: LandingPlan, facts: ReviewFacts, names: Mapping[str, str], width: int, *, checks: bool
) -> list[Line]:
    """Check, review and other agents, as far as they decide whether to land."""
    rows = [("check", check_line(plan, checks=checks))]
    total = len(plan.files)
    if total:
        read: Line = (
            (f"{facts.read} of {counted(total, 'file')} read", "" if facts.read == total else "muted"),
        )
        if facts.open:
            read = (*read, (f", {counted(facts.open, 'comment')} open", "warning"))
        if facts.handled:
            read = (*read, (f", {facts.handled} handled", "muted"))
        rows.append(("review", read))
    for conflict in plan.others:
        name = clean(names.get(conflict.other, conflict.other))
        files = ", ".join(clean(path.rpartition("/")[2]) for path in conflict.files)
        rows.append(("others", (("≠ ", "error"), (f"{name} conflicts after this ", ""), (files, "muted"))))
    found: list[Line] = []
    before = ""
    for label, line in rows:
        found.append(fit(((f"{'' if label == before else label:<8}", "muted"), *line), width))
        before = label
    return found


def check_line(plan: LandingPlan, *, checks: bool) -> Line:
    """The check's last result, and whether it is about what would land."""
    if not plan.check_command:
        return (("none configured (land.check)" if checks else "left out", "muted"),)
    if not checks:
        return (("! ", "bold warning"), ("left out", ""))
    run = plan.check
    if run is None:
        return (("– ", "muted"), (clean(plan.check_command), ""), (" runs when you land", "muted"))
    at = time.strftime("%H:%M", time.localtime(run.ended_at or run.started_at))
    return (*check_mark(run), (clean(run.summary or str(run.state)), ""), (f", {at}", "muted"))


def check_mark(run: CheckRun) -> Line:
    """The sign of a check's result."""
    if not run.is_over:
        return (("● ", "primary"),)
    if run.is_green:
        return (("✓ ", "success"),)
    if run.state is CheckState.CANCELLED:
        return (("– ", "muted"),)
    return (("✗ ", "error"),)


def header_facts(plan: LandingPlan | None) -> Line:
    """What decides the landing, for the top line."""
    if plan is None:
        return (("reading", "muted"),)
    parts: list[TextPart] = []
    if plan.conflicts:
        parts.append((f"✗ {counted(len(plan.conflicts), 'file')} in conflict", "bold error"))
    elif plan.obstacles:
        parts.append(("✗ cannot land", "bold error"))
    else:
        parts += [("✓", "success"), (" no conflicts", "")]
    if plan.check is not None and plan.check.is_over:
        parts += [
            ("   ", ""),
            *check_mark(plan.check),
            (clean(plan.check.summary or str(plan.check.state)), ""),
        ]
    if plan.files:
        parts += [("   ", ""), (counted(len(plan.files), "file"), ""), (" ", ""), *size(plan)]
    return tuple(parts)
