"""Show whose work does not merge."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import callable_name, cli, refreshed_fleet, say, say_json, shortened
from fleet_tui.cli.options import json_option, patterns_argument
from fleet_tui.faces.work_records import conflicts_record
from fleet_tui.quantities import counted

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.work import Conflict, ConflictingFile, ConflictReport


@cli.command()
@patterns_argument
@click.option("-a", "--all", "everywhere", is_flag=True, help="Include all projects.")
@json_option
def conflicts(patterns: tuple[str, ...], everywhere: bool, as_json: bool) -> None:
    """Show agents whose work does not merge.

    Each is merged with the others and with the base branch, uncommitted work included, in memory: no worktree, index or
    branch is touched. Files that several agents have changed and that merge are listed as well.

    \b
    Examples:
      fleet conflicts
      fleet conflicts fix-login --json
    """
    fleet = refreshed_fleet()
    there = [agent for agent in fleet.agents(everywhere=everywhere) if agent.has_worktree]
    wanted = {agent.id for agent in (fleet.match(patterns, everywhere=everywhere) if patterns else there)}
    report = fleet.conflicts.check(there)
    found = [one for one in report.conflicts if wanted & {one.agent, one.other}]
    seen = [one if one.agent in wanted else one.seen_from(one.other) for one in found]
    files = {id(one): fleet.conflicts.details(one) for one in seen}
    details = [(one, files[id(one)]) for one in seen]
    names = {agent.id: callable_name(fleet, agent) for agent in there}
    if as_json:
        say_json(conflicts_record(details, report, names, wanted), indent=2)
        return
    for one, those in details:
        _say_conflict(one, those, names)
    _say_rest(fleet, report, names, wanted, counted(len(there), "agent") if not found else "")


def _say_conflict(conflict: Conflict, files: Sequence[ConflictingFile], names: Mapping[str, str]) -> None:
    from fleet_tui.cli.table import aligned
    from fleet_tui.faces.conflict_wording import NO_COMMON_COMMIT, file_words

    since = time.strftime("%H:%M", time.localtime(conflict.since))
    other = names.get(conflict.other, conflict.other) or conflict.base
    say(f"{names[conflict.agent]} ≠ {other}  since {since}")
    rows = [("", file.path, file_words(file)) for file in files]
    rows = rows or [("", path, "") for path in conflict.files] or [("", NO_COMMON_COMMIT, "")]
    for line in aligned(rows):
        say(line)


def _say_rest(
    fleet: Fleet, report: ConflictReport, names: Mapping[str, str], wanted: set[str], checked: str
) -> None:
    for one in report.overlaps:
        if wanted & {one.agent, one.other}:
            end = "" if report.problem else "; it merges" if len(one.files) == 1 else "; they merge"
            say(f"{names[one.agent]} and {names[one.other]} both changed {shortened(one.files)}{end}")
    for agent, why in report.unread.items():
        say(f"fleet: {names[agent]} is not compared: {why}", err=True)
    if report.problem:
        say(
            f"fleet: {report.problem}; until then only files that several agents have changed are shown",
            err=True,
        )
    elif checked:
        bases = sorted(set(report.bases.values()))
        base = f" with {shortened(bases)} and" if bases else ""
        say(f"no conflicts: {checked} compared{base} with each other")
