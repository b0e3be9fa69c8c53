"""Say what a landing will do, does and has done, the same way in every face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleet_tui.landings import LandingPlan, LandingProgress, StepKind
from fleet_tui.quantities import counted
from fleet_tui.text import one_line
from fleet_tui.work import ConflictingFile

DOING: dict[StepKind, str] = {
    "commit": "committing what is not committed",
    "bring in": "merging in memory",
    "check": "checking",
    "build": "making the commit, with your hooks",
    "update": "moving the branch",
    "push": "pushing for a pull request",
    "tidy": "tidying up",
}
DONE: dict[StepKind, str] = {
    "commit": "committed",
    "bring in": "merges clean",
    "check": "check passed",
    "build": "commit made",
    "update": "branch moved",
    "push": "pushed",
    "tidy": "tidied up",
}
LETTERS = {
    "added": "A", "modified": "M", "deleted": "D", "renamed": "R", "mode changed": "M", "type changed": "T",
}  # fmt: skip
MOST_FILES = 20
"""Files that a list on the command line names; the others are counted."""
MOST_LINES = 12
"""Lines of one side of a conflict."""


def plan_summary(plan: LandingPlan) -> str:
    """One line: what lands where, and what decides it."""
    into = f" into {plan.into}" if plan.into else ""
    if not plan.files and plan.obstacles:
        return f"{plan.name}{into}: {one_line(plan.obstacles[0].message)}"
    size = f"{counted(len(plan.files), 'file')} +{plan.added} −{plan.removed}"
    state = f"{counted(len(plan.conflicts), 'file')} in conflict" if plan.conflicts else "no conflicts"
    return f"{plan.name}{into}: {size}, {state}"


def plan_lines(plan: LandingPlan) -> Iterator[str]:
    """Everything a preview has found."""
    yield plan_summary(plan)
    for number, step in enumerate(plan.steps, 1):
        mark = "✗" if step.is_blocked else str(number)
        yield f"  {mark} {step.title}" + (f"  {one_line(step.note)}" if step.note else "")
        for line in step.lines:
            yield f"      {one_line(line)}"
    if plan.message and not plan.obstacles:
        yield f"  message of {plan.message_of}:"
        for line in plan.message.strip().splitlines():
            yield f"      {line}"
    if plan.files:
        yield "  files:"
        for file in plan.files[:MOST_FILES]:
            counts = "binary" if file.is_binary else f"+{file.added} −{file.removed}"
            note = "  not committed" if file.is_uncommitted else ""
            yield f"      {LETTERS[file.kind]} {one_line(file.path)}  {counts}{note}"
        if len(plan.files) > MOST_FILES:
            yield f"      and {len(plan.files) - MOST_FILES} more (fleet diff {plan.name} --stat)"
    for warning in plan.warnings:
        yield f"  ! {one_line(warning)}"
    for obstacle in plan.obstacles:
        hint = f" ({obstacle.hint})" if obstacle.hint else ""
        yield f"  ✗ {one_line(obstacle.message)}{hint}"


def conflict_lines(conflicts: Sequence[ConflictingFile], *, ours: str, theirs: str) -> Iterator[str]:
    """Each file that conflicts, with the lines of each place."""
    for file in conflicts:
        places = f", {counted(len(file.places), 'place')}" if len(file.places) > 1 else ""
        yield f"✗ {one_line(file.path)}  {file.kind}{places}"
        if not file.places and file.message:
            yield f"    {one_line(file.message)}"
        for place in file.places:
            span = f"lines {place.first}–{place.last}" if place.last > place.first else f"line {place.first}"
            yield f"    {span}" + (f"  {one_line(place.function)}" if place.function else "")
            for name, lines in (("before", place.before), (theirs, place.theirs), (ours, place.ours)):
                yield f"      {name}:"
                for line in lines[:MOST_LINES]:
                    yield f"        {line}"
                if len(lines) > MOST_LINES:
                    yield f"        … {len(lines) - MOST_LINES} more"
                if not lines:
                    yield "        (nothing)"


def progress_line(name: str, progress: LandingProgress) -> str:
    """What happens in a landing right now."""
    text = f": {one_line(progress.text)}" if progress.text else ""
    if progress.state == "failed":
        return f"{name}  ✗ {DOING[progress.step]}{text}"
    if progress.state == "done":
        return f"{name}  ✓ {DONE[progress.step]}{text}"
    return f"{name}  {DOING[progress.step]}{text}"
