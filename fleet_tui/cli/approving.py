"""What was approved without asking, and what would be."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, open_fleet, say, say_json, terminal_size
from fleet_tui.errors import UsageError
from fleet_tui.text import flat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet_tui.approvals import Approval

_SAID = {"allow": "allowed", "ask": "asked", "deny": "denied"}
_COMMAND_TOOLS = ("Bash", "shell", "exec")
PIPED_WIDTH = 400


@cli.command()
@click.argument("action", type=click.Choice(["try"]), required=False)
@click.argument("what", required=False)
@click.option("-n", "--lines", type=click.IntRange(min=0), default=20, help="How many of the last; 20.")
@click.option("--tool", default="Bash", metavar="TOOL", help="With try: another tool, for a path.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def approvals(action: str | None, what: str | None, lines: int, tool: str, as_json: bool) -> None:
    """Show what the rules of `approve` have decided.

    `fleet approvals try "COMMAND"` says what they would decide. Nothing is approved unless approve.mode is on; in shadow mode it is only written down what would have been.
    """
    if action is None:
        _show(lines, as_json=as_json)
    elif not what:
        raise UsageError("try what?", hint='write for example: fleet approvals try "git status"')
    else:
        _try(what, tool, as_json=as_json)


def _show(count: int, *, as_json: bool) -> None:
    from fleet_tui import approvals as log
    from fleet_tui import paths
    from fleet_tui.values import asdict

    found = log.entries(paths.approvals())
    last = found[-count:] if count else []
    if as_json:
        say_json([asdict(one) for one in last], indent=2)
        return
    fleet = open_fleet()
    if not found:
        mode = fleet.config().approve_mode
        say(f"No approvals yet (approve.mode is {mode}; fleet config set approve.mode shadow watches)")
        return
    names = {agent.id: agent.name for agent in fleet.agents(everywhere=True)}
    width = (terminal_size() or (PIPED_WIDTH, 0))[0]
    for one in last:
        say(flat(_line(one, names))[:width])
    say(log.totals(found))


def _line(one: Approval, names: Mapping[str, str]) -> str:
    moment = time.strftime("%m-%d %H:%M:%S", time.localtime(one.at))
    said = _SAID.get(one.decision, one.decision) if one.mode == "on" else f"would {one.decision}"
    name = names.get(one.agent, one.agent)
    return f"{moment}  {name}  {said:<11}  {one.tool}  {one.what}    # {one.rule or one.why}"


def _try(what: str, tool: str, *, as_json: bool) -> None:
    from fleet_tui.policy import Request

    fleet = open_fleet()
    policy = fleet.config().approve
    here = fleet.project() or str(Path.cwd())
    key = "command" if tool in _COMMAND_TOOLS else "file_path"
    verdict = policy.judge(Request(tool, {key: what}, here))
    if as_json:
        say_json({**verdict._asdict(), "mode": policy.mode})
        return
    say(f"{verdict.decision}: {verdict.why}" + (f" ({verdict.rule})" if verdict.rule else ""))
    if policy.mode != "on":
        say(f"approve.mode is {policy.mode}, so every request is asked", err=True)
