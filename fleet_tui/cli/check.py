"""Run the project's check command on agents' work."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.consent import trusted_first
from fleet_tui.cli.group import cli, refreshed_fleet, say, say_columns, say_json, shortened
from fleet_tui.cli.options import batch_option, json_option, patterns_argument
from fleet_tui.errors import FleetError, UsageError
from fleet_tui.faces.check_wording import CHECK_LOOKS, check_time, check_words
from fleet_tui.faces.work_records import check_record

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent, Status
    from fleet_tui.work import CheckRun


@cli.command()
@patterns_argument
@batch_option
@click.option("--detach", is_flag=True, help="Do not wait for the checks to end.")
@click.option("--show", is_flag=True, help="Run nothing; show how the newest checks went.")
@click.option("--output", is_flag=True, help="Run nothing; print what the newest check has printed.")
@click.option("--lines", type=click.IntRange(min=1), default=200, help="Lines that --output prints.")
@click.option("--cancel", is_flag=True, help="Run nothing; end the checks that run or wait.")
@json_option
def check(
    patterns: tuple[str, ...],
    batch: str | None,
    detach: bool,
    show: bool,
    output: bool,
    lines: int,
    cancel: bool,
    as_json: bool,
) -> None:
    """Run the project's check command in the worktrees of agents.

    The command is the setting land.check, such as make test. Checks run in the background, land.checks_at_once at a time, and
    go on if you interrupt this command. Each is ended after land.check_minutes. A check gets a free port as FLEET_PORT
    and a TMPDIR of its own. The exit code is 1 unless all are green. AGENT is a name or a glob.

    \b
    Examples:
      fleet config set land.check "make test"
      fleet check 'login-*'
      fleet check login-A --output
    """
    if show + output + cancel + detach > 1:
        raise UsageError(
            "--detach, --show, --output and --cancel exclude each other", hint="give one of them"
        )
    fleet = refreshed_fleet()
    agents = fleet.match(patterns, batch=batch, but_not=_without_worktree())
    if output:
        _print_output(fleet, agents, lines, as_json=as_json)
        return
    if cancel:
        runs = fleet.checks.cancel(agents)
    elif show:
        runs = list(fleet.checks.runs(agents).values())
    else:
        runs = started(fleet, agents)
        if not detach:
            runs = waited(fleet, runs, agents)
    if as_json:
        say_json([check_record(run) for run in runs], indent=2)
    else:
        _print(runs, agents)
    if not (detach or cancel):
        _refuse_red(runs, agents)


def started(fleet: Fleet, agents: Sequence[Agent]) -> list[CheckRun]:
    """Start checks; on a terminal, ask whether to trust the project's command first."""
    return trusted_first(fleet, lambda: fleet.checks.start(agents), whose=lambda: agents[0])


def waited(fleet: Fleet, runs: Sequence[CheckRun], agents: Sequence[Agent]) -> list[CheckRun]:
    """Wait for these checks, and say on a terminal which have begun and ended."""
    names = {agent.id: agent.name for agent in agents}

    def show(run: CheckRun) -> None:
        if sys.stderr.isatty():
            say(f"{names[run.agent]}: {check_words(run)}", err=True)

    return fleet.checks.wait(runs, on_change=show)


def _print(runs: Sequence[CheckRun], agents: Sequence[Agent]) -> None:
    names: Mapping[str, str] = {agent.id: agent.name for agent in agents}
    now = time.time()
    say_columns(
        [
            (
                CHECK_LOOKS[run.state].glyph,
                names[run.agent],
                str(run.state),
                check_time(run, now),
                _details(run),
            )
            for run in runs
        ]
    )


def _refuse_red(runs: Sequence[CheckRun], agents: Sequence[Agent]) -> None:
    green = {run.agent for run in runs if run.is_green}
    red = [agent.name for agent in agents if agent.id not in green]
    if red:
        raise FleetError(f"not green: {shortened(red)}", hint=f"fleet check {red[0]} --output shows why")


def _details(run: CheckRun) -> str:
    return "; ".join(filter(None, (run.summary, run.note)))


def _print_output(fleet: Fleet, agents: Sequence[Agent], lines: int, *, as_json: bool) -> None:
    if len(agents) > 1:
        raise UsageError("--output is about one agent", hint="name one agent")
    found = fleet.checks.output(agents[0], lines=lines)
    if as_json:
        say_json({"id": agents[0].id, "name": agents[0].name, "lines": found}, indent=2)
        return
    for line in found:
        say(line)


def _without_worktree() -> tuple[Status, ...]:
    from fleet_tui.models import Status

    return (Status.KILLED, Status.FAILED, Status.SETUP)
