"""Show, change, edit and validate the configuration."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from fleet_tui.cli.completion import complete_keys, complete_values
from fleet_tui.cli.group import (
    PIPED_WIDTH,
    cli,
    in_color,
    open_fleet,
    say,
    say_faint,
    say_json,
    terminal_size,
)
from fleet_tui.cli.options import color_option, json_option
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.quantities import counted
from fleet_tui.text import visible

if TYPE_CHECKING:
    from fleet_tui.config.edit import SettingValue
    from fleet_tui.config.settings import Config
    from fleet_tui.fleet import Fleet


class _ConfigCommand(click.Command):
    """Takes the word after `set KEY` as the value, even if it starts with a dash."""

    _OPTIONS = frozenset({"--user", "--json", "--help", "-h", "--"})
    """What `config set` still takes as an option; after -- everything is a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [number for number, word in enumerate(args) if not word.startswith("-")][:2]
        if len(words) == 2 and args[words[0]] == "set":
            before, after = args[: words[1] + 1], args[words[1] + 1 :]
            options = [word for word in after if word in self._OPTIONS]
            values = [word for word in after if word not in self._OPTIONS]
            if values and values[0].startswith("-") and "--" not in after:
                args = [*before, *options, "--", *values]
        return super().parse_args(ctx, args)


@cli.command(cls=_ConfigCommand)
@click.argument("action", type=click.Choice(["get", "set", "unset"]), required=False)
@click.argument("key", required=False, shell_complete=complete_keys)
@click.argument("value", required=False, shell_complete=complete_values)
@click.option(
    "-e",
    "--edit",
    is_flag=True,
    help="Open the file in your editor: VISUAL, EDITOR, git's core.editor, vi or nano.",
)
@click.option("-v", "--validate", is_flag=True, help="Check the files for errors, and list all of them.")
@click.option("--show-origin", is_flag=True, help="Show where each value comes from.")
@click.option("--user", is_flag=True, help="Use your own file instead of the project's.")
@color_option
@json_option
def config(
    action: str | None,
    key: str | None,
    value: str | None,
    edit: bool,
    validate: bool,
    show_origin: bool,
    user: bool,
    color: str | None,
    as_json: bool,
) -> None:
    """Show each setting with what it means, or change one.

    A VALUE may start with dashes. `unset` removes a key from the file, so that its default or your own value counts
    again.

    \b
    Examples:
      fleet config --show-origin
      fleet config get agent.default
      fleet config set defaults.agent codex --user
      fleet config set agent.claude_flags "--model opus"
      fleet config unset agent.default
    """
    wanted = [action] * (action is not None) + ["--edit"] * edit + ["--validate"] * validate
    if len(wanted) > 1:
        raise UsageError(f"either {wanted[0]} or {wanted[1]}", hint="config does one thing at a time")
    if edit:
        _edit(user=user)
    elif validate:
        _validate(user=user, as_json=as_json)
    elif action is None:
        _show_all(color, show_origin=show_origin, as_json=as_json)
    elif key is None or (value is None and action == "set"):
        form = "KEY VALUE" if action == "set" else "KEY"
        raise UsageError(f"config {action} needs {form}", hint="fleet config lists all keys")
    elif value is not None and action != "set":
        raise UsageError(
            f"config {action} takes only KEY, but also got {value!r}",
            hint=f"for example: fleet config {action} {key}",
        )
    elif action == "get":
        found = open_fleet().config()
        _show_value(found, key, show_origin=show_origin, as_json=as_json)
        _warn_untrusted(found, key)
    elif action == "set":
        fleet = open_fleet()
        _check_keys(fleet, key, value or "", user=user)
        fleet.settings.set(key, value or "", user=user)
        _after_change(fleet, key, user=user, as_json=as_json)
    else:
        fleet = open_fleet()
        fleet.settings.unset(key, user=user)
        _after_change(fleet, key, user=user, as_json=as_json, is_set=False)


def _show_all(color: str | None, *, show_origin: bool, as_json: bool) -> None:
    import textwrap

    from fleet_tui.config.edit import entries, meaning, text_of

    fleet = open_fleet()
    found = fleet.config()
    if as_json:
        say_json([_record(entry) for entry in entries(found)], indent=2)
    else:
        in_colors = in_color(fleet, color)
        width = (terminal_size() or (PIPED_WIDTH, 0))[0]
        section = ""
        for entry in entries(found):
            before, section = section, entry.key.partition(".")[0]
            if before not in ("", section):
                say("")
            for line in textwrap.wrap(meaning(entry.key), width - 2):
                say_faint(f"# {line}", color=in_colors)
            origin = f"    # {entry.origin}" if show_origin else ""
            say(f"{entry.key} = {text_of(entry.value)}{origin}")
    _warn_untrusted(found)


def _record(entry: SettingValue) -> dict[str, Any]:
    """A setting as `fleet config --json` shows it."""
    from fleet_tui.config.edit import default_of, meaning, plain

    return {
        "key": entry.key,
        "value": plain(entry.value),
        "origin": entry.origin,
        "default": plain(default_of(entry.key)),
        "meaning": meaning(entry.key),
    }


def _after_change(fleet: Fleet, key: str, *, user: bool, as_json: bool, is_set: bool = True) -> None:
    """Show the value in force if a key was removed, or if another file overrides what was set."""
    from fleet_tui.config.edit import entry, text_of

    try:
        config = fleet.config()
        found = entry(config, key)
    except FleetError:
        # An unknown key, a variable, or a file with an error in another key.
        if as_json:
            say_json({"key": key, "value": None, "origin": "", "default": None, "meaning": ""}, indent=2)
        elif not is_set:
            say(f"{key} is no longer set")
        return
    if as_json:
        say_json(_record(found), indent=2)
    elif not is_set:
        say(f"{found.key} = {text_of(found.value)}    # {found.origin}")
    elif not user and key in config.untrusted:
        _warn_untrusted(config, key)
    elif found.origin != str(fleet.settings.file(user=user)):
        say(f"fleet: no effect here: {found.origin} sets {key} too", err=True)


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


def _show_value(config: Config, key: str, *, show_origin: bool, as_json: bool) -> None:
    """Print one value; a string without quotes, for scripts."""
    from fleet_tui.config.edit import entry, text_of

    found = entry(config, key)
    if as_json:
        say_json(_record(found), indent=2)
        return
    text = found.value if isinstance(found.value, str) else text_of(found.value)
    for line in (text + (f"    # {found.origin}" if show_origin else "")).split("\n"):
        say(line)


def _validate(*, user: bool, as_json: bool) -> None:
    from fleet_tui.tui import keys as keymaps

    fleet = open_fleet()
    problems = fleet.settings.validate(user=user, check_keys=keymaps.problems)
    if as_json:
        say_json([{"problem": problem} for problem in problems], indent=2)
    else:
        for problem in problems:
            say(problem, err=True)
    if problems:
        commands = dict.fromkeys(fleet.settings.edit_commands(problems, user=user))
        raise FleetError(
            f"{counted(len(problems), 'problem')} in the configuration",
            hint=f"fix it with: {' and '.join(commands)}",
        )
    if not as_json:
        say("The configuration is valid")


def _edit(*, user: bool) -> None:
    """Open a configuration file in the user's editor, then warn of errors in it."""
    import subprocess

    from fleet_tui.fleet.editor import FALLBACKS, editor

    fleet = open_fleet()
    file = fleet.settings.file_to_edit(user=user)
    command = editor()
    # Both would wait for keys forever. What the user chose may be a script.
    if command[0] in FALLBACKS and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"{command[0]} needs a terminal",
            hint="change one key with: fleet config set KEY VALUE; or set EDITOR",
        )
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
