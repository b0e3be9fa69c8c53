"""Complete names of agents, batches and profiles, and configuration keys, for the shell."""

from __future__ import annotations

import click

from fleet_tui.cli.group import MODULES, open_fleet
from fleet_tui.errors import FleetError
from fleet_tui.text import flat


def complete_agents(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.models import Status

    try:
        listed = [agent.name for agent in open_fleet().agents() if agent.status is not Status.KILLED]
    except FleetError:
        return []
    return sorted({flat(name) for name in listed if name.startswith(incomplete)})


def complete_killed(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        killed = (agent.name for agent in open_fleet().trash.agents())
        return sorted({flat(name) for name in killed if name.startswith(incomplete)})
    except FleetError:
        return []


def complete_batches(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        fleet = open_fleet()
        labels = fleet.batch_labels(fleet.agents())
        found = {batch for _, batch in labels}
        found |= {label for (_, batch), label in labels.items() if not batch.startswith(label)}
        return sorted(flat(name) for name in found if name.startswith(incomplete))
    except FleetError:
        return []


def complete_agents_and_batches(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    found = complete_agents(context, parameter, incomplete) + complete_batches(context, parameter, incomplete)
    return list(dict.fromkeys(found))


def complete_commands(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in MODULES if name.startswith(incomplete)]


def complete_profiles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.programs import profiles

    return [name for name in profiles.names() if name.startswith(incomplete)]


def complete_keys(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.config.edit import entries
    from fleet_tui.config.settings import Config

    return [entry.key for entry in entries(Config()) if entry.key.startswith(incomplete)]
