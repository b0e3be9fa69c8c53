"""Send prompts to agents, show and change their queues, and answer their questions."""

from __future__ import annotations

import functools
import shlex
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from fleet_tui.cli.completion import complete_agents, complete_batches
from fleet_tui.cli.group import cli, find_to_change, prompt_text, refreshed_fleet, say, say_json
from fleet_tui.cli.options import Seconds, json_option, name_argument
from fleet_tui.errors import (
    FleetError,
    NotFound,
    Refused,
    TimedOut,
    TurnFailed,
    TurnInterrupted,
    TurnUnknown,
    UsageError,
)
from fleet_tui.faces.plain import changed_record, question_record, queue_record, receipt_record
from fleet_tui.models import ReceiptState, Status
from fleet_tui.text import cut, one_line

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent, Receipt
    from fleet_tui.prompting.why import StatusExplanation

SHOWN_CHARACTERS = 100
"""Characters of each prompt that `fleet queue` shows."""


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("words", nargs=-1, required=True, metavar="AGENT... MESSAGE", shell_complete=complete_agents)
@click.option(
    "-b",
    "--batch",
    metavar="BATCH",
    shell_complete=complete_batches,
    help="Send to all running agents of a batch.",
)
@click.option(
    "--now",
    is_flag=True,
    help="Send at once, even to a working agent; never into a question, a menu or a draft.",
)
@click.option(
    "--command", is_flag=True, help="Send MESSAGE as a command of the program, such as /compact or !ls."
)
@click.option(
    "--wait",
    is_flag=True,
    help="Wait until the turn ends. Exit codes: 0 answered, 4 refused, 9 timed out, 10 failed, 11 interrupted, 12 end not seen.",
)
@click.option(
    "--timeout",
    type=Seconds(min=0),
    metavar="SECONDS",
    help="Wait at most this long; implies --wait.",
)
@json_option
def prompt(
    words: tuple[str, ...],
    batch: str | None,
    now: bool,
    command: bool,
    wait: bool,
    timeout: float | None,
    as_json: bool,
) -> None:
    """Send a message to agents; busy ones get it when ready.

    AGENT is a name or a glob; - as MESSAGE reads standard input. A message that the program would take as a command
    (it starts with ! or /) is sent as plain text, or refused if the program cannot tell them apart; --command sends a
    command.

    \b
    Examples:
      fleet prompt fix-login "Run the tests"
      fleet prompt 'login-*' "Rebase on main" --wait
      git diff | fleet prompt reviewer -
    """
    *patterns, message = words
    if not patterns and batch is None:
        raise UsageError("which agents?", hint='for example: fleet prompt fix-login "Run the tests"')
    fleet = refreshed_fleet()
    try:
        agents = _recipients(fleet, patterns, batch)
    except NotFound as error:
        named = ["-b", batch] if batch is not None else [words[0]]
        said = words if batch is not None else words[1:]
        if len(said) < 2 or error.hint.startswith("did you mean"):
            raise
        quoted = shlex.join([*named, " ".join(said)])
        raise NotFound(error.message, hint=f"quote the message: fleet prompt {quoted}") from None
    text = prompt_text(message)
    receipts = fleet.prompts.deliver(agents, text, now=now, command=command)
    if wait or timeout is not None:
        receipts = _wait_for_answers(fleet, agents, receipts, timeout)
    _show_receipts(agents, receipts, as_json=as_json)
    _raise_first_failure(agents, receipts, waited=wait or timeout is not None)


def _recipients(fleet: Fleet, patterns: Sequence[str], batch: str | None) -> list[Agent]:
    from fleet_tui.names import is_pattern

    if len(patterns) == 1 and batch is None and not is_pattern(patterns[0]):
        return [find_to_change(fleet, patterns[0])]
    agents = [agent for agent in fleet.match(patterns, batch=batch) if not agent.has_ended]
    if not agents:
        raise Refused("all these agents have ended", hint="fleet revive starts an agent again")
    return agents


def _wait_for_answers(
    fleet: Fleet, agents: Sequence[Agent], receipts: Sequence[Receipt], timeout: float | None
) -> list[Receipt]:
    deadline = None if timeout is None else time.monotonic() + timeout
    done = []
    for agent, receipt in zip(agents, receipts, strict=True):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        _print_queued(agent, receipt)
        on_change = functools.partial(_print_queued, agent)
        done.append(fleet.prompts.wait(receipt, seconds=left, on_change=on_change))
    return done


def _print_queued(agent: Agent, receipt: Receipt) -> None:
    if receipt.state == ReceiptState.QUEUED and receipt.reason:
        say(f"{agent.name}: queued ({receipt.reason})", err=True)


def _show_receipts(agents: Sequence[Agent], receipts: Sequence[Receipt], *, as_json: bool) -> None:
    if as_json:
        shown = [receipt_record(agent, receipt) for agent, receipt in zip(agents, receipts, strict=True)]
        say_json(shown[0] if len(shown) == 1 else shown)
        return
    for agent, receipt in zip(agents, receipts, strict=True):
        more = "; ".join(filter(None, (receipt.reason, receipt.note)))
        say(f"{agent.name}: {receipt.state}" + (f" ({more})" if more else ""))


def _raise_first_failure(agents: Sequence[Agent], receipts: Sequence[Receipt], *, waited: bool) -> None:
    """Raise the error that sets the exit code; of several, in the order refused, failed, interrupted, unknown, late."""
    pairs = list(zip(agents, receipts, strict=True))
    for state, error, words in _FAILURES:
        for agent, receipt in pairs:
            if receipt.state == state:
                reason = f": {receipt.reason}" if receipt.reason else ""
                raise error(f"{agent.name} {words}{reason}", hint=f"fleet why {agent.name}")
    late = [agent for agent, receipt in pairs if waited and not receipt.is_over]
    if late:
        raise TimedOut(
            f"{late[0].name} did not finish in time",
            hint=f"it keeps working; see: fleet queue {late[0].name}",
        )


_FAILURES: tuple[tuple[ReceiptState, type[FleetError], str], ...] = (
    (ReceiptState.REFUSED, Refused, "did not take the prompt"),
    (ReceiptState.FAILED, TurnFailed, "failed"),
    (ReceiptState.INTERRUPTED, TurnInterrupted, "was interrupted"),
    (ReceiptState.UNKNOWN, TurnUnknown, "took the prompt; the end of its turn was not seen"),
)


@cli.command()
@name_argument
@click.option("--edit", nargs=2, metavar="WHICH MESSAGE", help="Replace the text of a waiting prompt.")
@click.option("--cancel", metavar="WHICH", help="Remove a waiting prompt.")
@click.option(
    "-n",
    "count",
    type=click.IntRange(min=0),
    default=10,
    metavar="N",
    help="Number of sent prompts to show; default: 10.",
)
@json_option
def queue(branch: str, edit: tuple[str, str] | None, cancel: str | None, count: int, as_json: bool) -> None:
    """Show an agent's prompts; edit or cancel waiting ones.

    WHICH is a position in the queue or the id of a prompt.

    \b
    Examples:
      fleet queue fix-login
      fleet queue fix-login --cancel 1
    """
    if edit and cancel is not None:
        raise UsageError("either --edit or --cancel", hint="the places in the queue change with each")
    fleet = refreshed_fleet()
    agent = find_to_change(fleet, branch)
    if edit:
        fleet.prompts.reword(agent, edit[0], prompt_text(edit[1]))
    if cancel is not None:
        fleet.prompts.cancel(agent, cancel)
    queue = fleet.prompts.queue(agent)
    if as_json:
        say_json(queue_record(agent, queue, count))
        return
    waiting, given = queue.waiting, queue.given[-count:] if count else ()
    for receipt in given:
        say(f"   {receipt.state:11} {_one_line(receipt.text)}" + (f"  ({receipt.reason})" if receipt.reason else ""))  # fmt: skip
    for place, entry in enumerate(waiting, start=1):
        reason = f"  ({entry['reason']})" if entry.get("reason") else ""
        say(f"{place:2} queued      {_one_line(entry['text'])}{reason}")
    if not given and not waiting:
        say(f"{agent.name} has no prompts")


def _one_line(text: str) -> str:
    return cut(one_line(text), SHOWN_CHARACTERS)


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@name_argument
@click.argument("choice", required=False)
@json_option
def answer(branch: str, choice: str | None, as_json: bool) -> None:
    """Answer an agent's question, or show it.

    CHOICE is the number or the text of a choice, yes or no, or any other text if the program accepts one.

    \b
    Examples:
      fleet answer fix-login
      fleet answer fix-login 1
    """
    fleet = refreshed_fleet()
    agent = find_to_change(fleet, branch)
    if choice is None:
        found = fleet.why(agent)
        if found.status != Status.BLOCKED:
            raise Refused(
                f"{found.agent}: it is not waiting for an answer, it is {found.status}",
                hint=f'send a prompt with: fleet prompt {found.agent} "…"',
            )
        if as_json:
            say_json(question_record(agent, found), indent=2)
        else:
            _show_question(found)
        return
    agent = fleet.answer(agent, choice)
    if as_json:
        say_json(changed_record(agent), indent=2)
    else:
        say(f"{agent.name}: answered, now {agent.status}")


def _show_question(found: StatusExplanation) -> None:
    say(f"{found.detail or 'question'}: {found.text}")
    for number, label in found.choices:
        say(f"  {number}  {label}")
    if not found.choices:
        say(f"the choices are unknown; see: fleet attach {found.agent}", err=True)
