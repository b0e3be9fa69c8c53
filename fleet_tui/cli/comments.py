"""Comment on lines of an agent's work, and send the comments to it as one prompt."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Literal

import click

from fleet_tui.cli.group import cli, find_to_change, prompt_text, refreshed_fleet, say, say_json
from fleet_tui.cli.options import json_option, name_argument, refuse_empty
from fleet_tui.errors import Refused, UsageError
from fleet_tui.faces.plain import receipt_record
from fleet_tui.faces.work_records import comment_record
from fleet_tui.models import ReceiptState
from fleet_tui.quantities import age
from fleet_tui.text import block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet_tui.fleet import Fleet
    from fleet_tui.models import Agent
    from fleet_tui.work import ReviewComment

_PLACE = re.compile(r"(?P<path>.+):(?P<first>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9}))?", re.DOTALL)


@cli.command()
@name_argument
@click.argument("place", metavar="PATH:LINE[-LINE]")
@click.argument("text")
@click.option("--old", is_flag=True, help="LINE is in the file as it was before the agent changed it.")
@click.option(
    "--against",
    default="",
    metavar="BASE|AGENT",
    callback=refuse_empty,
    help="With --old: the branch, commit or agent whose file it is, instead of the agent's base.",
)
@json_option
def comment(branch: str, place: str, text: str, old: bool, against: str, as_json: bool) -> None:
    """Comment on lines that an agent has written.

    Comments are collected until fleet comments --send. - as TEXT reads standard input.

    \b
    Examples:
      fleet comment fix-login src/login.py:42 "Check for an empty name"
      fleet comment fix-login src/login.py:42-50 "Make this a function"
    """
    found = _PLACE.fullmatch(place)
    if found is None:
        raise UsageError(
            f"{place!r} names no line", hint="for example: src/login.py:42 or src/login.py:42-50"
        )
    if against and not old:
        raise UsageError(
            "--against needs --old", hint="the agent's own lines are the same whatever it is compared with"
        )
    first, last = int(found["first"]), int(found["last"] or found["first"])
    side: Literal["old", "new"] = "old" if old else "new"
    fleet = refreshed_fleet()
    agent = find_to_change(fleet, branch)
    made = fleet.review.comment(agent, found["path"], side, first, last, prompt_text(text), against=against)
    if as_json:
        say_json(comment_record(agent, made), indent=2)
    else:
        waiting = sum(not one.is_sent for one in fleet.review.comments(agent))
        say(f"{made.id}: not sent yet, like {waiting} in all; send with: fleet comments {agent.name} --send")


@cli.command()
@name_argument
@click.option("--send", is_flag=True, help="Send all comments that are not sent yet, as one prompt.")
@click.option("--now", is_flag=True, help="With --send: also to a working agent, as fleet prompt --now does.")
@click.option("--preview", is_flag=True, help="Print the prompt that --send would send.")
@click.option(
    "--edit", nargs=2, metavar="ID TEXT", help="Replace the text of a comment that is not sent yet."
)
@click.option("--delete", metavar="ID", help="Delete a comment that is not sent yet.")
@json_option
def comments(
    branch: str,
    send: bool,
    now: bool,
    preview: bool,
    edit: tuple[str, str] | None,
    delete: str | None,
    as_json: bool,
) -> None:
    """Show the comments on an agent's work, or send them.

    A comment counts as handled when its lines have changed after it was sent.

    \b
    Examples:
      fleet comments fix-login
      fleet comments fix-login --send
    """
    if send + preview + bool(edit) + (delete is not None) > 1:
        raise UsageError("--send, --preview, --edit and --delete exclude each other", hint="give one of them")
    if now and not send:
        raise UsageError("--now needs --send", hint="it says when the comments are sent")
    if preview and as_json:
        raise UsageError("--preview prints text", hint="omit --json")
    fleet = refreshed_fleet()
    agent = find_to_change(fleet, branch)
    if send:
        _send(fleet, agent, now=now, as_json=as_json)
    elif preview:
        for line in block(fleet.review.round_text(agent)).split("\n"):
            say(line)
    else:
        if edit:
            fleet.review.reword_comment(agent, edit[0], prompt_text(edit[1]))
        if delete is not None:
            fleet.review.delete_comment(agent, delete)
        _show(agent, fleet.review.refresh_comments(agent), as_json=as_json)


def _send(fleet: Fleet, agent: Agent, *, now: bool, as_json: bool) -> None:
    receipt = fleet.review.send_comments(agent, now=now)
    if as_json:
        say_json(receipt_record(agent, receipt))
    else:
        say(f"{agent.name}: {receipt.state}" + (f" ({receipt.reason})" if receipt.reason else ""))
    if receipt.state == ReceiptState.REFUSED:
        raise Refused(
            f"{agent.name} did not take the comments: {receipt.reason}", hint="they are kept; send them again"
        )


def _show(agent: Agent, comments: Sequence[ReviewComment], *, as_json: bool) -> None:
    if as_json:
        say_json([comment_record(agent, one) for one in comments], indent=2)
        return
    for one in comments:
        numbers = f"{one.first}" if one.first == one.last else f"{one.first}-{one.last}"
        say(f"{one.id}  {one.path}:{numbers}  {_state(one)}")
        for line in block(one.text).split("\n"):
            say(f"    {line}")
    if not comments:
        say(f'no comments (write one: fleet comment {agent.name} PATH:LINE "what should change")')


def _state(comment: ReviewComment) -> str:
    """How far a comment got."""
    if comment.is_sent:
        ago = age(time.time() - (comment.sent_at or 0.0))
        state = f"round {comment.round}, {comment.receipt_state or 'sent'} {ago} ago"
        return f"{state}, handled" if comment.handled_at is not None else state
    state = "not sent: the agent did not take it" if comment.round else "not sent"
    return f"{state}, the lines have changed" if comment.is_changed else state
