"""Show, change, edit and validate the configuration."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fleet_tui.cli.completion import complete_keys
from fleet_tui.cli.group import cli, open_fleet, say
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.quantities import counted
from fleet_tui.text import visible

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config
    from fleet_tui.fleet import Fleet


@cli.command()
@click.argument("action", type=click.Choice(["get", "set"]), required=False)
@click.argument("key", required=False, shell_complete=complete_keys)
@click.argument("value", required=False)
@click.option(
    "-e",
    "--edit",
    is_flag=True,
    help="Open the file in your editor: VISUAL, EDITOR, git's core.editor, vi or nano.",
)
@click.option("-v", "--validate", is_flag=True, help="Check the files for errors.")
@click.option("--show-origin", is_flag=True, help="Show where each value comes from.")
@click.option("--user", is_flag=True, help="Use your own file instead of the project's.")
def config(
    action: str | None,
    key: str | None,
    value: str | None,
    edit: bool,
    validate: bool,
    show_origin: bool,
    user: bool,
) -> None:
    """Show or change the configuration.

    \b
    Examples:
      fleet config --show-origin
      fleet config get agent.default
      fleet config set defaults.agent codex --user
    """
    from fleet_tui.config.edit import entries, text_of

    if edit:
        _edit(user=user)
    elif validate:
        _validate()
    elif action is None:
        found = open_fleet().config()
        for entry in entries(found):
            origin = f"    # {entry.origin}" if show_origin else ""
            say(f"{entry.key} = {text_of(entry.value)}{origin}")
        _warn_untrusted(found)
    elif key is None or (action == "set" and value is None) or (action == "get" and value is not None):
        form = "KEY VALUE" if action == "set" else "KEY"
        raise UsageError(f"config {action} needs {form}", hint="fleet config lists all keys")
    elif action == "get":
        found = open_fleet().config()
        _show_value(found, key, show_origin=show_origin)
        _warn_untrusted(found, key)
    else:
        fleet = open_fleet()
        _check_keys(fleet, key, value or "", user=user)
        fleet.settings.set(key, value or "", user=user)


def _warn_untrusted(config: Config, only: str = "") -> None:
    """Warn of what the project sets and what has no effect until it is trusted."""
    waiting = [key for key in config.untrusted if only in ("", key)]
    if waiting:
        named = ", ".join(map(visible, waiting))
        say(f"fleet: no effect until trusted (see fleet trust): the project's {named}", err=True)


def _check_keys(fleet: Fleet, key: str, text: str, *, user: bool) -> None:
    """Refuse a key binding that the dashboard rejects, unless it rejected the bindings before as well."""
    from fleet_tui.config.edit import value_from_text

    section, _, action = key.partition(".")
    if section != "keys" or not action:
        return
    chords = value_from_text(key, text)
    before = (fleet.settings.of_user() if user else fleet.settings.of_project()).keys
    problem = _key_problem({**before, action: chords})
    if problem is not None and problem.message != getattr(_key_problem(before), "message", ""):
        raise problem


def _key_problem(table: Mapping[str, Any]) -> UsageError | None:
    """Why the dashboard rejects these key bindings, if it does."""
    from fleet_tui.tui import keys as keymaps

    try:
        keymaps.of_config(table)
    except UsageError as error:
        return error
    return None


def _show_value(config: Config, key: str, *, show_origin: bool) -> None:
    """Print one value; a string without quotes, for scripts."""
    from fleet_tui.config.edit import get, text_of
    from fleet_tui.config.settings import DEFAULT

    value = get(config, key)
    text = value if isinstance(value, str) else text_of(value)
    for line in (text + (f"    # {config.origins.get(key, DEFAULT)}" if show_origin else "")).split("\n"):
        say(line)


def _validate() -> None:
    fleet = open_fleet()
    problems = fleet.settings.validate()
    # A file that cannot be read is among the problems already.
    with contextlib.suppress(FleetError):
        refused = _key_problem(fleet.config().keys)
        problems += [refused.message] if refused is not None else []
    for problem in problems:
        say(problem, err=True)
    if problems:
        raise FleetError(
            f"{counted(len(problems), 'problem')} in the configuration",
            hint="fix it with: fleet config --edit",
        )
    say("The configuration is valid")


def _edit(*, user: bool) -> None:
    """Open a configuration file in the user's editor, then warn of errors in it."""
    import subprocess

    from fleet_tui.system.editor import editor

    fleet = open_fleet()
    file = fleet.settings.file(user=user)
    if user:
        file.parent.mkdir(parents=True, exist_ok=True)
    elif not file.exists():
        raise NotFound(f"no such file: {file}", hint="create it with: fleet init")
    command = editor()
    before = fleet.settings.text(user=user)
    try:
        code = subprocess.call([*command, str(file)])
    except OSError as error:
        raise NotFound(f"{command[0]}: {error.strerror}", hint="set EDITOR to an installed editor") from error
    if code:
        raise FleetError(f"{command[0]} exited with code {code}", hint=f"check {file}")
    if not user:
        fleet.settings.accept_edit(before, fleet.settings.text())
    config = fleet.config()
    problem = _key_problem(config.keys)
    for warning in [*config.warnings, *([problem.message] if problem is not None else [])]:
        say(warning, err=True)
