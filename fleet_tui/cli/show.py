"""Show agents: list, peek, logs, attach and why."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.completion import complete_statuses
from fleet_tui.cli.group import (
    PIPED_WIDTH,
    cli,
    in_color,
    is_output_closed,
    refreshed_fleet,
    say,
    say_json,
    terminal_size,
    warn_unwritable,
)
from fleet_tui.cli.options import color_option, json_option, name_argument
from fleet_tui.cli.sampling import primed
from fleet_tui.errors import FleetError, NotFound, UsageError
from fleet_tui.faces.plain import AgentDetails, agent_record, text_record, why_record
from fleet_tui.text import block, to_json

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent
    from fleet_tui.prompting.why import StatusExplanation

LOG_LINES = 50
"""What `fleet logs` shows while the configuration cannot be read."""


@cli.command("list")
@click.option("-g", "--grouped", is_flag=True, help="Group by batch.")
@click.option("-a", "--all", "everywhere", is_flag=True, help="List the agents of all projects.")
@click.option("-w", "--watch", is_flag=True, help="Refresh every second until Ctrl+C.")
@color_option
@json_option
@click.option(
    "--repair",
    is_flag=True,
    help="Rebuild a damaged store, and look for lost or moved worktrees, before listing.",
)
def list_(
    grouped: bool, everywhere: bool, watch: bool, color: str | None, as_json: bool, repair: bool
) -> None:
    """List the agents of this project, running and ended. Also: fleet l, ls, ps.

    \b
    Example:
      fleet list --all --watch
    """
    if repair:
        _rebuild()
    fleet = refreshed_fleet()
    if repair:
        for line in fleet.repair():
            say(line, err=True)
    if watch:
        _watch(fleet, grouped=grouped, everywhere=everywhere, color=in_color(fleet, color))
        return
    colored = not as_json and in_color(fleet, color)
    # Colors are decided already; click would strip them wherever there is no terminal.
    click.echo(
        _listing(fleet, grouped=grouped, everywhere=everywhere, color=colored, as_json=as_json), color=True
    )
    warn_unwritable(fleet)
    _warn_damaged(fleet)


def _rebuild() -> None:
    """Rebuild a damaged store before it is opened."""
    from fleet_tui.fleet import Fleet

    for line in Fleet.rebuild():
        say(f"fleet: {line}", err=True)


def _warn_damaged(fleet: Fleet) -> None:
    for name in fleet.damaged():
        say(f"fleet: the record of {name} is damaged (fleet list --repair restores it)", err=True)


def _listing(fleet: Fleet, *, grouped: bool, everywhere: bool, color: bool, as_json: bool = False) -> str:
    from fleet_tui.cli.table import agent_table
    from fleet_tui.models import PromptSummary, Status

    # `fleet trash` lists killed agents.
    agents = [agent for agent in fleet.agents(everywhere=everywhere) if agent.status is not Status.KILLED]
    spent, prompts, problems = (
        fleet.spending(agents),
        fleet.prompts.counts(),
        fleet.worktrees.link_problems(agents),
    )
    requests = fleet.pull_requests.of(agents)
    # Last, because the time between its two samples passes during everything before it.
    usage = fleet.usage(agents, primed()) if any(not agent.has_ended for agent in agents) else {}
    listed = [
        AgentDetails(
            agent,
            usage.get(agent.id),
            spent.get(agent.id),
            prompts.get(agent.id, PromptSummary()),
            problems.get(agent.id, ""),
            requests.get(agent.id),
        )
        for agent in agents
    ]
    if as_json:
        return to_json([agent_record(details) for details in listed], indent=2)
    if not agents:
        return _no_agents(fleet, everywhere=everywhere)
    width = (terminal_size() or (PIPED_WIDTH, 0))[0]
    return agent_table(listed, now=time.time(), width=width, color=color, grouped=grouped)


def _no_agents(fleet: Fleet, *, everywhere: bool) -> str:
    from fleet_tui.models import Status

    others = [agent for agent in fleet.agents(everywhere=True) if agent.status is not Status.KILLED]
    if others and not everywhere:
        return "No agents in this project (fleet list -a lists those of all projects)"
    if fleet.trash.agents(everywhere=everywhere):
        return "No agents (fleet undo restores the last kill, fleet trash lists all killed agents)"
    return 'No agents yet (start one: fleet create NAME -p "what to do")'


def _watch(fleet: Fleet, *, grouped: bool, everywhere: bool, color: bool) -> None:
    from fleet_tui.cli.table import fitted

    if not sys.stdout.isatty():
        raise UsageError("--watch needs a terminal", hint="leave it out, or run fleet list --json in a loop")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit_on_signal)
    sys.stdout.write("\x1b[?1049h\x1b[?25l")
    try:
        while True:
            fleet.refresh()
            text = _listing(fleet, grouped=grouped, everywhere=everywhere, color=color)
            lines = fitted(text.split("\n"), (terminal_size() or (0, 24))[1])
            sys.stdout.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
            sys.stdout.flush()
            time.sleep(1.0)
    except KeyboardInterrupt:
        pass
    finally:
        # The terminal may have hung up.
        with contextlib.suppress(OSError):
            sys.stdout.write("\x1b[?25h\x1b[?1049l")
            sys.stdout.flush()


def _exit_on_signal(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


@cli.command()
@name_argument
@json_option
def peek(branch: str, as_json: bool) -> None:
    """Print an agent's screen as text.

    \b
    Example:
      fleet peek fix-login
    """
    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    lines = fleet.peek(agent)
    while lines and not lines[-1].strip():
        lines.pop()
    if as_json:
        say_json(text_record(agent, lines), indent=2)
        return
    for line in lines or [""]:
        say(line)


@cli.command()
@name_argument
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(min=0),
    metavar="N",
    default=None,
    help="Number of lines; default: the setting ui.log_lines.",
)
@click.option(
    "-f", "--follow", is_flag=True, help="Print new output until the agent ends or you press Ctrl+C."
)
@click.option("--raw", is_flag=True, help="Print every byte, with escape sequences.")
@json_option
def logs(branch: str, lines: int | None, follow: bool, raw: bool, as_json: bool) -> None:
    """Print an agent's output as readable text.

    \b
    Example:
      fleet logs fix-login --follow
    """
    if as_json and (follow or raw):
        raise UsageError(
            "--json prints what there is now, as text", hint="omit --json, or --follow and --raw"
        )
    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    if raw:
        _raw_logs(fleet, agent, follow=follow)
        return
    count = _log_lines(fleet) if lines is None else lines
    if as_json:
        say_json(text_record(agent, list(fleet.logs(agent, count, _warn_without_screen))), indent=2)
    elif not follow:
        for line in fleet.logs(agent, count, _warn_without_screen):
            say(block(line))
    else:
        with contextlib.suppress(KeyboardInterrupt):
            for line in fleet.follow(agent, count, _wait_for_output):
                say(block(line))


def _log_lines(fleet: Fleet) -> int:
    """Output is shown even if the configuration cannot be read."""
    with contextlib.suppress(FleetError):
        return fleet.config().log_lines
    return LOG_LINES


def _warn_without_screen(error: FleetError) -> None:
    say(f"fleet: {error.message} (the lines on its screen are missing)", err=True)


def _wait_for_output(seconds: float) -> None:
    """Wait for more output; stop when our reader is gone, even if the agent stays quiet."""
    if is_output_closed(seconds):
        raise BrokenPipeError


def _raw_logs(fleet: Fleet, agent: Agent, *, follow: bool) -> None:
    for data in fleet.raw_output(agent, follow=follow, rest=_wait_for_output):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


@cli.command()
@name_argument
def attach(branch: str) -> int:
    """Work in an agent's terminal. Ctrl+Q detaches and leaves the agent running.

    \b
    Example:
      fleet attach fix-login
    """
    from fleet_tui.cli.attach.attachment import attach as attach_to

    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    if agent.has_ended:
        raise NotFound(
            f"{agent.name} has ended, it is {agent.status}",
            hint=f"fleet revive {agent.name} starts it again, fleet logs {agent.name} shows its output",
        )
    outcome = attach_to(agent.name, fleet.run_folder(agent), fleet.lock_file(agent))
    fleet.mark_seen([agent])
    return 128 + outcome.signal if outcome.signal else 0


@cli.command()
@name_argument
@click.option(
    "--wrong",
    metavar="STATUS",
    shell_complete=complete_statuses,
    help="Say which status is right: saves the screen and the evidence as a test case.",
)
@click.option(
    "--kind",
    default="",
    metavar="KIND",
    help="With --wrong blocked: permission, question, trust, login or menu.",
)
@json_option
def why(branch: str, wrong: str | None, kind: str, as_json: bool) -> None:
    """Explain an agent's status.

    Shows the source of the status, its evidence and time, and which other sources agree or disagree.

    \b
    Examples:
      fleet why fix-login
      fleet why fix-login --wrong idle
    """
    fleet = refreshed_fleet()
    agent = fleet.find(branch)
    if wrong is not None:
        file = str(fleet.report_wrong(agent, wrong, kind))
        if as_json:
            say_json({"file": file})
        else:
            say(f"saved as {file}")
        return
    if kind:
        raise UsageError("--kind needs --wrong blocked", hint="for example: --wrong blocked --kind question")
    found = fleet.why(agent)
    if as_json:
        say_json(why_record(agent, found), indent=2)
        return
    for label, value in _facts(found):
        say(f"{label:10} {value}")


def _facts(found: StatusExplanation) -> list[tuple[str, str]]:
    facts = [("status", found.status + (f", {found.detail}" if found.detail else ""))]
    if found.source:
        facts.append(("source", found.source + (f": {found.rule}" if found.rule else "")))
    if found.text:
        facts.append(("text", found.text))
    facts += [("choice", f"{number}  {label}") for number, label in found.choices]
    if found.at:
        facts.append(("since", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.at))))
    if found.quiet_for is not None:
        facts.append(("quiet", f"no output for {found.quiet_for:.0f} s"))
    if found.lost_output:
        facts.append(("lost", f"{found.lost_output} bytes of its output were not kept: no space left"))
    for sign in found.others:
        word = "agrees" if sign.status == found.status else "disagrees"
        more = ": ".join(filter(None, (sign.rule, sign.text)))
        facts.append((word, f"{sign.source} says {sign.status}" + (f" ({more})" if more else "")))
    return facts
