"""Speaking with agents: prompts with receipts, answers, and why an agent is said to be what it is.

Everything goes through an agent's holder; the store only keeps the receipts. What a person says of a wrong status is
saved as a file that the project's tests can take as it is.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui import names, paths, profiles
from fleet_tui.errors import FleetError, HolderGone, NotFound, Refused, UsageError
from fleet_tui.holder import is_held
from fleet_tui.models import Agent, Evidence, Receipt, ReceiptState, Status
from fleet_tui.prompt_text import Prepared, prepared
from fleet_tui.session import Session
from fleet_tui.store import Store
from fleet_tui.values import asdict, dataclass, replace

PROMPT_LIMIT = 256 * 1024
ANSWER_SECONDS = 10.0
TYPE_SECONDS = 15.0
"""How long a prompt that is being typed may take: a long one settles for seconds."""
WAIT_SECONDS = 0.1
END_SECONDS = 5.0
DRAWN_SECONDS = 1.5
"""How long a dialog may take to be drawn after its program has said that it asks."""
REPORTED = "reported"
"""The folder of statuses that somebody has called wrong."""


def open_session(agent: Agent, **options: Any) -> Session:
    return Session.open(paths.run(agent.id, agent.run), paths.lock(agent.id), agent.name, **options)


def check_prompt(text: str) -> None:
    if not text.strip():
        raise UsageError("an empty prompt says nothing", hint="write what the agent is to do")
    if len(names.check_text(text, "the prompt").encode()) > PROMPT_LIMIT:
        raise UsageError(
            f"the prompt is over {PROMPT_LIMIT} bytes", hint="put it in a file and name the file"
        )


def check_alive(agent: Agent, again: str = "starts it again") -> None:
    if agent.has_ended:
        raise Refused(f"{agent.name} has ended ({agent.status})", hint=f"fleet revive {agent.name} {again}")


def _check_hears(store: Store, agent: Agent) -> None:
    """Whether an agent can be given prompts at all."""
    is_headless = store.intent(agent.id).get("headless") is True
    check_alive(agent, '-p "…" goes on' if is_headless else "starts it again")
    if is_headless:
        raise Refused(
            f"{agent.name} works headlessly and hears nothing before it has ended",
            hint=f'then: fleet revive {agent.name} -p "…"',
        )


# ── prompts ─────────────────────────────────────────────────────────────────────────────────────────────────────


def prompt(store: Store, agent: Agent, text: str, *, now: bool, command: bool = False) -> Receipt:
    """Give a prompt to an agent's holder, which types it as soon as the agent waits.

    A text that the program would run as a command is sent as plain text, or refused where there is no way to; with
    `command` it is sent as it is.
    """
    check_prompt(text)
    _check_hears(store, agent)
    ready = _ready(agent, text, command=command)
    receipt_id = names.new_id(os.urandom)
    with open_session(agent, rate=0) as session:
        with store.transaction():
            store.set_receipt(receipt_id, agent.id, text, ReceiptState.QUEUED, "", time.time())
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
        store.move_receipt(receipt_id, said["state"], said["reason"], time.time())
    return Receipt(
        receipt_id, agent.id, text, said["state"], said["reason"], time.time(), said.get("note", ready.note)
    )


def _ready(agent: Agent, text: str, *, command: bool) -> Prepared:
    """The text as the agent's program has to be given it."""
    try:
        rules = profiles.load(agent.profile).signals.texts
    except FleetError:
        # Its profile has gone since it was started.
        rules = ()
    ready = prepared(text, rules, is_command=command)
    if ready.refusal:
        raise Refused(f"{agent.name}: {ready.refusal}", hint="nothing was typed")
    return ready


def broadcast(
    store: Store, agents: Sequence[Agent], text: str, *, now: bool, command: bool = False
) -> list[Receipt]:
    """The same prompt to several agents: one that cannot have it is refused, and the others get it all the same."""
    check_prompt(text)
    return [_given(store, agent, text, now=now, command=command) for agent in agents]


def _given(store: Store, agent: Agent, text: str, *, now: bool, command: bool) -> Receipt:
    try:
        return prompt(store, agent, text, now=now, command=command)
    except FleetError as error:
        return Receipt("", agent.id, text, ReceiptState.REFUSED, error.message, time.time())


def queue(agent: Agent) -> list[dict[str, Any]]:
    """The prompts that an agent has not been given yet, in order."""
    if agent.has_ended:
        return []
    with open_session(agent, rate=0) as session:
        waiting: list[dict[str, Any]] = session.ask("queue")["waiting"]
    return waiting


def find_waiting(agent: Agent, which: str) -> dict[str, Any]:
    """A prompt that waits, by its place in the queue or its id."""
    waiting = queue(agent)
    if which.isdigit() and 1 <= int(which) <= len(waiting):
        return waiting[int(which) - 1]
    for entry in waiting:
        if entry["prompt"] == which:
            return entry
    raise NotFound(
        f"no prompt {which!r} waits for {agent.name}", hint=f"fleet queue {agent.name} shows those that do"
    )


def reword(store: Store, agent: Agent, which: str, text: str) -> None:
    """Give a prompt that waits other words; a command stays a command."""
    check_prompt(text)
    entry = find_waiting(agent, which)
    found, command = str(entry["prompt"]), bool(entry.get("command", False))
    ready = _ready(agent, text, command=command)
    with open_session(agent, rate=0) as session:
        said = session.ask("reword", prompt=found, text=ready.text, note=ready.note, command=command)
    _demand(said["done"], agent)
    with store.transaction():
        store.reword_receipt(found, agent.id, text, time.time())


def cancel(agent: Agent, which: str) -> None:
    found = str(find_waiting(agent, which)["prompt"])
    with open_session(agent, rate=0) as session:
        _demand(session.ask("cancel", prompt=found)["done"], agent)


def _demand(done: bool, agent: Agent) -> None:
    if not done:
        raise Refused(f"that prompt is with {agent.name} already", hint="it cannot be taken back any more")


# ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def answer(agent: Agent, choice: str, shown: Evidence | None = None) -> None:
    """Answer the question an agent waits with, if it still is the one that was shown; returns once it has gone."""
    check_alive(agent)
    if not choice.strip():
        raise UsageError("an empty answer says nothing", hint="give the number of a choice, or its words")
    question = None
    if shown is not None:
        question = {"text": shown.text, "choices": shown.choices, "wish": asdict(shown.wish)}
    with open_session(agent, rate=0) as session:
        try:
            said = _respond(session, choice, question)
        except HolderGone:
            if not _ends(agent):
                raise
            # The answer was to end it.
            return
    if said["state"] != "answered":
        asks = agent.status is Status.BLOCKED
        raise Refused(
            f"{agent.name}: {said['reason']}",
            hint=f"fleet why {agent.name} shows what it asks"
            if asks
            else f'fleet prompt {agent.name} "…" speaks to it',
        )


def _respond(session: Session, choice: str, question: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """How an answer went; one that comes while the dialog is still being drawn is given again."""
    deadline = time.monotonic() + DRAWN_SECONDS
    while True:
        said = session.ask("respond", seconds=ANSWER_SECONDS, choice=choice, question=question)
        if not said.get("is_early") or time.monotonic() >= deadline:
            return said
        # What is drawn by then has to be what was asked now.
        question = question or {"text": said.get("text", ""), "choices": ()}
        time.sleep(WAIT_SECONDS)


def _ends(agent: Agent) -> bool:
    """Whether a holder that has hung up is about to be gone."""
    deadline = time.monotonic() + END_SECONDS
    while is_held(paths.lock(agent.id)):
        if time.monotonic() >= deadline:
            return False
        time.sleep(WAIT_SECONDS)
    return True


# ── why ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Sign:
    """What one source says of an agent."""

    source: str
    status: str
    rule: str = ""
    text: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """Why an agent has its status: what is gone by first, then what else was said."""

    agent: str
    status: str
    detail: str = ""
    source: str = ""
    rule: str = ""
    text: str = ""
    at: float = 0.0
    choices: tuple[tuple[str, str], ...] = ()
    others: tuple[Sign, ...] = ()
    """What the other sources say now; those that disagree were not followed."""
    title: str = ""
    quiet_for: float | None = None
    lines: tuple[str, ...] = ()
    cols: int = 0
    lost_output: int = 0
    """Bytes of its output that could not be kept."""


def why(agent: Agent) -> Why:
    """Of a living agent, what its holder knows now; of an ended one, what is on record."""
    evidence = agent.evidence
    known = Why(
        agent.name,
        str(agent.status),
        agent.status_detail,
        evidence.source if evidence else "",
        evidence.rule if evidence else "",
        evidence.text if evidence else "",
        evidence.at if evidence else agent.status_since,
        evidence.choices if evidence else (),
        title=agent.title,
        lost_output=agent.lost_output,
    )
    return known if agent.has_ended else _as_the_holder_knows(agent, known)


def _as_the_holder_knows(agent: Agent, known: Why) -> Why:
    try:
        with open_session(agent, rate=0) as session:
            said = session.ask("why")
    except (HolderGone, Refused):
        return known
    told = said.get("told", {})
    others = tuple(
        _sign(source) for source in said.get("sources", ()) if source["source"] != told.get("source")
    )
    return replace(
        known,
        others=others,
        title=str(said.get("title", "")),
        quiet_for=said.get("quiet_for"),
        lines=tuple(said.get("lines", ())),
        cols=int(said.get("cols", 0)),
    )


def _sign(source: Mapping[str, Any]) -> Sign:
    return Sign(
        str(source["source"]),
        str(source["status"]),
        str(source.get("rule", "")),
        str(source.get("text", "")),
        str(source.get("detail", "")),
    )


def report_wrong(agent: Agent, right: str, kind: str = "") -> Path:
    """Save what an agent shows now together with what its status should have been; returns the file."""
    from fleet_tui.signals import KINDS

    choices = [str(status) for status in Status if not status.has_ended]
    if right not in choices:
        raise UsageError(f"{right!r} is no status", hint="one of " + ", ".join(choices))
    if kind and right != Status.BLOCKED:
        raise UsageError(f"an agent that is {right} has no kind", hint="leave --kind out")
    if kind and kind not in KINDS:
        raise UsageError(f"{kind!r} is no kind of question", hint="one of " + ", ".join(KINDS))
    check_alive(agent)
    found = why(agent)
    if not found.lines:
        raise Refused(f"the screen of {agent.name} cannot be read now", hint="try again")
    record = {
        "profile": agent.profile,
        "cols": found.cols,
        "title": found.title,
        "status": right,
        "kind": kind,
        "lines": [line.rstrip() for line in found.lines],
        "was": {"status": found.status, "source": found.source, "rule": found.rule, "text": found.text},
        "signs": [asdict(sign) for sign in found.others],
        "quiet_for": found.quiet_for,
    }
    folder = paths.private(paths.state() / REPORTED)
    file = folder / f"{Path(agent.profile).name}-{right}-{time.strftime('%Y%m%d-%H%M%S')}-{agent.id}.json"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    return file
