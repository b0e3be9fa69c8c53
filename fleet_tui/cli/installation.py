"""Show how to update fleet-tui, and print shell completion scripts."""

from __future__ import annotations

import click

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
    from fleet_tui.fleet import Fleet

    # Works in a folder that no longer exists, where no fleet can be opened.
    found = Fleet.installation()
    is_source = found.method == "source"
    say(
        f"fleet-tui {found.version}, {'running from source' if is_source else f'installed with {found.method}'}"
    )
    say(f"update with: {found.update_command}")
    say("agents keep running during an update")
    if check:
        if not force:
            confirm("Ask the package index for the newest version?", flag="--force", default=True)
        say(f"the newest version is {Fleet.newest_version()}")


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
