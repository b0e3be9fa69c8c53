"""Declare the options and arguments that several commands take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from fleet_tui.cli.completion import complete_agents, complete_bases, complete_batches, complete_profiles
from fleet_tui.errors import UsageError


class Seconds(click.FloatRange):
    """A number of seconds. Not a NaN, which click takes for a number of any range, nor an endless time."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = float(super().convert(value, param, ctx))
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a valid {self.name}.", param, ctx)
        return seconds


def refuse_empty(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """The value, unless it was given and is empty: an unset variable in a script must not count as left out."""
    given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    if value == "" and given and not context.resilient_parsing:
        is_option = isinstance(parameter, click.Option)
        label = max(parameter.opts, key=len) if is_option else (parameter.name or "").upper()
        raise UsageError(f"{label} is empty", hint="leave it out, or give it a value")
    return value


agent_option = click.option(
    "-a", "--agent", default="", metavar="PROFILE", shell_complete=complete_profiles, callback=refuse_empty,
    help="Run this profile (claude, codex, …) or any other program.",
)  # fmt: skip
quick_option = click.option("--quick", is_flag=True, help="Skip the project's setup commands.")
base_option = click.option(
    "--base",
    default="",
    metavar="REF",
    shell_complete=complete_bases,
    callback=refuse_empty,
    help="Start from this branch, tag or commit.",
)
headless_option = click.option(
    "--headless", is_flag=True, help="Run the prompt without an interactive session, then exit."
)
own_settings_option = click.option(
    "--ignore-project-config",
    "own_settings",
    is_flag=True,
    help="Ignore the project's settings and use only yours; its deny rules still apply.",
)
name_argument = click.argument("branch", metavar="AGENT", shell_complete=complete_agents)
patterns_argument = click.argument("patterns", nargs=-1, metavar="[AGENT]...", shell_complete=complete_agents)
batch_option = click.option(
    "-b",
    "--batch",
    metavar="BATCH",
    shell_complete=complete_batches,
    help="All agents of a batch; with AGENT, those of them that match.",
)
color_option = click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    help="When to print colors; default: NO_COLOR or FORCE_COLOR, else ui.color.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

_Command = TypeVar("_Command", bound=Callable[..., Any])


def launch_options(command: _Command) -> _Command:
    """The options of every command that starts new agents."""
    for option in (own_settings_option, headless_option, base_option, quick_option, agent_option):
        command = option(command)
    return command
