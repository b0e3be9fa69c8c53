"""Change what agents are called and how they are grouped: rename and move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fleet_tui import selection
from fleet_tui.cli.completion import complete_agents_and_batches, complete_batches
from fleet_tui.cli.group import cli, find_to_change, refreshed_fleet, say, say_columns, say_json
from fleet_tui.cli.options import json_option, name_argument
from fleet_tui.errors import UsageError
from fleet_tui.faces.plain import changed_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet_tui.models import Agent


@cli.command()
@name_argument
@click.argument("new_name", metavar="NAME")
@json_option
def rename(branch: str, new_name: str, as_json: bool) -> None:
    """Rename an agent; its branch keeps its name.

    \b
    Example:
      fleet rename fix-login login-with-oauth
    """
    fleet = refreshed_fleet()
    agent = find_to_change(fleet, branch)
    renamed = fleet.rename(agent, new_name)
    if as_json:
        say_json(changed_record(renamed), indent=2)
        return
    kept = f"; its branch is still {renamed.branch}" if renamed.branch != renamed.name else ""
    say(f"{agent.name} is now {renamed.name}{kept}")


@cli.command()
@click.argument(
    "words",
    nargs=-1,
    required=True,
    metavar="[AGENT]... BATCH",
    shell_complete=complete_agents_and_batches,
)
@click.option(
    "-b", "--batch", "from_batch", metavar="BATCH", shell_complete=complete_batches,
    help="All agents of this batch.",
)  # fmt: skip
@json_option
def move(words: tuple[str, ...], from_batch: str | None, as_json: bool) -> None:
    """Move agents to a batch; a new name makes a new batch.

    AGENT is a name or a glob. BATCH is the last word, a name or an id. Batches only group agents.

    \b
    Examples:
      fleet move fix-login fix-logout auth
      fleet move -b login auth
    """
    from fleet_tui.models import Status

    *patterns, name = words
    if not patterns and from_batch is None:
        raise UsageError("which agents to which batch?", hint="for example: fleet move fix-login auth")
    fleet = refreshed_fleet()
    agents = fleet.match(patterns, batch=from_batch, but_not=(Status.KILLED,))
    batch = _batch_named(name, fleet.agents(everywhere=True), agents)
    moved = fleet.move_to_batch(agents, batch)
    if as_json:
        say_json([changed_record(agent) for agent in moved], indent=2)
        return
    labels = selection.batch_names(fleet.agents(everywhere=True))
    say_columns([(agent.name, f"batch {labels[agent.project, agent.batch]}") for agent in moved])


def _batch_named(name: str, everyone: Sequence[Agent], moving: Sequence[Agent]) -> str:
    """The id of the batch with this id or name in the agents' projects; a new batch gets the name as its id."""
    projects = {agent.project for agent in moving}
    found = {
        place[1]: label for place, label in selection.batch_labels(everyone).items() if place[0] in projects
    }
    if name in found:
        return name
    ids = sorted(batch for batch, label in found.items() if label == name)
    if len(ids) > 1:
        raise UsageError(
            f"several batches are called {name!r}", hint=f"say which by its id: {', '.join(ids)}"
        )
    return ids[0] if ids else name
