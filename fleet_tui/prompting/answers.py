"""Answer the question that an agent is blocked on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import HolderGone, Refused, UsageError
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import Session, open_session
from fleet_tui.models import Agent, Evidence, ReceiptState, Status
from fleet_tui.prompting.prompts import check_alive

ANSWER_SECONDS = 10.0
POLL_SECONDS = 0.1
END_SECONDS = 5.0
DRAWN_SECONDS = 1.5
"""How long a program may take to draw its dialog after it reported the question."""


def answer(agent: Agent, choice: str, shown: Evidence | None = None) -> None:
    """Answer the question that an agent is blocked on, if it is still the one in `shown`; return when it has gone."""
    check_alive(agent)
    if not choice.strip():
        raise UsageError("the answer is empty", hint="give the number of a choice, or its text")
    question = shown.to_plain() if shown is not None else None
    with open_session(agent, rate=0) as session:
        try:
            said = _respond(session, choice, question)
        except HolderGone:
            if not _ends(agent):
                raise
            # The answer ended the program.
            return
    if said["state"] != ReceiptState.ANSWERED:
        asks = agent.status is Status.BLOCKED
        raise Refused(
            f"{agent.name}: {said['reason']}",
            hint=f"see what it asks with: fleet why {agent.name}"
            if asks
            else f'send a prompt with: fleet prompt {agent.name} "…"',
        )


def _respond(session: Session, choice: str, question: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Send an answer and return the holder's reply; retry while the dialog is still being drawn."""
    deadline = time.monotonic() + DRAWN_SECONDS
    while True:
        said = session.ask("respond", seconds=ANSWER_SECONDS, choice=choice, question=question)
        if not said.get("is_early") or time.monotonic() >= deadline:
            return said
        # The dialog that appears must be about the question that is being answered.
        question = question or {"text": said.get("text", ""), "choices": ()}
        time.sleep(POLL_SECONDS)


def _ends(agent: Agent) -> bool:
    """Whether a holder that closed the connection ends within END_SECONDS."""
    deadline = time.monotonic() + END_SECONDS
    while is_held(paths.lock(agent.id)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
