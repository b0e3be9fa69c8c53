"""Trust in what a project's files ask for: show it, give it, take it back."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import click

from fleet_tui.cli.consent import lines, question
from fleet_tui.cli.group import cli, confirm, counted, open_fleet, say
from fleet_tui.errors import NotFound, UsageError


@cli.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--list", "as_list", is_flag=True, help="List the repositories that you trust.")
def trust(yes: bool, as_list: bool) -> None:
    """Show what this project's files ask for, and trust it.

    A project's .aifleet/config.toml can run commands, choose programs, set variables, copy files and allow agents to
    act; so can .worktreeinclude copy files. Nothing of it happens until you have trusted it, and you are asked again
    when it changes.
    """
    from fleet_tui.trust import refuse_agents

    if as_list:
        if yes:
            raise UsageError(
                "--list trusts nothing, so there is nothing to say yes to", hint="leave out --yes"
            )
        _list()
        return
    fleet = open_fleet()
    refuse_agents()
    asked = fleet.asked()
    if asked is None:
        say("Nothing waits for your trust here")
        return
    for line in lines(asked):
        say(line)
    if not yes:
        confirm(question(asked), flag="--yes")
    fleet.trust(asked)
    say(f"Trusted {counted(asked.count, 'line')} of {asked.name}; fleet untrust takes it back")


@cli.command()
@click.argument("path", required=False, type=click.Path())
def untrust(path: str | None) -> None:
    """Take back your trust in this project, or in PATH."""
    from fleet_tui import trust_store

    root = Path(path) if path else open_fleet().repository.root
    if path and not trust_store.recorded(root) and root.is_dir():
        from fleet_tui.fleet import Fleet

        # A folder inside of it, or one of its worktrees.
        with contextlib.closing(Fleet(root.absolute())) as there:
            root = there.repository.root
    if not trust_store.forget(root):
        raise NotFound(f"nothing was trusted in {root}", hint="see: fleet trust --list")
    say(f"Nothing of {root} is trusted any more; running agents go on as they are")


def _list() -> None:
    from fleet_tui import trust_store
    from fleet_tui.trust import shown

    records = trust_store.everything()
    if not records:
        say("You trust no repository yet")
    for record in records:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.at))
        gone = "" if Path(record.repository).exists() else "  (gone)"
        asks = ", ".join(map(shown, record.parts)) or "nothing"
        say(f"{shown(record.repository)}{gone}  {day}  {trust_store.digest(record.parts)[:12]}  {asks}")
