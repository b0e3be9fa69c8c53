"""Define the command `fleet`, and what its commands share: opening the fleet, printing, asking, the terminal."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet_tui import __version__, names
from fleet_tui.cli.other_words import ALIASES, aliases, meant
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.text import flat, to_json

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent


class OutputClosed(Exception):
    """The reader of standard output has closed it; click would report the broken pipe as a failure."""


PIPED_WIDTH = 400
"""The width of a table that is not printed to a terminal: wide enough to cut no name."""

YES, NO = ("y", "yes"), ("n", "no")

MODULES = {
    "create": "create",
    "fanout": "create",
    "multi": "create",
    "revive": "create",
    "restart": "create",
    "fork": "create",
    "list": "show",
    "status": "status",
    "peek": "show",
    "logs": "show",
    "attach": "show",
    "why": "show",
    "diff": "review",
    "comment": "comments",
    "comments": "comments",
    "compare": "compare",
    "conflicts": "conflicts",
    "check": "check",
    "checkpoint": "checkpoint",
    "land": "land",
    "path": "worktree",
    "shell": "worktree",
    "prompt": "prompt",
    "queue": "prompt",
    "answer": "prompt",
    "wait": "wait",
    "rename": "naming",
    "move": "naming",
    "stop": "end",
    "kill": "end",
    "undo": "trash",
    "trash": "trash",
    "approvals": "permissions",
    "profiles": "profiles",
    "trust": "trust",
    "untrust": "trust",
    "ui": "ui",
    "open": "ui",
    "keys": "ui",
    "init": "init",
    "config": "config",
    "doctor": "doctor",
    "update": "installation",
    "completion": "installation",
    "help": "help",
}
"""The module of `fleet_tui.cli` that defines each command, in the order in which `fleet --help` lists them."""


class CommandGroup(click.Group):
    """Imports a command's module when the command is looked up, and knows other words for some commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            word = "version" if error.option_name in {"-v", "-V"} else error.option_name
            if instead := meant(word, MODULES):
                raise _not_known(f"fleet has no option {error.option_name}", instead) from None
            hint = "see: fleet --help"
            if command := self._taker(ctx, error.option_name, args):
                hint = f"write it after the command: fleet {command} {error.option_name}"
            raise UsageError(f"fleet has no option {error.option_name}", hint=hint) from None

    def _taker(self, ctx: click.Context, option: str, args: Sequence[str]) -> str:
        """The command among these arguments, or any, that takes this option; empty without one."""

        def takes(name: str) -> bool:
            command = self.get_command(ctx, name)
            return command is not None and any(option in one.opts for one in command.params)

        named = next((word for word in args if ALIASES.get(word, word) in MODULES), None)
        if named is not None:
            return named if takes(named) else ""
        return "COMMAND" if any(takes(name) for name in MODULES) else ""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if is_output_closed():
                raise OutputClosed from error
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name in MODULES:
            importlib.import_module(f"fleet_tui.cli.{MODULES[name]}")
        return super().get_command(ctx, name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        # A shell that completes an unknown word would print the error into the line that is being typed.
        if self.get_command(ctx, name) is None and not ctx.resilient_parsing:
            raise _not_known(f"no command {name!r}", meant(name, MODULES))
        # An alias shows the help and the errors of its command.
        return super().resolve_command(ctx, [ALIASES.get(name, name), *rest])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        with formatter.section("Other words"):
            formatter.write_dl([(words, f"fleet {command}") for words, command in aliases()])


def _not_known(message: str, instead: str) -> UsageError:
    return UsageError(message, hint=f"use: fleet {instead}" if instead else "see: fleet --help")


@click.group(
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
# With texts of our own: for its default texts click searches the disk for translations.
@click.version_option(
    __version__, prog_name="fleet", message="%(prog)s, version %(version)s", help="Show the version and exit."
)
@click.pass_context
def cli(context: click.Context) -> None:
    """Run many coding agents at once, each in its own terminal, git worktree and branch.

    Agents keep running when you close the terminal or lose the connection.

    \b
    Examples:
      fleet create fix-login -p "Fix the login form"
      fleet list
      fleet-tui

    Exit codes: 0 success, 1 failure, 2 usage error, 3 not found, 4 refused (work would be lost, or the project is not
    trusted), 5 no git repository, 6 store error, 7 agent failed to start, 8 holder does not answer, 9 timed out,
    10 turn failed, 11 turn interrupted, 12 end of turn not seen, 13 agent needs an answer, 14
    work does not merge, 15 check not passed, 70 internal error,
    130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def open_fleet() -> Fleet:
    """The fleet as seen from the current folder; it is closed when the command ends."""
    from fleet_tui.fleet import Fleet

    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder no longer exists", hint="cd to an existing folder") from None
    fleet = Fleet(here, size=terminal_size())
    context = click.get_current_context(silent=True)
    if context is not None:
        context.call_on_close(fleet.close)
    return fleet


def refreshed_fleet() -> Fleet:
    """The fleet, after recording what its agents have done: for commands that look at agents."""
    fleet = open_fleet()
    fleet.refresh()
    return fleet


def find_to_change(fleet: Fleet, name: str) -> Agent:
    """The agent of that name. One of another project may not be the one that is meant, so its project is named."""
    agent = fleet.find(name)
    if fleet.project() not in (None, agent.project) and name != agent.id:
        say(f"{agent.name} is an agent of {agent.project}", err=True)
    return agent


def callable_name(fleet: Fleet, agent: Agent) -> str:
    """What to call the agent in a command to run from here: its name, or its id where the name means another."""
    try:
        is_meant = fleet.find(agent.name).id == agent.id
    except FleetError:
        is_meant = False
    return agent.name if is_meant else agent.id


def say(text: str, *, err: bool = False) -> None:
    """Print one line, with control characters made harmless."""
    click.echo(flat(text), err=err)


def say_json(value: object, *, indent: int | None = None) -> None:
    """Print a value as JSON."""
    click.echo(to_json(value, indent=indent))


def say_columns(rows: Sequence[Sequence[str]]) -> None:
    """Print rows with their cells in columns."""
    from fleet_tui.cli.table import aligned

    for line in aligned(rows):
        say(line)


def say_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool, cell_limit: int = 0
) -> None:
    """Print rows under the names of their columns; on a terminal, cut to its width.

    With a limit, a cell is also cut to so much, or to a quarter of the terminal if that is more.
    """
    from fleet_tui.cli.table import titled

    size = terminal_size()
    limit = max(cell_limit, size[0] // 4) if size is not None and cell_limit else 0
    for line in titled(header, rows, width=size[0] if size else PIPED_WIDTH, color=color, cell_limit=limit):
        # Its cells are safe already, and click would strip its colors wherever there is no terminal.
        click.echo(line, color=True)


def say_faint(text: str, *, color: bool) -> None:
    """Print one line, dimmed."""
    click.echo(f"\x1b[2m{flat(text)}\x1b[0m" if color else flat(text), color=True)


def warn_unwritable(fleet: Fleet) -> None:
    """Warn that the store could not be updated, and why."""
    if fleet.unwritable is not None:
        say(f"fleet: {fleet.unwritable.message}; changes of status are recorded later", err=True)
    elif fleet.is_disk_full():
        say("fleet: the disk with fleet's records is full; free some space", err=True)


def terminal_size() -> tuple[int, int] | None:
    """Columns and lines of the terminal on standard output; None without a usable one."""
    try:
        size = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return None
    return (size.columns, size.lines) if size.columns >= 10 and size.lines >= 3 else None


def confirm(
    question: str, *, flag: str, note: str = "", default: bool = False, reads_pipe: bool = False
) -> None:
    """Ask before going on; without a terminal, refuse and name the flag that confirms instead.

    With `reads_pipe`, a line on standard input is an answer as well.
    """
    asked = flat(f"{question} ({note})" if note else question)
    if sys.stdin.isatty() and sys.stderr.isatty():
        agreed = ask(asked, default=default)
    elif reads_pipe and not sys.stdin.isatty():
        agreed = _piped_answer(asked, flag)
    else:
        raise UsageError(f"cannot ask without a terminal: {question}", hint=f"confirm with {flag}")
    if not agreed:
        raise FleetError("cancelled, nothing changed", hint=f"{flag} skips the question")


def ask(question: str, *, default: bool = False) -> bool:
    """Ask on the terminal until the answer is a yes, a no or empty."""
    choices = "[Y/n]" if default else "[y/N]"
    while True:
        try:
            answer = click.prompt(f"{question} {choices}", default="", show_default=False, err=True).strip()
        except UnicodeDecodeError:
            answer = "not UTF-8"
        if not answer:
            return default
        if answer.lower() in YES or answer.lower() in NO:
            return answer.lower() in YES
        say("fleet: that is no answer (answer y or n)", err=True)


def _piped_answer(question: str, flag: str) -> bool:
    say(f"{question} [y/n]", err=True)
    try:
        answer = sys.stdin.readline().strip()
    except UnicodeDecodeError:
        answer = ""
    if answer.lower() not in (*YES, *NO):
        what = f"{answer!r} is no answer" if answer else "no answer on standard input, and no terminal"
        raise UsageError(what, hint=f"answer y or n, or confirm with {flag}")
    return answer.lower() in YES


def is_output_closed(seconds: float = 0.0) -> bool:
    """Whether the reader of standard output closes it within this time; a terminal never does."""
    import select

    if sys.stdout.isatty():
        time.sleep(seconds)
        return False
    reader = select.poll()
    reader.register(sys.stdout.fileno(), 0)
    return bool(reader.poll(seconds * 1000))


def in_color(fleet: Fleet, wanted: str | None = None) -> bool:
    """Whether to print colors. The first that decides: --color, NO_COLOR and FORCE_COLOR, ui.color, the terminal."""
    if wanted in ("always", "never"):
        return wanted == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0").lower() not in ("", "0", "false"):
        return True
    # Agents are listed even if the configuration cannot be read.
    with contextlib.suppress(FleetError):
        configured = fleet.config(trusted=False).color if wanted is None else "auto"
        if configured != "auto":
            return configured == "always"
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def shortened(names: Sequence[str]) -> str:
    """The first names of a list."""
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")


def prompt_text(prompt: str | None) -> str:
    """The prompt as given, or empty without one; a single dash reads it from standard input."""
    if prompt is None:
        return ""
    return names.check_prompt(sys.stdin.read() if prompt == "-" else prompt)
