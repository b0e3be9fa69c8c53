"""Open the dashboard and list its keys."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet_tui.cli.completion import complete_agents
from fleet_tui.cli.group import cli, open_fleet, say, say_json
from fleet_tui.errors import UsageError


@cli.command()
@click.argument("what", type=click.Choice(["demo"]), required=False)
def ui(what: str | None) -> int:
    """Open the dashboard. Short: fleet-tui.

    \b
    Example:
      fleet ui demo     on a demo fleet
    """
    return _dashboard(demo=what == "demo")


@cli.command("open")
@click.argument("branch", metavar="[AGENT]", required=False, shell_complete=complete_agents)
@click.pass_context
def open_(context: click.Context, branch: str | None) -> int:
    """Open the dashboard, or an agent's terminal: `ui` or `attach`.

    
    Examples:
      fleet open
      fleet open fix-login
    """
    from fleet_tui.cli.show import attach

    if branch is None:
        return _dashboard()
    code: int = context.invoke(attach, branch=branch)
    return code


def _dashboard(*, demo: bool = False) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the dashboard needs a terminal", hint="fleet list works without one")
    from fleet_tui.tui import app

    return app.run(Path.cwd(), demo=demo)


@cli.command()
@click.argument("action", type=click.Choice(["explain"]), required=False)
@click.argument("chord", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def keys(action: str | None, chord: str | None, as_json: bool) -> None:
    """List the dashboard's keys, or explain what one does.

    \b
    Example:
      fleet keys explain ctrl+q
    """
    from fleet_tui.tui import keys as keymaps

    keymap, warning = keymaps.chosen(open_fleet().config(trusted=False))
    if warning:
        say(f"fleet: {warning}", err=True)
    if action is not None:
        if not chord:
            raise UsageError("explain needs a chord", hint="for example: fleet keys explain ctrl+q")
        for line in keymaps.explain(keymap, chord):
            say(line)
        return
    rows = list(keymaps.table(keymap))
    if as_json:
        names = ("where", "keys", "action", "meaning")
        say_json([dict(zip(names, row, strict=True)) for row in rows], indent=2)
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[3]}")
