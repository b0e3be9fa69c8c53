"""Open the dashboard and list its keys."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fleet_tui.cli.completion import complete_agents
from fleet_tui.cli.group import cli, in_color, open_fleet, say, say_json, say_table
from fleet_tui.cli.options import color_option, json_option
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

    \b
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
@color_option
@json_option
def keys(action: str | None, chord: str | None, color: str | None, as_json: bool) -> None:
    """List the dashboard's keys, or explain what one does.

    \b
    Example:
      fleet keys explain ctrl+q
    """
    from fleet_tui.tui import keys as keymaps

    fleet = open_fleet()
    keymap, warning = keymaps.chosen(fleet.config(trusted=False))
    if warning:
        say(f"fleet: {warning}", err=True)
    if action is not None:
        if not chord:
            raise UsageError("explain needs a chord", hint="for example: fleet keys explain ctrl+q")
        meanings = keymaps.explain(keymap, chord)
        if as_json:
            say_json({"chord": chord, "meanings": meanings}, indent=2)
            return
        for line in meanings:
            say(line)
        return
    rows = list(keymaps.table(keymap))
    if as_json:
        names = ("where", "keys", "action", "meaning")
        say_json([dict(zip(names, row, strict=True)) for row in rows], indent=2)
        return
    say_table(("WHERE", "KEYS", "ACTION", "MEANING"), rows, color=in_color(fleet, color))
