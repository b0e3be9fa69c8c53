"""Show how permission requests were decided, and try the rules."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, open_fleet, say, say_json, terminal_size
from fleet_tui.errors import UsageError
from fleet_tui.text import flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet_tui.permissions.decision_log import LoggedDecision

_DECIDED = {"allow": "allowed", "ask": "asked", "deny": "denied"}
PIPED_WIDTH = 400
"""The width of a line that is not printed on a terminal."""


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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def approvals(action: str | None, what: str | None, lines: int, tool: str, as_json: bool) -> None:
    """Show what the `approve` rules decided, or try them.

    The rules decide permission requests of agents, but only while approve.mode is on. In shadow mode their decisions
    are recorded, and you are still asked.

    \b
    Examples:
      fleet approvals --lines 50
      fleet approvals try "git push --force"
    """
    if action is None:
        _show(lines, as_json=as_json)
    elif not what:
        raise UsageError("try needs a command", hint='for example: fleet approvals try "git status"')
    else:
        _try(what, tool, as_json=as_json)


def _show(count: int, *, as_json: bool) -> None:
    from fleet_tui.fast_dataclasses import asdict

    fleet = open_fleet()
    found = fleet.permissions.decisions()
    last = found[-count:] if count else []
    if as_json:
        say_json([asdict(one) for one in last], indent=2)
        return
    if not found:
        mode = fleet.config().approve_mode
        say(f"No decisions yet (approve.mode is {mode}; fleet config set approve.mode shadow records them)")
        return
    names = {agent.id: agent.name for agent in fleet.agents(everywhere=True)}
    width = (terminal_size() or (PIPED_WIDTH, 0))[0]
    for one in last:
        say(flat(_line(one, names))[:width])
    say(fleet.permissions.totals())


def _line(one: LoggedDecision, names: Mapping[str, str]) -> str:
    moment = time.strftime("%m-%d %H:%M:%S", time.localtime(one.at))
    said = _DECIDED.get(one.decision, one.decision) if one.mode == "on" else f"would {one.decision}"
    name = names.get(one.agent, one.agent)
    return f"{moment}  {name}  {said:<11}  {one.tool}  {one.what}    # {one.rule or one.why}"


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
