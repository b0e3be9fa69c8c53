"""Explains an agent's status, lists what disagrees, and reports it as wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual import events
from textual.widget import Widget

from fleet_tui.faces.wording import STATUS_LOOKS, source_words, word
from fleet_tui.models import Agent, Status
from fleet_tui.quantities import age
from fleet_tui.tui.dialogs.dialog import Dialog, fact
from fleet_tui.tui.widgets.fields import Static
from fleet_tui.tui.widgets.lines import Line, clean, content
from fleet_tui.tui.widgets.statuses import ROLES, glyph

if TYPE_CHECKING:
    from fleet_tui.prompting.why import StatusExplanation

_SHOWN_COMMAND = 400


class WhyDialog(Dialog[str]):
    """Returns "wrong" when the user reports the status."""

    def __init__(self, agent: Agent, why: StatusExplanation, now: float) -> None:
        super().__init__()
        self._agent = agent
        self._why = why
        self._now = now

    def titles(self) -> tuple[Line, Line]:
        agent = self._agent
        return ((clean(agent.name), "bold foreground"), ("  why this status", "muted")), (
            glyph(agent),
            (f" {word(agent)}", ROLES[agent.status]),
        )

    def hints(self) -> Sequence[tuple[str, str]]:
        return (("esc", "close"),) if self._agent.has_ended else (("w", "report as wrong"), ("esc", "close"))

    def on_key(self, event: events.Key) -> None:
        if event.key == "w" and not self._agent.has_ended:
            event.stop()
            self.dismiss("wrong")

    def body(self) -> Iterable[Widget]:
        for label, value in self._facts():
            yield fact(label, value)

    def _facts(self) -> Iterable[tuple[str, str]]:
        agent, why = self._agent, self._why
        yield "status", f"{agent.status}{f', {clean(agent.status_detail)}' if agent.status_detail else ''}"
        if why.source:
            by = f", by {clean(why.rule)!r}" if why.rule else ""
            yield "because", f"{source_words(why.source).sentence} ({why.source}{by})"
        if why.text:
            yield "it said", clean(why.text)
        for number, label in why.choices:
            yield "choice", f"{number}  {clean(label)}"
        if why.at:
            moment = time.strftime("%H:%M:%S", time.localtime(why.at))
            yield "since", f"{moment}, {age(max(0.0, self._now - why.at))} ago"
        for sign in why.others:
            says = "agrees" if sign.status == why.status else "disagrees"
            yield (
                says,
                f"{source_words(sign.source).sentence}: {sign.status} ({clean(sign.rule or sign.source)})",
            )
        yield from self._about()

    def _about(self) -> Iterable[tuple[str, str]]:
        agent = self._agent
        if agent.has_ended:
            code = f"code {agent.exit_code}" if agent.exit_code is not None else f"signal {agent.exit_signal}"
            yield "exit", code
        yield "runs", clean(" ".join(agent.argv))[:_SHOWN_COMMAND]
        yield "pid", str(agent.pid or "–")
        yield "worktree", clean(agent.worktree)
        yield "branch", f"{clean(agent.branch)} from {agent.base[:12]}"
        yield "prompt", clean(agent.prompt)[:600] or "–"


RIGHT = (
    ("1", Status.WORKING, ""),
    ("2", Status.BLOCKED, "permission"),
    ("3", Status.BLOCKED, "question"),
    ("4", Status.IDLE, ""),
    ("5", Status.LIMITED, ""),
    ("6", Status.ERROR, ""),
)
"""The statuses that may be the right one, and their keys."""


class WrongDialog(Dialog[tuple[str, str]]):
    """Asks for the right status; returns it and its kind."""

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.heading = "Wrong status"
        self.explains = f"what is the status of {clean(agent.name)}?"

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("1–6", "choose"), ("esc", "cancel")

    def body(self) -> Iterable[Widget]:
        yield Static("Saves the screen and its signs to a file on this machine, for a test.")
        yield Static("")
        for chord, status, kind in RIGHT:
            line: Line = ((f" {chord} ", "bold accent on field"), (f"  {STATUS_LOOKS[status].glyph} ", ROLES[status]), (kind or str(status), ""))  # fmt: skip
            yield Static(content(line))

    def on_key(self, event: events.Key) -> None:
        for chord, status, kind in RIGHT:
            if event.key == chord:
                event.stop()
                self.dismiss((str(status), kind))
