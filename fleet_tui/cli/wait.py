"""Wait for agents; the exit code reports the outcome to scripts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.group import cli, refreshed_fleet, say, say_columns, say_json, warn_unwritable
from fleet_tui.cli.options import Seconds, batch_option, json_option, patterns_argument
from fleet_tui.errors import (
    FleetError,
    LaunchFailed,
    NeedsAnswer,
    TimedOut,
    TurnFailed,
    TurnInterrupted,
    TurnUnknown,
)
from fleet_tui.faces.plain import changed_record
from fleet_tui.faces.wording import explained, word
from fleet_tui.models import ENDED, Agent, PromptSummary, Status

if TYPE_CHECKING:
    from fleet_tui.prompting.waiting import Waited

ENDED_WORD = "ended"
"""The word for all statuses of ended agents."""


@cli.command()
@patterns_argument
@batch_option
@click.option(
    "--for", "wanted", multiple=True, metavar="STATUS", type=click.Choice([*map(str, Status), ENDED_WORD]),
    help="Wait for this status instead; repeat it to accept several. `ended` means any status of an ended agent.",
)  # fmt: skip
@click.option("--any", "first", is_flag=True, help="Wait for one of the agents instead of all.")
@click.option("--timeout", type=Seconds(min=0), metavar="SECONDS", help="Wait at most this long.")
@json_option
def wait(
    patterns: tuple[str, ...],
    batch: str | None,
    wanted: tuple[str, ...],
    first: bool,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Wait until agents are done or need you.

    The wait ends for an agent that is idle, done, blocked, in error or ended. An agent whose prompt is not finished does not
    count as idle, and idle and done count as the same status. If a program's status is unknown, the wait lasts until it
    ends. A program that is judged by its silence alone, such as a shell, is idle when it prints nothing: use --for ended.
    AGENT is a name or a glob.

    Exit codes: 0 if all agents are idle or done, exited with 0, or have a status of --for. Otherwise the first of these
    that applies: 13 an agent needs an answer, 7 failed to start, 10 has an error or exited with another code, 11 was
    stopped or lost, 12 ended without a status of --for, 9 timed out.

    \b
    Examples:
      fleet wait 'login-*' && fleet logs login-A
      fleet wait -b login --any --timeout 600
      fleet wait fix-login --for blocked --for ended
    """
    statuses = frozenset(_statuses(wanted))
    fleet = refreshed_fleet()
    agents = fleet.match(patterns, batch=batch, but_not=(Status.KILLED,))
    on_change = _print_change if sys.stderr.isatty() and not as_json else None
    waited = fleet.wait(agents, until=statuses, first=first, seconds=timeout, on_change=on_change)
    shown = [one for one in waited if one.has_arrived or not first] or waited
    if as_json:
        say_json([changed_record(one.agent, arrived=one.has_arrived) for one in waited], indent=2)
    else:
        say_columns([(one.agent.name, explained(one.agent)) for one in shown])
    warn_unwritable(fleet)
    _raise_first_failure(shown, statuses)


def _statuses(wanted: Sequence[str]) -> list[Status]:
    found = [Status(word) for word in wanted if word != ENDED_WORD]
    return [*found, *ENDED] if ENDED_WORD in wanted else found


def _print_change(agent: Agent, prompts: PromptSummary) -> None:
    """Print a change while the wait goes on."""
    held_up = prompts.unstated_wait(agent.status)
    more = f", {prompts.queued} queued: {held_up}" if held_up else ""
    say(f"  {agent.name}: {explained(agent)}{more}", err=True)


# ── exit codes ──────────────────────────────────────────────────────────────────────────────────────────────────


def _raise_first_failure(waited: Sequence[Waited], wanted: frozenset[Status]) -> None:
    """Raise the error that sets the exit code, unless all agents are as wanted."""
    bad = [one for one in waited if one.agent.status not in wanted]
    for applies, error in _FAILURES:
        for one in bad:
            if one.has_arrived and applies(one.agent):
                raise error(one.agent)
    for one in bad:
        if wanted and one.agent.has_ended:
            raise TurnUnknown(
                f"{one.agent.name} has ended ({word(one.agent)}) before it was {_either(wanted)}",
                hint=f"fleet logs {one.agent.name}",
            )
    late = [one.agent for one in waited if not one.has_arrived]
    if late:
        others = f", and {len(late) - 1} more" if len(late) > 1 else ""
        raise TimedOut(f"{late[0].name} is still {word(late[0])}{others}", hint=f"fleet why {late[0].name}")


def _either(wanted: frozenset[Status]) -> str:
    return " or ".join(sorted(wanted))


def _needs_answer(agent: Agent) -> FleetError:
    return NeedsAnswer(
        f"{agent.name} waits for an answer: {explained(agent)}", hint=f"fleet answer {agent.name}"
    )


def _failed_to_start(agent: Agent) -> FleetError:
    return LaunchFailed(
        f"{agent.name} failed to start: {agent.status_detail}", hint=f"fleet logs {agent.name}"
    )


def _failed(agent: Agent) -> FleetError:
    if agent.has_ended:
        how = f"code {agent.exit_code}" if agent.exit_code is not None else f"signal {agent.exit_signal}"
        return TurnFailed(f"{agent.name} exited with {how}", hint=f"fleet logs {agent.name}")
    return TurnFailed(f"{agent.name} has an {explained(agent)}", hint=f"fleet why {agent.name}")


def _interrupted(agent: Agent) -> FleetError:
    if agent.status is Status.KILLED:
        return TurnInterrupted(f"{agent.name} is killed", hint=f"fleet undo {agent.name} restores it")
    return TurnInterrupted(f"{agent.name} is {agent.status}", hint=f"fleet revive {agent.name} continues it")


_FAILURES: tuple[tuple[Callable[[Agent], bool], Callable[[Agent], FleetError]], ...] = (
    (lambda agent: agent.status is Status.BLOCKED, _needs_answer),
    (lambda agent: agent.status is Status.FAILED, _failed_to_start),
    (
        lambda agent: (
            agent.status is Status.ERROR or (agent.status is Status.EXITED and agent.exit_code != 0)
        ),
        _failed,
    ),
    (
        lambda agent: agent.status in {Status.STOPPED, Status.KILLED, Status.LOST, Status.INTERRUPTED},
        _interrupted,
    ),
)
"""The outcomes that count as errors, in the order in which they count."""
