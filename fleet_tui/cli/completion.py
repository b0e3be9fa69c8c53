"""Complete names, statuses, profiles, start points and configuration for the shell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import MODULES, open_fleet
from fleet_tui.errors import FleetError
from fleet_tui.text import flat

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST_COUNTS = 9
"""How many counts of a profile to offer while the number of agents left is unknown."""


def _starting_with(incomplete: str, words: Iterable[str]) -> list[str]:
    return [flat(word) for word in words if word.startswith(incomplete)]


# ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────────


def complete_agents(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.models import Status

    try:
        listed = {agent.name for agent in open_fleet().agents() if agent.status is not Status.KILLED}
    except FleetError:
        return []
    return _starting_with(incomplete, sorted(listed))


def complete_killed(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        killed = {agent.name for agent in open_fleet().trash.agents()}
    except FleetError:
        return []
    return _starting_with(incomplete, sorted(killed))


def complete_batches(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The ids of batches, and the labels that only one batch has."""
    try:
        fleet = open_fleet()
        labels = fleet.batch_labels(fleet.agents())
    except FleetError:
        return []
    count = Counter(labels.values())
    found = {batch for _, batch in labels}
    found |= {
        label for (_, batch), label in labels.items() if count[label] == 1 and not batch.startswith(label)
    }
    return _starting_with(incomplete, sorted(found))


def complete_statuses(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The statuses of running agents."""
    from fleet_tui.models import Status

    return _starting_with(incomplete, [str(status) for status in Status if not status.has_ended])


# ── what agents start from ──────────────────────────────────────────────────────────────────────────────────────


def complete_agents_and_batches(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[str]:
    found = complete_agents(context, parameter, incomplete) + complete_batches(context, parameter, incomplete)
    return list(dict.fromkeys(found))


def complete_commands(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in MODULES if name.startswith(incomplete)]


def complete_profiles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.programs import profiles

    return _starting_with(incomplete, profiles.names())


def complete_bases(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Branches and tags, what is checked out first, then the newest."""
    try:
        points = open_fleet().start_points()
    except FleetError:
        return []
    return _starting_with(incomplete, [point.name for point in points if point.name])


def complete_new_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """A new agent's name is the user's choice; with --existing it is a branch."""
    return complete_bases(context, parameter, incomplete) if context.params.get("existing") else []


def complete_mix(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Profiles with counts that add up to COUNT: after claude:3, of five agents, codex:2."""
    from fleet_tui.programs import profiles

    done, comma, part = incomplete.rpartition(",")
    named, colon, _ = part.partition(":")
    given = [one.rpartition(":") for one in done.split(",") if done]
    # While --agents has no value, click leaves the arguments before it unread.
    count = context.params.get("count") or next((int(one) for one in context.args[:1] if one.isdecimal()), 0)
    left = (count or MOST_COUNTS) - sum(int(number) for _, _, number in given if number.isdecimal())
    if left < 1:
        return []
    # The number of agents left comes first: it completes the mix.
    numbers = list(range(left, 0, -1) if count else range(1, left + 1))
    taken = {name for name, _, _ in given}
    found = [
        f"{done}{comma}{name}:{number}"
        for name in profiles.names()
        if name not in taken and (name == named if colon else name.startswith(named))
        for number in (numbers if colon else numbers[:1])
    ]
    return _starting_with(incomplete, found)


# ── configuration ───────────────────────────────────────────────────────────────────────────────────────────────


def complete_keys(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Keys with their descriptions; for unset, only those that the file sets, and for set none that takes tables."""
    from click.shell_completion import CompletionItem

    from fleet_tui.config.edit import entries, meaning
    from fleet_tui.config.settings import Config

    try:
        fleet = open_fleet()
        found = fleet.config(trusted=True)
        if context.params.get("action") == "unset":
            file = str(fleet.settings.file(user=bool(context.params.get("user"))))
            keys = [key for key, origin in found.origins.items() if origin == file]
            if "defaults.agent" in keys and found.agent_default == found.default_agent:
                keys.remove("agent.default")
        else:
            keys = [entry.key for entry in entries(found)]
            if context.params.get("action") == "set":
                keys.remove("approve.rules")
    except FleetError:
        keys = [entry.key for entry in entries(Config())]
    return [CompletionItem(flat(key), help=meaning(key)) for key in keys if key.startswith(incomplete)]


def complete_values(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What `fleet config set` accepts for a key that knows its values."""
    from fleet_tui.config.settings import KEYS

    key = context.params.get("key")
    if context.params.get("action") != "set" or not key:
        return []
    if key in ("agent.default", "defaults.agent"):
        return complete_profiles(context, parameter, incomplete)
    return _starting_with(incomplete, KEYS[key].kind.words) if key in KEYS else []
