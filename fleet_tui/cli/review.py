"""Show what agents have changed."""

from __future__ import annotations

import shutil
import sys

import click

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_json
from fleet_tui.cli.options import json_option, name_argument, refuse_empty
from fleet_tui.errors import UsageError
from fleet_tui.faces.plain import diff_record


@cli.command()
@name_argument
@click.option("--stat", is_flag=True, help="Print how many lines changed in each file.")
@click.option("--name-only", is_flag=True, help="Print only the names of changed files.")
@click.option(
    "--against",
    default="",
    metavar="BASE|AGENT",
    callback=refuse_empty,
    help="Compare with a branch, a commit or another agent instead of the agent's base.",
)
@json_option
def diff(branch: str, stat: bool, name_only: bool, against: str, as_json: bool) -> None:
    """Show what an agent has changed since its base.

    Committed and uncommitted changes are shown alike, as a patch that git apply takes.

    \b
    Examples:
      fleet diff fix-login | less
      fleet diff fix-login | git apply
    """
    if stat + name_only + as_json > 1:
        raise UsageError("--stat, --name-only and --json exclude each other", hint="give one of them")
    fleet = refreshed_fleet()
    found = fleet.find(branch)
    if as_json:
        say_json(diff_record(fleet.review.diff(found, against=against)), indent=2)
    elif name_only:
        for file in fleet.review.diff(found, against=against).files:
            say(file.path)
    elif stat:
        width = shutil.get_terminal_size().columns
        for line in fleet.review.stat(found, against=against, width=width).splitlines():
            say(line)
    else:
        _raw(fleet.review.patch(found, against=against))


def _raw(text: str) -> None:
    """Print a patch byte for byte, because other programs read it."""
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
