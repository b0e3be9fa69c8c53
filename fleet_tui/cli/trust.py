"""Show what a project's files ask for, trust it, and withdraw the trust."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fleet_tui.cli.consent import lines, question
from fleet_tui.cli.group import cli, confirm, open_fleet, say
from fleet_tui.errors import UsageError
from fleet_tui.quantities import counted
from fleet_tui.text import visible


@cli.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--list", "as_list", is_flag=True, help="List the trusted repositories.")
def trust(yes: bool, as_list: bool) -> None:
    """Show what this project's files ask for, and trust them.

    A project's .aifleet/config.toml can run commands, choose programs, set variables, copy files and allow agents to
    act; .worktreeinclude can copy files. None of this happens until you trust it, and you are asked again when it
    changes.

    \b
    Examples:
      fleet trust
      fleet trust --list
    """
    if as_list:
        if yes:
            raise UsageError("--yes has no effect with --list", hint="leave it out")
        _list()
        return
    fleet = open_fleet()
    fleet.trust.refuse_agents()
    asked = fleet.trust.asked()
    if asked is None:
        say("Nothing here needs your trust")
        return
    for line in lines(asked):
        say(line)
    if not yes:
        confirm(question(asked), flag="--yes")
    fleet.trust.accept(asked)
    say(f"Trusted {counted(asked.count, 'line')} of {asked.name}; fleet untrust withdraws it")


@cli.command()
@click.argument("path", required=False, type=click.Path())
def untrust(path: str | None) -> None:
    """Withdraw your trust in this project, or in PATH.

    \b
    Example:
      fleet untrust ~/src/shop
    """
    root = open_fleet().trust.withdraw(Path(path) if path else None)
    say(f"{root} is no longer trusted; running agents are not affected")


def _list() -> None:
    from fleet_tui.config.trust_store import digest

    records = open_fleet().trust.records()
    if not records:
        say("No repository is trusted")
    for record in records:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.at))
        gone = "" if Path(record.repository).exists() else "  (gone)"
        asks = ", ".join(map(visible, record.parts)) or "nothing"
        say(f"{visible(record.repository)}{gone}  {day}  {digest(record.parts)[:12]}  {asks}")
