"""The command `fleet` itself, and what its commands share: the fleet, the terminal, options and completion."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet_tui import __version__
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.text import flat, to_json

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet


class Unread(Exception):
    """Whoever read our output has gone. Click would take the system's word for it as a failure."""


class Group(click.Group):
    """Commands in the order in which people need them, and `l` for `list`."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if is_unread():
                raise Unread from error
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, {"l": "list"}.get(cmd_name, cmd_name))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            import difflib

            close = difflib.get_close_matches(name, self.commands, n=1)
            raise UsageError(
                f"there is no command {name!r}",
                hint=f"did you mean {close[0]!r}?" if close else "see: fleet --help",
            )
        return super().resolve_command(ctx, args)


@click.group(
    cls=Group,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
# With words of its own: click looks for a translation of its words, in many places.
@click.version_option(
    __version__, prog_name="fleet", message="%(prog)s, version %(version)s", help="Show the version and exit."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Run many coding agents at once, each in its own terminal, git worktree and branch.

    Agents go on when this program, the terminal or the connection ends. Exit codes: 0 done, 1 failed, 2 wrong use,
    3 not found, 4 refused to protect work, or not trusted, 5 no repository, 6 store, 7 agent failed to start, 8 no holder,
    9 timed out, 10 turn failed, 11 turn interrupted, 12 end of turn not seen, 70 internal error, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def open_fleet() -> Fleet:
    from fleet_tui.fleet import Fleet

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder is gone", hint="cd to one that exists") from None
    fleet = Fleet(here, size=terminal_size())
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(fleet.close)
    return fleet


def say(text: str, *, err: bool = False) -> None:
    """Print one line; nothing in it can act on the terminal, wherever the text came from."""
    click.echo(flat(text), err=err)


def say_json(value: object, *, indent: int | None = None) -> None:
    """Print what `--json` asked for."""
    click.echo(to_json(value, indent=indent))


def tell_unwritable(fleet: Fleet) -> None:
    """Say on standard error that the store could not be brought up to date, and why."""
    if fleet.unwritable is not None:
        say(f"fleet: {fleet.unwritable.message}; what agents did is recorded later", err=True)
    elif fleet.is_disk_full():
        say("fleet: the disk is full where agents are recorded; make room on it", err=True)


def terminal_size() -> tuple[int, int] | None:
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return None
    return (size.columns, size.lines) if size.columns >= 10 and size.lines >= 3 else None


def confirm(question: str, *, flag: str, note: str = "", default: bool = False) -> None:
    """Go on only when the user says so: on a terminal by answering, elsewhere by the flag that leaves this out."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"no terminal to ask on: {question}", hint=f"say so with {flag}")
    if not click.confirm(flat(f"{question} ({note})" if note else question), default=default, err=True):
        raise FleetError("nothing was done")


def is_unread(seconds: float = 0.0) -> bool:
    """Whether nobody reads our output any more, as far as that can be told within this time."""
    import select

    if sys.stdout.isatty():
        time.sleep(seconds)
        return False
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    return bool(reader.poll(seconds * 1000))


def in_color(fleet: Fleet) -> bool:
    """As configured, or else where there is a terminal that shows it."""
    wanted = "auto"
    # One that cannot be read is no reason not to show the agents.
    with contextlib.suppress(FleetError):
        wanted = fleet.config(trusted=False).color
    if wanted != "auto":
        return wanted == "always"
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


# ── completion of names ─────────────────────────────────────────────────────────────────────────────────────────


def complete_agents(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui.models import Status

    try:
        listed = [agent.name for agent in open_fleet().agents() if agent.status is not Status.KILLED]
    except FleetError:
        return []
    return sorted({flat(name) for name in listed if name.startswith(incomplete)})


def complete_killed(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    try:
        killed = (agent.name for agent in open_fleet().trash())
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


def complete_profiles(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui import profiles

    return [name for name in profiles.names() if name.startswith(incomplete)]


def complete_keys(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from fleet_tui import config

    return [entry.key for entry in config.entries(config.Config()) if entry.key.startswith(incomplete)]


agent_option = click.option(
    "-a", "--agent", default="", metavar="AGENT", shell_complete=complete_profiles,
    help="A profile (claude, codex, …) or any program by name or path.",
)  # fmt: skip
quick_option = click.option("--quick", is_flag=True, help="Skip the project's setup commands.")
base_option = click.option("--base", default="", metavar="REF", help="Start from this branch, tag or commit.")
headless_option = click.option(
    "--headless", is_flag=True, help="Without a dialogue: it does what the prompt says, and ends."
)
own_settings_option = click.option(
    "--ignore-project-config",
    "own_settings",
    is_flag=True,
    help="Use your own settings; what the project denies still counts.",
)
name_argument = click.argument("branch", shell_complete=complete_agents)


def counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {plural or f'{noun}s'}"


def shortened(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def said(prompt: str) -> str:
    """The prompt as it was given, or from standard input where a dash stands for it."""
    return sys.stdin.read() if prompt == "-" else prompt
