"""The dashboard, configuration, health and everything else around the agents."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fleet_tui import __version__
from fleet_tui.cli.group import cli, complete_keys, confirm, counted, open_fleet, say, say_json
from fleet_tui.errors import FleetError, NoRepository, NotFound, UsageError

if TYPE_CHECKING:
    from fleet_tui.config import Config


@cli.command()
@click.argument("what", type=click.Choice(["demo"]), required=False)
def ui(what: str | None) -> int:
    """Open the dashboard; `ui demo` with a fleet to play with. Short: fleet-tui."""
    from fleet_tui.tui import app

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("the dashboard needs a terminal", hint="fleet list shows the agents anywhere")
    return app.run(Path.cwd(), demo=what == "demo")


@cli.command()
@click.option("--type", "kind", type=click.Choice(["rails", "node", "python", "generic", "minimal"]))
@click.option("--migrate-legacy", is_flag=True, help="Take over ~/.ai_fleet/config.toml.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def init(kind: str | None, migrate_legacy: bool, yes: bool) -> None:
    """Write .aifleet/config.toml for this project."""
    from fleet_tui import presets

    root = open_fleet().repository.root
    chosen = kind or presets.detect_type(root)
    if not yes:
        confirm(f"Write {root / '.aifleet/config.toml'} for a {chosen} project?", flag="--yes", default=True)
    for path in presets.init(root, chosen, migrate_legacy=migrate_legacy):
        say(f"wrote {path}")


@cli.command()
@click.argument("action", type=click.Choice(["get", "set"]), required=False)
@click.argument("key", required=False, shell_complete=complete_keys)
@click.argument("value", required=False)
@click.option("-e", "--edit", is_flag=True, help="Open the file in $EDITOR.")
@click.option("-v", "--validate", is_flag=True, help="Check it.")
@click.option("--show-origin", is_flag=True, help="Show where each value comes from.")
@click.option("--user", is_flag=True, help="The user's file instead of the project's.")
def config(
    action: str | None,
    key: str | None,
    value: str | None,
    edit: bool,
    validate: bool,
    show_origin: bool,
    user: bool,
) -> None:
    """Show or change the configuration."""
    from fleet_tui import config as settings

    if edit:
        _edit(_config_file(user=user), user=user)
    elif validate:
        _validate()
    elif action is None:
        found = open_fleet().config()
        for entry in settings.entries(found):
            origin = f"    # {entry.origin}" if show_origin else ""
            say(f"{entry.key} = {settings.text_of(entry.value)}{origin}")
        _tell_untrusted(found)
    elif key is None or (action == "set" and value is None) or (action == "get" and value is not None):
        form = "KEY VALUE" if action == "set" else "KEY"
        raise UsageError(f"config {action} needs {form}", hint="fleet config lists all keys")
    elif action == "get":
        found = open_fleet().config()
        _show_value(found, key, show_origin=show_origin)
        _tell_untrusted(found, key)
    else:
        file = _config_file(user=user)
        _check_keys(key, value or "", user=user)
        # A stranger's repository may hold a link to one of the user's files.
        settings.set_value(file, key, value or "", inside=None if user else open_fleet().repository.root)
        if not user:
            _trust_value(key, value or "")


def _tell_untrusted(config: Config, only: str = "") -> None:
    """Name what the project sets and is not in force."""
    waiting = [key for key in config.untrusted if only in ("", key)]
    if waiting:
        from fleet_tui.trust import shown

        named = ", ".join(map(shown, waiting))
        say(f"fleet: not in force, see fleet trust: the project's {named}", err=True)


def _trust_value(key: str, text: str) -> None:
    """What the user has set needs no further question."""
    from fleet_tui import config as settings
    from fleet_tui import trust_store

    root = open_fleet().repository.root
    if key in settings.asked_by(root, include=False).parts:
        trust_store.add(root, {key: settings.value_from_text(key, text)})


def _check_keys(key: str, text: str, *, user: bool) -> None:
    """Refuse a key with which the dashboard would not open; one that only leaves it as broken as it was may be set."""
    from fleet_tui import config as settings

    section, _, action = key.partition(".")
    if section != "keys" or not action:
        return
    chords = settings.value_from_text(key, text)
    before = settings.load(None if user else open_fleet().repository.root).keys
    problem = _key_problem({**before, action: chords})
    if problem is not None and problem.message != getattr(_key_problem(before), "message", ""):
        raise problem


def _key_problem(table: Mapping[str, Any]) -> UsageError | None:
    """What the dashboard has against a table of keys."""
    from fleet_tui.tui import keys as keymaps

    try:
        keymaps.of_config(table)
    except UsageError as error:
        return error
    return None


def _show_value(config: Config, key: str, *, show_origin: bool) -> None:
    """For scripts: a string without its quotes."""
    from fleet_tui import config as settings

    value = settings.get(config, key)
    text = value if isinstance(value, str) else settings.text_of(value)
    for line in (text + (f"    # {config.origins.get(key, settings.DEFAULT)}" if show_origin else "")).split(
        "\n"
    ):
        say(line)


def _config_file(*, user: bool) -> Path:
    from fleet_tui import paths

    if user:
        return paths.user_config()
    try:
        return paths.project_config(open_fleet().repository.root)
    except NoRepository as error:
        raise NoRepository(
            error.message, hint="go to a project, or use --user for your own settings"
        ) from None


def _validate() -> None:
    from fleet_tui import config as settings

    fleet = open_fleet()
    problems = settings.validate(fleet.repository.root)
    # One that cannot be read was named, and has no keys to look at.
    with contextlib.suppress(FleetError):
        refused = _key_problem(fleet.config().keys)
        problems += [refused.message] if refused is not None else []
    for problem in problems:
        say(problem, err=True)
    if problems:
        raise FleetError(
            f"{counted(len(problems), 'problem')} in the configuration",
            hint="mend it with: fleet config --edit",
        )
    say("The configuration is valid")


def _edit(file: Path, *, user: bool) -> None:
    """Open a configuration file in the user's editor, and say at once when it cannot be read any more."""
    import subprocess

    if user:
        file.parent.mkdir(parents=True, exist_ok=True)
    elif not file.exists():
        raise NotFound(f"there is no {file}", hint="make one with: fleet init")
    editor = _editor()
    before = _read(file)
    try:
        code = subprocess.call([*editor, str(file)])
    except OSError as error:
        raise NotFound(f"{editor[0]}: {error.strerror}", hint="set EDITOR to an editor you have") from error
    if code:
        raise FleetError(f"{editor[0]} ended with code {code}", hint=f"look at {file}")
    fleet = open_fleet()
    if not user:
        from fleet_tui import trust

        trust.accept_edit(fleet.repository.root, before, _read(file))
    config = fleet.config()
    problem = _key_problem(config.keys)
    for warning in [*config.warnings, *([problem.message] if problem is not None else [])]:
        say(warning, err=True)


def _read(file: Path) -> str | None:
    """What a configuration holds; None where it cannot be read, which is said elsewhere."""
    from fleet_tui import bounded_files

    try:
        return bounded_files.read(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def _editor() -> list[str]:
    import shlex

    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "nano"
    try:
        return shlex.split(named) or ["nano"]
    except ValueError as error:
        raise UsageError(
            f"EDITOR is not a command: {error}", hint="set EDITOR to an editor you have"
        ) from error


@cli.command()
@click.option("--fix", is_flag=True, help="Do what is proposed, instead of only saying it.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
def doctor(fix: bool, as_json: bool) -> None:
    """Say what is wrong or left behind; only --fix changes it."""
    findings = open_fleet().examine()
    if as_json:
        say_json([{"level": one.level, "text": one.text, "remedy": one.remedy} for one in findings])
        return
    for finding in findings:
        mark = {"ok": "✓", "warning": "!", "problem": "✗"}[finding.level]
        say(f"{mark} {finding.text}")
        if fix and finding.fix is not None:
            say(f"    {finding.fix()}")
        elif finding.remedy:
            say(f"    {finding.remedy}")
    left = [
        finding
        for finding in findings
        if finding.level == "problem" and not (fix and finding.fix is not None)
    ]
    if left:
        raise FleetError(
            f"{counted(len(left), 'problem')} found",
            hint="do what is proposed above; --fix does what it can",
        )


@cli.command()
@click.option("--check", is_flag=True, help="Ask the package index for the newest version.")
@click.option("--force", is_flag=True, help="With --check: do not ask before using the network.")
def update(check: bool, force: bool) -> None:
    """Say how this installation is updated. Uses no network unless told to."""
    from fleet_tui import installation

    say(f"fleet-tui {__version__}, {installation.kind()}")
    say(f"update it with: {installation.update_command()}")
    say("running agents go on during an update")
    if check:
        if not force:
            confirm("Ask the package index for the newest version?", flag="--force", default=True)
        say(installation.newest())


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell, for fleet and flt."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:
        raise UsageError(f"no completion for {shell}")
    for name in ("fleet", "flt"):
        click.echo(kind(cli, {}, name, f"_{name.upper()}_COMPLETE").source())


@cli.command()
@click.argument("action", type=click.Choice(["explain"]), required=False)
@click.argument("chord", required=False)
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
def keys(action: str | None, chord: str | None, as_json: bool) -> None:
    """Show the dashboard's keys; `keys explain CHORD`: who gets it."""
    from fleet_tui.tui import keys as keymaps

    keymap, warning = keymaps.chosen(open_fleet().config(trusted=False))
    if warning:
        say(f"fleet: {warning}", err=True)
    if action is not None:
        if not chord:
            raise UsageError("which chord?", hint="write for example: fleet keys explain ctrl+q")
        for line in keymaps.explain(keymap, chord):
            say(line)
        return
    rows = list(keymaps.table(keymap))
    if as_json:
        names = ("where", "keys", "action", "meaning")
        say_json([dict(zip(names, row, strict=True)) for row in rows], indent=2)
        return
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)) + f"  {row[3]}")
