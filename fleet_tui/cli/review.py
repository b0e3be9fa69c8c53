"""Show what agents have changed."""

from __future__ import annotations

import contextlib
import re
import shutil
import sys
from collections.abc import Iterator

import click

from fleet_tui.cli.group import cli, in_color, refreshed_fleet, say, say_json
from fleet_tui.cli.options import color_option, json_option, name_argument, refuse_empty
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.faces.work_records import diff_record
from fleet_tui.text import flat

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_COLORS = {"+": "32", "-": "31", "@": "36", "h": "1"}
"""SGR parameters by the kind of a line: added, removed, place of a hunk, header of a file."""


@cli.command()
@name_argument
@click.argument("files", nargs=-1, metavar="[-- PATH...]")
@click.option("--stat", is_flag=True, help="Print how many lines changed in each file.")
@click.option("--name-only", is_flag=True, help="Print only the names of changed files.")
@click.option(
    "--against",
    default="",
    metavar="BASE|AGENT",
    callback=refuse_empty,
    help="Compare with a branch, a commit or another agent instead of the agent's base.",
)
@color_option
@json_option
def diff(
    branch: str,
    files: tuple[str, ...],
    stat: bool,
    name_only: bool,
    against: str,
    color: str | None,
    as_json: bool,
) -> None:
    """Show what an agent has changed since its base.

    Prints committed and uncommitted changes as a patch that git apply takes; on a terminal, in colors and with control
    characters replaced. PATH is a file or folder, from the top of the agent's worktree.

    \b
    Examples:
      fleet diff fix-login
      fleet diff fix-login --against main -- src/auth
      fleet diff fix-login --color always | less -R
      fleet diff fix-login | git apply
    """
    if stat + name_only + as_json > 1:
        raise UsageError("--stat, --name-only and --json exclude each other", hint="give one of them")
    fleet = refreshed_fleet()
    found = fleet.find(branch)
    if as_json:
        say_json(diff_record(fleet.review.diff(found, against=against, files=files)), indent=2)
    elif name_only:
        for file in fleet.review.diff(found, against=against, files=files, counts=False).files:
            say(file.path)
    elif stat:
        width = shutil.get_terminal_size().columns
        for line in fleet.review.stat(found, against=against, files=files, width=width).splitlines():
            say(line)
    else:
        text = fleet.review.patch(found, against=against, files=files)
        if color == "always" or sys.stdout.isatty():
            _show(text, color=in_color(fleet, color))
        else:
            # Byte for byte, because other programs read it.
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()
    # What was shown stays shown if that cannot be recorded.
    with contextlib.suppress(FleetError):
        fleet.mark_seen([found])


def _show(patch: str, *, color: bool) -> None:
    for line in _readable(patch, color=color):
        # It is safe already, and click would strip its colors wherever there is no terminal.
        click.echo(line, color=True)


def _readable(patch: str, *, color: bool) -> Iterator[str]:
    """The lines of a patch without control characters."""
    old = new = 0
    for line in patch.removesuffix("\n").split("\n") if patch else ():
        kind = " "
        if old > 0 or new > 0:
            kind = line[:1]
            old, new = old - (kind in " -"), new - (kind in " +")
        elif found := _HUNK.match(line):
            kind = "@"
            old, new = (1 if count is None else int(count) for count in found.groups())
        elif line and not line.startswith("\\"):
            kind = "h"
        shown = line[:1] + flat(line[1:].removesuffix("\r").expandtabs(8))
        style = _COLORS.get(kind) if color and shown else None
        yield f"\x1b[{style}m{shown}\x1b[0m" if style else shown
