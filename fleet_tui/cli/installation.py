"""Show how to update fleet-tui, and print shell completion scripts."""

from __future__ import annotations

import click

from fleet_tui import __version__
from fleet_tui.cli.group import cli, confirm, say


@cli.command()
@click.option("--check", is_flag=True, help="Ask the package index for the newest version.")
@click.option("--force", is_flag=True, help="With --check: use the network without asking.")
def update(check: bool, force: bool) -> None:
    """Show how to update fleet-tui. Uses the network only with --check.

    \b
    Example:
      fleet update --check
    """
    from fleet_tui.cli import install_method

    say(f"fleet-tui {__version__}, {install_method.kind()}")
    say(f"update with: {install_method.update_command()}")
    say("agents keep running during an update")
    if check:
        if not force:
            confirm("Ask the package index for the newest version?", flag="--force", default=True)
        say(install_method.newest())


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell completion script of fleet and flt.

    \b
    Example, for ~/.bashrc:
      eval "$(fleet completion bash)"
    """
    from fleet_tui.cli import completion_scripts

    for name in ("fleet", "flt"):
        click.echo(completion_scripts.script(cli, shell, name))
