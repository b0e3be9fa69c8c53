"""Create a project's configuration file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, confirm, open_fleet, say

if TYPE_CHECKING:
    from fleet_tui.config.init import FirstConfig


@cli.command()
@click.option(
    "--type",
    "kind",
    type=click.Choice(["rails", "node", "python", "generic", "minimal"]),
    help="Kind of project; without it, the files here decide.",
)
@click.option(
    "--migrate-legacy",
    is_flag=True,
    help="Import ~/.ai_fleet/config.toml, the one file of old ai-fleet versions.",
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def init(kind: str | None, migrate_legacy: bool, yes: bool) -> None:
    """Create .aifleet/config.toml for this project.

    It is optional: agents start without it. The kind of project decides which files are copied into worktrees and
    which commands prepare them; you see both before you answer. `echo y | fleet init` answers as well.

    \b
    Examples:
      fleet init
      fleet init --type python --yes
    """
    fleet = open_fleet()
    planned = fleet.settings.plan_init(kind or "", migrate_legacy=migrate_legacy)
    for line in _plan_lines(planned):
        say(line, err=True)
    if not yes:
        confirm(f"Create {planned.file}?", flag="--yes", default=True, reads_pipe=True)
    for path in fleet.settings.init(planned.kind, migrate_legacy=migrate_legacy):
        say(f"wrote {path}")
    say("fleet config --edit changes it", err=True)
    say('start an agent with: fleet create fix-login -p "Fix the login form"', err=True)


def _plan_lines(planned: FirstConfig) -> Iterator[str]:
    """Print which kind of project this is and why, and what its first configuration sets."""
    from fleet_tui.config.edit import text_of

    found = planned.detected
    if found is None:
        yield f"{planned.kind} project"
    elif found.because:
        yield f"{planned.kind} project, detected from {', '.join(found.because)}"
    else:
        yield "generic project: no files of a Rails, Node or Python project here"
    if found is not None and found.despite:
        yield f"  there is also {', '.join(found.despite)}; --type chooses another kind"
    for key, value in planned.settings.items():
        yield f"  {key} = {text_of(value)}"
