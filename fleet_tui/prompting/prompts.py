"""Send prompts to running agents: queue, broadcast, reword, cancel; each prompt has a receipt in the store.

The holder types the prompt into the program and reports how far it got.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from fleet_tui import names
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent, Receipt, ReceiptState
from fleet_tui.programs import profiles
from fleet_tui.programs.prompt_text import Prepared, prepared
from fleet_tui.store.database import Store

TYPE_SECONDS = 15.0
"""Timeout for typing a prompt: after a long text a program needs seconds to settle."""

POLL_SECONDS = 0.1
"""Interval at which a caller that waits for a prompt polls its receipt."""


def check_alive(agent: Agent, again: str = "starts it again") -> None:
    if agent.has_ended:
        raise Refused(f"{agent.name} has ended ({agent.status})", hint=f"fleet revive {agent.name} {again}")


def _check_promptable(store: Store, agent: Agent) -> None:
    """Raise Refused for an agent that cannot take prompts: ended or headless."""
    is_headless = store.agents.intent(agent.id).get("headless") is True
    check_alive(agent, '-p "…" goes on' if is_headless else "starts it again")
    if is_headless:
        raise Refused(
            f"{agent.name} runs headless and takes no prompt until it has ended",
            hint=f'then: fleet revive {agent.name} -p "…"',
        )


def prompt(store: Store, agent: Agent, text: str, *, now: bool, command: bool = False) -> Receipt:
    """Queue a prompt at the agent's holder, which types it as soon as the agent waits for input.

    A text that the program would run as a command is escaped to be sent as plain text, or refused where the program has
    no way to. With `command` it is sent unchanged.
    """
    names.check_prompt(text)
    _check_promptable(store, agent)
    ready = _ready(agent, text, command=command)
    receipt_id = names.new_id(os.urandom)
    with open_session(agent, rate=0) as session:
        with store.transaction():
            store.receipts.put(receipt_id, agent.id, text, ReceiptState.QUEUED, "", time.time())
        said = session.ask(
            "prompt",
            seconds=TYPE_SECONDS,
            id=receipt_id,
            text=ready.text,
            now=now,
            command=command,
            note=ready.note,
        )
    with store.transaction():
        store.receipts.advance(receipt_id, agent.id, said["state"], said["reason"], time.time())
    return Receipt(
        receipt_id, agent.id, text, said["state"], said["reason"], time.time(), said.get("note", ready.note)
    )


def _ready(agent: Agent, text: str, *, command: bool) -> Prepared:
    """The text as it has to be typed into the agent's program."""
    try:
        rules = profiles.load(agent.profile).rules.texts
    except FleetError:
        # The profile was deleted after the agent was started.
        rules = ()
    ready = prepared(text, rules, is_command=command)
    if ready.refusal:
        raise Refused(f"{agent.name}: {ready.refusal}", hint="nothing was typed")
    return ready


def broadcast(
    store: Store, agents: Sequence[Agent], text: str, *, now: bool, command: bool = False
) -> list[Receipt]:
    """Send a prompt to several agents. An agent that cannot take it gets a refused receipt and does not stop the rest."""
    names.check_prompt(text)
    return [_given(store, agent, text, now=now, command=command) for agent in agents]


def _given(store: Store, agent: Agent, text: str, *, now: bool, command: bool) -> Receipt:
    try:
        return prompt(store, agent, text, now=now, command=command)
    except FleetError as error:
        return Receipt("", agent.id, text, ReceiptState.REFUSED, error.message, time.time())


def queue(agent: Agent) -> list[dict[str, Any]]:
    """The queued prompts of an agent, in order."""
    if agent.has_ended:
        return []
    with open_session(agent, rate=0) as session:
        waiting: list[dict[str, Any]] = session.ask("queue")["waiting"]
    return waiting


def find_waiting(agent: Agent, which: str) -> dict[str, Any]:
    """A queued prompt, by its position or its id."""
    waiting = queue(agent)
    if which.isdecimal() and 1 <= int(which) <= len(waiting):
        return waiting[int(which) - 1]
    for entry in waiting:
        if entry["prompt"] == which:
            return entry
    raise NotFound(
        f"no prompt {which!r} is queued for {agent.name}",
        hint=f"list the queue with: fleet queue {agent.name}",
    )


def reword(store: Store, agent: Agent, which: str, text: str) -> None:
    """Change the text of a queued prompt; a command stays a command."""
    names.check_prompt(text)
    entry = find_waiting(agent, which)
    found, command = str(entry["prompt"]), bool(entry.get("command", False))
    ready = _ready(agent, text, command=command)
    with open_session(agent, rate=0) as session:
        said = session.ask("reword", prompt=found, text=ready.text, note=ready.note, command=command)
    _demand(said["done"], agent)
    with store.transaction():
        store.receipts.reword(found, agent.id, text, time.time())


def cancel(agent: Agent, which: str) -> None:
    found = str(find_waiting(agent, which)["prompt"])
    with open_session(agent, rate=0) as session:
        _demand(session.ask("cancel", prompt=found)["done"], agent)


def _demand(done: bool, agent: Agent) -> None:
    if not done:
        raise Refused(f"{agent.name} already has that prompt", hint="it can no longer be changed")
