"""Commands that look at agents."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import (
    cli,
    in_color,
    is_unread,
    name_argument,
    open_fleet,
    say,
    tell_unwritable,
    terminal_size,
)
from fleet_tui.cli.sampling import primed
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.text import block

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent

PIPED_WIDTH = 400
"""Of a listing that goes to a program: no name is cut."""


@cli.command("list")
@click.option("-g", "--grouped", is_flag=True, help="By batch.")
@click.option(
    "-a", "--all", "everywhere", is_flag=True, help="Of all projects. Ended agents are always listed."
)
@click.option("-w", "--watch", is_flag=True, help="Show it anew every second, until Ctrl+C.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON array.")
@click.option("--repair", is_flag=True, help="First rebuild a damaged store and find what was lost or moved.")
def list_(grouped: bool, everywhere: bool, watch: bool, as_json: bool, repair: bool) -> None:
    """Show the agents of this project. Short: l."""
    if repair:
        _rebuild()
    fleet = open_fleet()
    if repair:
        for line in fleet.repair():
            say(line, err=True)
    if watch:
        _watch(fleet, grouped=grouped, everywhere=everywhere)
        return
    color = not as_json and in_color(fleet)
    # Whether in colour is decided already: click would leave it out wherever there is no terminal.
    click.echo(
        _listing(fleet, grouped=grouped, everywhere=everywhere, color=color, as_json=as_json), color=True
    )
    tell_unwritable(fleet)
    _tell_damaged(fleet)


def _rebuild() -> None:
    """A store that cannot be opened is rebuilt before it is."""
    from fleet_tui.fleet import Fleet

    for line in Fleet.rebuild():
        say(f"fleet: {line}", err=True)


def _tell_damaged(fleet: Fleet) -> None:
    for name in fleet.damaged():
        say(f"fleet: the record of {name} is damaged (fleet list --repair restores it)", err=True)


def _listing(fleet: Fleet, *, grouped: bool, everywhere: bool, color: bool, as_json: bool = False) -> str:
    from fleet_tui import listing
    from fleet_tui.models import Status

    # Killed ones are listed by `fleet trash`.
    agents = [agent for agent in fleet.agents(everywhere=everywhere) if agent.status is not Status.KILLED]
    usage = fleet.usage(agents, primed()) if any(not agent.has_ended for agent in agents) else {}
    spent = fleet.spending(agents)
    problems = fleet.link_problems(agents)
    if as_json:
        return listing.as_json(agents, usage, spent, fleet.prompted(), problems)
    if not agents:
        return _nothing(fleet, everywhere=everywhere)
    width = (terminal_size() or (PIPED_WIDTH, 0))[0]
    return listing.table(
        agents, usage, now=time.time(), width=width, color=color, grouped=grouped,
        projects=len({agent.project for agent in agents}) > 1, spent=spent, problems=problems,
        prompts=fleet.prompted(),
    )  # fmt: skip


def _nothing(fleet: Fleet, *, everywhere: bool) -> str:
    from fleet_tui.models import Status

    others = [agent for agent in fleet.agents(everywhere=True) if agent.status is not Status.KILLED]
    if others and not everywhere:
        return "No agents in this project (fleet list -a shows those of all projects)"
    if fleet.trash(everywhere=everywhere):
        return "No agents (fleet undo brings back what was killed last, fleet trash shows all of it)"
    return 'No agents yet (start one: fleet create NAME -p "what to do")'


def _watch(fleet: Fleet, *, grouped: bool, everywhere: bool) -> None:
    from fleet_tui import listing

    if not sys.stdout.isatty():
        raise UsageError("--watch needs a terminal", hint="leave it out, or use --json in a loop")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    color = in_color(fleet)
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        while True:
            text = _listing(fleet, grouped=grouped, everywhere=everywhere, color=color)
            lines = listing.fitted(text.split("\n"), (terminal_size() or (0, 24))[1])
            sys.stdout.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
            sys.stdout.flush()
            time.sleep(1.0)
    except KeyboardInterrupt:
        pass
    finally:
        # A terminal that has hung up takes nothing any more.
        with contextlib.suppress(OSError):
            sys.stdout.write("\x1b[?25h\x1b[?1049l")
            sys.stdout.flush()


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


@cli.command()
@name_argument
def peek(branch: str) -> None:
    """Print an agent's screen as text."""
    lines = open_fleet().peek(branch)
    while lines and not lines[-1].strip():
        lines.pop()
    for line in lines or [""]:
        say(line)


@cli.command()
@name_argument
@click.option(
    "-n", "--lines", type=click.IntRange(min=0), default=None, help="How many lines; 50 unless configured."
)
@click.option("-f", "--follow", is_flag=True, help="Go on until the agent ends or Ctrl+C.")
@click.option("--raw", is_flag=True, help="Every byte as it was printed, with its escape sequences.")
def logs(branch: str, lines: int | None, follow: bool, raw: bool) -> None:
    """Print what an agent has printed, as readable text."""
    fleet = open_fleet()
    agent = fleet.find(branch)
    if raw:
        _raw_logs(fleet, agent, follow=follow)
        return
    count = fleet.config().log_lines if lines is None else lines
    if not follow:
        for line in fleet.logs(agent.id, count, _tell_unseen):
            say(block(line))
    else:
        with contextlib.suppress(KeyboardInterrupt):
            for line in fleet.follow(agent, count, _rest):
                say(block(line))


def _tell_unseen(error: FleetError) -> None:
    say(f"fleet: {error.message} (this is without what is on its screen)", err=True)


def _rest(seconds: float) -> None:
    """Until there may be more; an agent that is quiet must not keep alive whom nobody reads any more."""
    if is_unread(seconds):
        raise BrokenPipeError


def _raw_logs(fleet: Fleet, agent: Agent, *, follow: bool) -> None:
    for data in fleet.raw_output(agent, follow=follow, rest=_rest):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@cli.command()
@name_argument
def attach(branch: str) -> int:
    """Work in an agent's terminal. Ctrl+Q leaves it running."""
    from fleet_tui import attach as attaching

    fleet = open_fleet()
    agent = fleet.find(branch)
    if agent.has_ended:
        raise NotFound(
            f"{agent.name} has ended ({agent.status})", hint=f"fleet revive {agent.name}, or fleet logs"
        )
    outcome = attaching.attach(agent.name, fleet.run_folder(agent), fleet.lock_file(agent))
    fleet.see([agent])
    return 128 + outcome.signal if outcome.signal else 0
