"""Compare what several agents have made of one task, and keep the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.check import started, waited
from fleet_tui.cli.completion import complete_agents, complete_agents_and_batches
from fleet_tui.cli.end import say_killed
from fleet_tui.cli.group import cli, confirm, in_color, refreshed_fleet, say, say_json, say_table, shortened
from fleet_tui.cli.options import color_option, json_option, refuse_empty
from fleet_tui.comparison import ORDER_RULE, SORT_KEYS, ComparedAgent, Comparison, SortKey
from fleet_tui.errors import NotFound, UsageError
from fleet_tui.faces.check_wording import CHECK_LOOKS, check_words
from fleet_tui.faces.work_records import comparison_record
from fleet_tui.quantities import clock, counted, dollars
from fleet_tui.text import one_line

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent


@cli.command()
@click.argument(
    "words", nargs=-1, metavar="BATCH|AGENT...", required=True, shell_complete=complete_agents_and_batches
)
@click.option(
    "--check/--no-check",
    "wants_checks",
    default=None,
    help="Run all checks again, or none. Default: those of work that changed since its check.",
)
@click.option(
    "--sort", type=click.Choice(SORT_KEYS), default="rank", help="Sort by this; ranks stay the same."
)
@click.option(
    "--keep",
    default="",
    metavar="AGENT",
    shell_complete=complete_agents,
    callback=refuse_empty,
    help="Compare nothing: keep this agent and move the others to the trash.",
)
@click.option("-f", "--force", is_flag=True, help="With --keep: do not ask for confirmation.")
@color_option
@json_option
def compare(
    words: tuple[str, ...],
    wants_checks: bool | None,
    sort: SortKey,
    keep: str,
    force: bool,
    color: str | None,
    as_json: bool,
) -> None:
    """Compare agents that have worked on the same task, best first.

    Name a batch, several agents, or one agent to compare its whole batch. The project's check command (land.check) runs in
    their worktrees first. The order is by checks, then conflicts with the branch they would land on, then size, then cost.

    \b
    Examples:
      fleet compare login
      fleet compare login-A login-C --no-check
      fleet compare login --keep login-C
      fleet diff login-A --against login-C
    """
    fleet = refreshed_fleet()
    agents = _agents(fleet, words)
    if keep:
        _keep(fleet, keep, agents, force=force, as_json=as_json)
        return
    found = fleet.comparison.of(agents)
    if wants_checks is not False:
        found = _checked(fleet, found, agents, again=wants_checks is True)
    found = found.sorted_by(sort)
    if as_json:
        say_json(comparison_record(found), indent=2)
    else:
        _print(found, color=in_color(fleet, color))
        if found.no_checks and wants_checks is not False:
            say(f"fleet: not checked: {found.no_checks}", err=True)


def _agents(fleet: Fleet, words: Sequence[str]) -> list[Agent]:
    """The agents of these batches, and those of these names; for one agent alone, its batch."""
    from fleet_tui.models import Status

    gone = (Status.KILLED,)
    chosen: dict[str, Agent] = {}
    for word in words:
        try:
            found = fleet.match((), batch=word, but_not=gone)
        except NotFound:
            found = fleet.match((word,), but_not=gone)
        chosen |= {agent.id: agent for agent in found}
    if len(chosen) > 1:
        return list(chosen.values())
    [only] = chosen.values()
    batch = [
        agent
        for agent in fleet.agents(everywhere=True)
        if (agent.project, agent.batch) == (only.project, only.batch) and agent.status not in gone
    ]
    if len(batch) < 2:
        raise UsageError(f"{only.name} has nobody to be compared with", hint="name several agents")
    return batch


def _checked(fleet: Fleet, found: Comparison, agents: Sequence[Agent], *, again: bool) -> Comparison:
    """The comparison after the checks that are missing, or all of them."""
    if found.no_checks and not again:
        return found
    wanted = {one.id for one in found.agents if not one.problem and (again or not one.is_check_current)}
    running = [
        one.check for one in found.agents if one.check is not None and not one.check.is_over and not again
    ]
    wanted -= {run.agent for run in running}
    runs = (
        [*running, *started(fleet, [agent for agent in agents if agent.id in wanted])] if wanted else running
    )
    if not runs:
        return found
    waited(fleet, runs, agents)
    return fleet.comparison.of(agents)


def _keep(fleet: Fleet, name: str, agents: Sequence[Agent], *, force: bool, as_json: bool) -> None:
    winner = next((agent for agent in agents if name in (agent.name, agent.id)), None)
    if winner is None:
        raise NotFound(
            f"{name!r} is not among them", hint=f"choose from {shortened([one.name for one in agents])}"
        )
    others = [agent for agent in agents if agent.id != winner.id]
    if not force:
        gone = shortened([agent.name for agent in others])
        confirm(f"Keep {winner.name} and kill {gone}?", note="fleet undo restores what was killed", flag="-f")
    say_killed(fleet, fleet.comparison.keep(winner, others), as_json=as_json)


# ── printing ────────────────────────────────────────────────────────────────────────────────────────────────────


def _print(found: Comparison, *, color: bool) -> None:
    for line in _heading(found):
        say(line)
    header = (
        "#",
        "AGENT",
        "PROFILE",
        "CHECK",
        "DIFF",
        "FILES",
        "TESTS",
        "COMMITS",
        "CONFLICTS",
        "COST",
        "TIME",
    )
    rows: list[tuple[str, ...]] = []
    for one in found.agents:
        rank = found.ranks[one.id]
        rows += [_cells(one, rank.place), (f"   {rank.reason}",)]
    say_table(header, rows, color=color)
    for line in _notes(found):
        say(line)


def _heading(found: Comparison) -> Iterator[str]:
    total = sum(one.cost or 0.0 for one in found.agents)
    facts = [f"{found.batch or 'agents'}: {counted(len(found.agents), 'agent')}"]
    facts += ["one prompt"] if found.prompt else []
    facts += [f"onto {found.base}"] if found.base else []
    facts += [f"{dollars(total)} spent"] if total else []
    yield ", ".join(facts)
    yield f"order: {ORDER_RULE}"
    yield ""


def _cells(one: ComparedAgent, place: int) -> tuple[str, ...]:
    conflicts = ", ".join([*one.base_conflicts[:1], *(["…"] if len(one.base_conflicts) > 1 else [])])
    with_others = f"{counted(len(one.conflicts), 'agent')}" if one.conflicts else ""
    return (
        str(place),
        one.name,
        one.profile,
        _check(one),
        f"+{one.added} −{one.removed}",
        str(len(one.files)),
        f"{one.tests:+}" if one.tests else "",
        str(one.commits or ""),
        "; ".join(filter(None, (conflicts, with_others))) or "none",
        dollars(one.cost),
        clock(one.seconds),
    )


def _check(one: ComparedAgent) -> str:
    if one.check is None:
        return "– not run"
    if one.check.is_over and not one.is_check_current:
        return "– outdated"
    return f"{CHECK_LOOKS[one.check.state].glyph} {check_words(one.check)}"


def _notes(found: Comparison) -> Iterator[str]:
    leader = next((one for one in found.agents if found.ranks[one.id].place == 1), None)
    if leader is not None and found.ranks[leader.id].grounds:
        yield ""
        yield f"{leader.label} leads:"
        for ground in found.ranks[leader.id].grounds:
            others = f"  ({ground.others})" if ground.others else ""
            yield f"  {'✓' if ground.is_better else '·'} {ground.fact}{others}"
    if found.differences:
        yield ""
        for text in found.differences:
            yield f"- {one_line(text)}"
    if found.problem:
        yield f"conflicts are not known: {found.problem}"
