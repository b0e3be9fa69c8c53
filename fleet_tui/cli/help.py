"""Show the help of a command: `fleet help COMMAND` is `fleet COMMAND --help`."""

from __future__ import annotations

import click

from fleet_tui.cli.completion import complete_commands
from fleet_tui.cli.group import cli
from fleet_tui.errors import UsageError


@cli.command("help")
@click.argument("command", nargs=-1, shell_complete=complete_commands)
@click.pass_context
def help_(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of a command, or of fleet.

    \b
    Example:
      fleet help create
    """
    shown = context.find_root()
    for word in command:
        if not isinstance(shown.command, click.Group):
            raise UsageError(
                f"{shown.command_path} has no command {word!r}", hint=f"{shown.command_path} --help"
            )
        name, found, _ = shown.command.resolve_command(shown, [word])
        if found is None:
            break
        shown = click.Context(found, info_name=name, parent=shown)
    click.echo(shown.get_help())
