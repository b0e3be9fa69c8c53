"""Commands that speak to agents, and that say why an agent is what it is."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fleet_tui.cli.group import (
    cli,
    complete_agents,
    complete_batches,
    name_argument,
    open_fleet,
    said,
    say,
    say_json,
)
from fleet_tui.errors import (
    FleetError,
    Refused,
    TimedOut,
    TurnFailed,
    TurnInterrupted,
    TurnUnknown,
    UsageError,
)
from fleet_tui.models import ReceiptState
from fleet_tui.text import one_line
from fleet_tui.values import asdict

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent, Receipt
    from fleet_tui.speaking import Why

json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@click.argument("words", nargs=-1, required=True, metavar="BRANCH... MESSAGE", shell_complete=complete_agents)
@click.option(
    "-b", "--batch", metavar="BATCH", shell_complete=complete_batches, help="To all living agents of a batch."
)
@click.option(
    "--now", is_flag=True, help="At once, even while it works; never into a question, a menu or a draft."
)
@click.option("--command", is_flag=True, help="Let the program run it as a command, such as /compact or !ls.")
@click.option(
    "--wait",
    is_flag=True,
    help="Until its turn ends: 0 answered, 4 refused, 9 timed out, 10 failed, 11 interrupted, 12 not known.",
)
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Wait no longer than this.")
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
    """Give a message to agents; a busy one gets it once it waits. '-' reads it from standard input.

    A message that the program would run as a command (! or / first) is sent as plain text, or refused where there is
    no way to; --command runs it.
    """
    *patterns, message = words
    if not patterns and batch is None:
        raise UsageError("to whom?", hint='write for example: fleet prompt fix-login "run the tests"')
    fleet = open_fleet()
    agents = _addressed(fleet, patterns, batch)
    text = said(message)
    if len(agents) == 1:
        receipts = [fleet.prompt(agents[0].id, text, now=now, command=command)]
    else:
        receipts = fleet.broadcast(agents, text, now=now, command=command)
    if wait or timeout is not None:
        receipts = _waited(fleet, agents, receipts, timeout)
    _show_receipts(agents, receipts, as_json=as_json)
    _judge(agents, receipts, waited=wait or timeout is not None)


def _addressed(fleet: Fleet, patterns: Sequence[str], batch: str | None) -> list[Agent]:
    from fleet_tui.names import is_pattern

    if len(patterns) == 1 and batch is None and not is_pattern(patterns[0]):
        return [fleet.find(patterns[0])]
    agents = [agent for agent in fleet.match(patterns, batch=batch) if not agent.has_ended]
    if not agents:
        raise Refused("all of them have ended", hint="fleet revive starts an agent again")
    return agents


def _waited(
    fleet: Fleet, agents: Sequence[Agent], receipts: Sequence[Receipt], timeout: float | None
) -> list[Receipt]:
    deadline = None if timeout is None else time.monotonic() + timeout
    done = []
    for agent, receipt in zip(agents, receipts, strict=True):
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        _tell_queued(agent, receipt)
        tell = functools.partial(_tell_queued, agent)
        done.append(fleet.wait_for_answer(receipt, seconds=left, on_change=tell))
    return done


def _tell_queued(agent: Agent, receipt: Receipt) -> None:
    if receipt.state == ReceiptState.QUEUED and receipt.reason:
        say(f"{agent.name}: queued ({receipt.reason})", err=True)


def _show_receipts(agents: Sequence[Agent], receipts: Sequence[Receipt], *, as_json: bool) -> None:
    if as_json:
        shown = [
            {"agent": agent.name, "prompt": receipt.id, "state": receipt.state, "reason": receipt.reason, "note": receipt.note}
            for agent, receipt in zip(agents, receipts, strict=True)
        ]  # fmt: skip
        say_json(shown[0] if len(shown) == 1 else shown)
        return
    for agent, receipt in zip(agents, receipts, strict=True):
        more = "; ".join(filter(None, (receipt.reason, receipt.note)))
        say(f"{agent.name}: {receipt.state}" + (f" ({more})" if more else ""))


def _judge(agents: Sequence[Agent], receipts: Sequence[Receipt], *, waited: bool) -> None:
    """The exit code tells how it went: of several, the first of refused, failed, interrupted, unknown, late counts."""
    pairs = list(zip(agents, receipts, strict=True))
    for state, error, words in _ENDS:
        for agent, receipt in pairs:
            if receipt.state == state:
                reason = f": {receipt.reason}" if receipt.reason else ""
                raise error(f"{agent.name} {words}{reason}", hint=f"fleet why {agent.name}")
    late = [agent for agent, receipt in pairs if waited and not receipt.is_over]
    if late:
        raise TimedOut(
            f"{late[0].name} has not answered in time", hint=f"it goes on; see: fleet queue {late[0].name}"
        )


_ENDS: tuple[tuple[ReceiptState, type[FleetError], str], ...] = (
    (ReceiptState.REFUSED, Refused, "has not taken it"),
    (ReceiptState.FAILED, TurnFailed, "failed at it"),
    (ReceiptState.INTERRUPTED, TurnInterrupted, "was interrupted"),
    (ReceiptState.UNKNOWN, TurnUnknown, "has been given it, and how it ended is not known"),
)


@cli.command()
@name_argument
@click.option("--edit", nargs=2, metavar="WHICH MESSAGE", help="Other words for one that waits.")
@click.option("--cancel", metavar="WHICH", help="Take back one that waits.")
@click.option("-n", "count", type=click.IntRange(min=0), default=10, help="How many earlier ones to show.")
@json_option
def queue(branch: str, edit: tuple[str, str] | None, cancel: str | None, count: int, as_json: bool) -> None:
    """Show an agent's prompts: those given and those waiting.

    WHICH is a place in the queue or the id of a prompt.
    """
    fleet = open_fleet()
    agent = fleet.find(branch)
    if edit:
        fleet.reword(agent, edit[0], said(edit[1]))
    if cancel:
        fleet.cancel(agent, cancel)
    waiting = fleet.queue(agent)
    known = {entry["prompt"] for entry in waiting}
    given = (
        [receipt for receipt in fleet.receipts(agent) if receipt.id not in known][-count:] if count else []
    )
    if as_json:
        say_json({"given": [asdict(receipt) for receipt in given], "waiting": waiting})
        return
    for receipt in given:
        say(f"   {receipt.state:11} {_one_line(receipt.text)}" + (f"  ({receipt.reason})" if receipt.reason else ""))  # fmt: skip
    for place, entry in enumerate(waiting, start=1):
        reason = f"  ({entry['reason']})" if entry.get("reason") else ""
        say(f"{place:2} queued      {_one_line(entry['text'])}{reason}")
    if not given and not waiting:
        say(f"{agent.name} has been given no prompt")


def _one_line(text: str, width: int = 100) -> str:
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@name_argument
@click.argument("choice", default="")
def answer(branch: str, choice: str) -> None:
    """Answer what an agent asks, or show its question.

    CHOICE is a number, the words of a choice, yes or no, or words of your own where the program takes them.
    """
    fleet = open_fleet()
    if not choice:
        _show_question(fleet.why(branch))
        return
    agent = fleet.answer(branch, choice)
    say(f"{agent.name}: answered, {agent.status} now")


def _show_question(found: Why) -> None:
    if found.status != "blocked":
        raise Refused(f"{found.agent} does not wait for an answer, it is {found.status}")
    say(f"{found.detail or 'question'}: {found.text}")
    for number, label in found.choices:
        say(f"  {number}  {label}")
    if not found.choices:
        say(f"its choices are not known; see: fleet attach {found.agent}", err=True)


# ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@cli.command()
@name_argument
@click.option(
    "--wrong", metavar="STATUS", help="Say what it should be: saves screen and signs as a test case."
)
@click.option(
    "--kind",
    default="",
    metavar="KIND",
    help="With --wrong blocked: permission, question, trust, login, menu.",
)
@json_option
def why(branch: str, wrong: str | None, kind: str, as_json: bool) -> None:
    """Say why an agent has its status.

    Who said so, by which sign, when, and who disagrees.
    """
    fleet = open_fleet()
    if wrong:
        say(f"saved as {fleet.report_wrong(branch, wrong, kind)}")
        return
    if kind:
        raise UsageError("--kind goes with --wrong blocked", hint="write both")
    found = fleet.why(branch)
    if as_json:
        say_json(_plain(found), indent=2)
        return
    for label, value in _facts(found):
        say(f"{label:10} {value}")


def _plain(found: Why) -> dict[str, Any]:
    shown = asdict(found)
    shown["at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(found.at)) if found.at else None
    return {name: value for name, value in shown.items() if name not in ("lines", "cols")}


def _facts(found: Why) -> list[tuple[str, str]]:
    facts = [("status", found.status + (f", {found.detail}" if found.detail else ""))]
    if found.source:
        facts.append(("because", found.source + (f": {found.rule}" if found.rule else "")))
    if found.text:
        facts.append(("it said", found.text))
    facts += [("choice", f"{number}  {label}") for number, label in found.choices]
    if found.at:
        facts.append(("since", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.at))))
    if found.quiet_for is not None:
        facts.append(("quiet", f"for {found.quiet_for:.0f} s"))
    if found.lost_output:
        facts.append(
            ("lost", f"{found.lost_output} bytes of its output could not be kept: no space was left")
        )
    for sign in found.others:
        word = "agrees" if sign.status == found.status else "disagrees"
        more = ": ".join(filter(None, (sign.rule, sign.text)))
        facts.append((word, f"{sign.source} says {sign.status}" + (f" ({more})" if more else "")))
    return facts
