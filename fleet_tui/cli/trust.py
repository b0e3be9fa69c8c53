"""Show what a project's files ask for, trust it, and withdraw the trust."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.consent import lines, question
from fleet_tui.cli.group import cli, confirm, in_color, open_fleet, say, say_json, say_table
from fleet_tui.cli.options import color_option, json_option, refuse_empty
from fleet_tui.errors import UsageError
from fleet_tui.faces.plain import trust_request_record, trusted_record
from fleet_tui.models import TrustRequest
from fleet_tui.quantities import counted
from fleet_tui.text import visible

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet


@cli.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--list", "as_list", is_flag=True, help="List the trusted repositories.")
@color_option
@json_option
def trust(yes: bool, as_list: bool, color: str | None, as_json: bool) -> None:
    """Show what this project's files ask for, and trust them.

    A project's .aifleet/config.toml can run commands, choose programs, set variables, copy files and allow agents to
    act; .worktreeinclude can copy files. None of this happens until you trust it, and you are asked again when it
    changes. With --json, it is only shown unless --yes is given.

    \b
    Examples:
      fleet trust
      fleet trust --list
    """
    if as_list:
        if yes:
            raise UsageError("--yes has no effect with --list", hint="leave it out")
        _list(color, as_json=as_json)
        return
    fleet = open_fleet()
    fleet.trust.refuse_agents()
    asked = fleet.trust.asked()
    if as_json:
        _show_json(fleet, asked, yes=yes)
        return
    if asked is None:
        say("Nothing here needs your trust")
        return
    if yes:
        # Before the list is printed, as its reader may close it: head, for example.
        fleet.trust.accept(asked)
    for line in lines(asked):
        say(line)
    if not yes:
        confirm(question(asked), flag="--yes")
        fleet.trust.accept(asked)
    say(f"Trusted {counted(asked.count, 'line')} of {asked.name}; fleet untrust withdraws it")


@cli.command()
@click.argument("path", required=False, type=click.Path(), callback=refuse_empty)
@json_option
def untrust(path: str | None, as_json: bool) -> None:
    """Withdraw your trust in this project, or in PATH.

    \b
    Example:
      fleet untrust ~/src/shop
    """
    root = open_fleet().trust.withdraw(Path(path) if path else None)
    if as_json:
        say_json({"project": str(root), "is_trusted": False})
    else:
        say(f"{root} is no longer trusted; running agents are not affected")


def _show_json(fleet: Fleet, asked: TrustRequest | None, *, yes: bool) -> None:
    """Print what the project's files ask for; only --yes trusts it."""
    if asked is not None and yes:
        fleet.trust.accept(asked)
    is_trusted = yes or asked is None
    file = str(fleet.settings.file())
    nothing = TrustRequest(fleet.project() or "", Path(fleet.project() or "").name, file, (), 0, 0, (), (), "", {}, "")  # fmt: skip
    say_json(trust_request_record(asked or nothing, is_trusted=is_trusted), indent=2)


def _list(color: str | None, *, as_json: bool) -> None:
    from fleet_tui.config.trust_store import digest

    fleet = open_fleet()
    records = fleet.trust.records()
    if as_json:
        found = [(one, Path(one.repository).exists()) for one in records]
        say_json(
            [
                trusted_record(one.repository, one.at, digest(one.parts), list(one.parts), exists=exists)
                for one, exists in found
            ],
            indent=2,
        )
        return
    if not records:
        say("No repository is trusted")
        return
    rows = []
    for record in records:
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.at))
        gone = "" if Path(record.repository).exists() else "  (gone)"
        asks = ", ".join(map(visible, record.parts)) or "nothing"
        rows.append((visible(record.repository) + gone, day, digest(record.parts)[:12], asks))
    say_table(("PROJECT", "TRUSTED", "DIGEST", "PARTS"), rows, color=in_color(fleet, color))
