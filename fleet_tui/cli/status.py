"""Show the state of the fleet in a few lines, or in one for a status bar."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import (
    PIPED_WIDTH,
    callable_name,
    cli,
    in_color,
    refreshed_fleet,
    say,
    say_json,
    terminal_size,
    warn_unwritable,
)
from fleet_tui.cli.options import color_option, json_option
from fleet_tui.cli.sampling import primed
from fleet_tui.faces.plain import overview_record
from fleet_tui.faces.totals import RANK, Overview, spent_today
from fleet_tui.faces.wording import STATUS_LOOKS, explained
from fleet_tui.models import Agent, Status
from fleet_tui.quantities import age, counted, dollars, memory
from fleet_tui.text import flat

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet

NAMED = 2
"""The most agents that get a line each because they need the user."""


@cli.command()
@click.option("-a", "--all", "everywhere", is_flag=True, help="Sum up the agents of all projects.")
@click.option(
    "--short", is_flag=True, help="Print one line of counts for a status bar; nothing if no agent runs."
)
@color_option
@json_option
def status(everywhere: bool, short: bool, color: str | None, as_json: bool) -> None:
    """Show the fleet in a few lines.

    Shows how many agents have which status, who needs you, what the agents use, and what to do next. The marks are those
    of the list: ◆ needs you, ✗ error, ◇ lost, ◔ limited, ✓ done, ● working, ◌ starting, ○ idle, ? unknown, □ ended.

    \b
    Examples:
      fleet status
      tmux set -g status-right '#(fleet status --short --all)'
    """
    fleet = refreshed_fleet()
    state = fleet.state()
    shown = [agent for agent in state.agents if agent.status is not Status.KILLED]
    project = None if everywhere else fleet.project()
    agents = [agent for agent in shown if project in (None, agent.project)]
    if short and not as_json:
        if counted_marks := _short(agents):
            say(counted_marks)
        return
    others = [agent for agent in shown if agent not in agents] if project else []
    found = _overview(fleet, project, agents, others)
    following = _next(found, fleet)
    if as_json:
        say_json(overview_record(found, following), indent=2)
        return
    width, has_color = (terminal_size() or (PIPED_WIDTH, 0))[0], in_color(fleet, color)
    for line in _lines(found, following):
        click.echo(_painted(line, width, color=has_color), color=True)
    warn_unwritable(fleet)


def _overview(
    fleet: Fleet, project: str | None, agents: Sequence[Agent], others: Sequence[Agent]
) -> Overview:
    now = time.time()
    today = spent_today(fleet.spending(agents).values(), now)
    # Last, because the time between its two samples passes during everything before it.
    usage = fleet.usage(agents, primed()) if any(not agent.has_ended for agent in agents) else {}
    return Overview(project, agents, others, usage, today, now)


# ── counts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _grouped(agents: Sequence[Agent]) -> dict[Status, int]:
    """The number of agents by the status that they are grouped under, the most urgent first."""
    number = Counter(_stands_for(agent.status) for agent in agents)
    return {status: number[status] for status in sorted(number, key=RANK.__getitem__)}


def _stands_for(status: Status) -> Status:
    if status is Status.STOPPED:
        return Status.EXITED
    return STATUS_LOOKS[status].total or status


def _short(agents: Sequence[Agent]) -> str:
    found = _grouped(agents)
    found.pop(Status.EXITED, None)
    return " ".join(f"{STATUS_LOOKS[status].glyph}{count}" for status, count in found.items())


def _meaning(status: Status, count: int) -> str:
    if status is Status.BLOCKED:
        return "needs you" if count == 1 else "need you"
    return "ended" if status is Status.EXITED else str(status)


# ── lines ───────────────────────────────────────────────────────────────────────────────────────────────────────

StatusLine = list[tuple[str, Status | None]]
"""Parts of a line, each with the status whose color it has."""


def _lines(found: Overview, following: str) -> Iterator[StatusLine]:
    """At most five lines, and one about other projects."""
    head: StatusLine = [(f"{_name(found.project)}  {counted(len(found.agents), 'agent')}", None)]
    for status, count in _grouped(found.agents).items():
        head += [
            ("  ", None),
            (f"{STATUS_LOOKS[status].glyph} {count}", status),
            (f" {_meaning(status, count)}", None),
        ]
    yield head
    yield from _needing(found)
    if found.usage or found.today is not None:
        load = [f"{found.cores:.1f} cores", memory(found.memory)] if found.usage else []
        today = f"{dollars(found.today)} today" if found.today is not None else ""
        yield [("  ".join(filter(None, (*load, today))), None)]
    yield [(f"next: {following}", None)]
    if found.others:
        projects = counted(len({agent.project for agent in found.others}), "other project")
        marks = _short(found.others)
        yield [
            (
                f"{counted(len(found.others), 'agent')} in {projects}{f'  {marks}' if marks else ''}  (fleet status -a)",
                None,
            )
        ]


def _name(project: str | None) -> str:
    return project.rstrip("/").rsplit("/", 1)[-1] if project is not None else "all projects"


def _needing(found: Overview) -> Iterator[StatusLine]:
    needing = found.needing
    for place, agent in enumerate(needing[:NAMED], start=1):
        where = f" ({_name(agent.project)})" if found.project is None else ""
        since = age(found.now - agent.status_since) if agent.status_since else ""
        line: StatusLine = [
            (STATUS_LOOKS[agent.status].glyph, agent.status),
            (f" {agent.name}{where}  {since}  " if since else f" {agent.name}{where}  ", None),
        ]
        more = len(needing) - NAMED
        left = f"  (and {more} more)" if place == NAMED and more > 0 else ""
        yield [*line, (explained(agent) + left, None)]


def _next(found: Overview, fleet: Fleet) -> str:
    """The command to run next."""
    for agent in found.needing:
        return f"fleet {STATUS_LOOKS[agent.status].remedy} {callable_name(fleet, agent)}"
    if any(not agent.has_ended for agent in found.agents):
        # A pattern matches agents of this project only.
        waits = ", fleet wait '*' waits" if found.project == fleet.project() else ""
        return f"nothing needs you; fleet-tui watches{waits}"
    if found.agents:
        return "fleet revive AGENT continues one that has ended, fleet create NAME starts another"
    return 'fleet create NAME -p "what to do"'


def _painted(line: StatusLine, width: int, *, color: bool) -> str:
    """The line as safe text, cut to that width."""
    from fleet_tui.cli.table import ROLE_COLORS, cut_to_width, width_of

    painted, left = "", width
    for text, status in line:
        shown = cut_to_width(flat(text), left)
        left -= width_of(shown)
        code = ROLE_COLORS[STATUS_LOOKS[status].role] if status is not None and color else ""
        painted += f"\x1b[{code}m{shown}\x1b[0m" if code and shown else shown
    return painted
