"""Show how permission requests were decided, and try the rules."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, in_color, open_fleet, say, say_json, say_table
from fleet_tui.cli.options import color_option, json_option
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.faces.plain import decision_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet_tui.fleet import Fleet
    from fleet_tui.permissions.decision_log import LoggedDecision

WHAT_WIDTH = 24
"""Cells for a command on a narrow terminal, so that the rule stays visible."""
_DECIDED = {"allow": "allowed", "ask": "asked", "deny": "denied"}


@cli.command()
@click.argument("action", type=click.Choice(["try"]), required=False)
@click.argument("what", required=False)
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    metavar="N",
    default=20,
    help="Number of decisions to show; default: 20.",
)
@click.option(
    "--tool", default="Bash", metavar="TOOL", help="With try: the tool that asks; WHAT is then a path."
)
@color_option
@json_option
def approvals(
    action: str | None, what: str | None, lines: int, tool: str, color: str | None, as_json: bool
) -> None:
    """Show what the `approve` rules decided, or try them.

    The rules decide permission requests of agents, but only while approve.mode is on. In shadow mode their decisions
    are recorded, and you are still asked.

    \b
    Examples:
      fleet approvals --lines 50
      fleet approvals try "git push --force"
    """
    if action is None:
        _show(lines, color, as_json=as_json)
    elif not what:
        raise UsageError("try needs a command", hint='for example: fleet approvals try "git status"')
    else:
        _try(what, tool, as_json=as_json)


def _show(count: int, color: str | None, *, as_json: bool) -> None:
    fleet = open_fleet()
    found = fleet.permissions.decisions()
    last = found[-count:] if count else []
    names = {agent.id: agent.name for agent in fleet.agents(everywhere=True)} if last else {}
    if as_json:
        say_json([decision_record(one, names) for one in last], indent=2)
        return
    if not found:
        say(_none_yet(fleet))
        return
    if last:
        header = ("TIME", "NAME", "DECISION", "TOOL", "WHAT", "RULE")
        rows = [_row(one, names) for one in last]
        say_table(header, rows, color=in_color(fleet, color), cell_limit=WHAT_WIDTH)
    say(fleet.permissions.totals())


def _none_yet(fleet: Fleet) -> str:
    try:
        mode = fleet.config().approve_mode
    except FleetError as error:
        return f"No decisions yet ({error.message})"
    return f"No decisions yet (approve.mode is {mode}; fleet config set approve.mode shadow records them)"


def _row(one: LoggedDecision, names: Mapping[str, str]) -> tuple[str, ...]:
    moment = time.strftime("%m-%d %H:%M:%S", time.localtime(one.at))
    said = _DECIDED.get(one.decision, one.decision) if one.mode == "on" else f"would {one.decision}"
    return moment, names.get(one.agent, one.agent), said, one.tool, one.what, one.rule or one.why


def _try(what: str, tool: str, *, as_json: bool) -> None:
    fleet = open_fleet()
    decision = fleet.permissions.try_out(what, tool=tool)
    mode = fleet.config().approve_mode
    if as_json:
        say_json({**decision._asdict(), "mode": mode})
        return
    say(f"{decision.decision}: {decision.why}" + (f" ({decision.rule})" if decision.rule else ""))
    if mode != "on":
        say(f"approve.mode is {mode}, so you are asked about every request", err=True)
