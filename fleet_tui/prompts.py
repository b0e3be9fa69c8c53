"""Prompts on their way into a program: typed as a paste, submitted by a separate Enter, followed until answered.

A prompt waits until the program does: never is it typed into setup, into a question, or into work that goes on,
unless that was asked for. Each prompt has a receipt, kept in prompts.jsonl, so that a queue outlives whoever made
it: queued, typed, accepted, answered, or refused with the reason.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from fleet_tui.models import Status
from fleet_tui.values import dataclass

SETTLE_SECONDS = 0.2
"""Between the paste and the Enter: an Enter that comes with the paste is taken for a part of it."""
SETTLE_BYTES = 100_000
"""A long paste takes the program a second more for each of these."""
CONFIRM_SECONDS = 2.0
"""How long a program may take to show that it has taken a prompt, before Enter is pressed once more."""
GIVEN_SECONDS = 5.0
"""How long a program that waits may leave a prompt from its command line, before that counts as not known."""
REDRAW_SECONDS = 1.0
"""How long a program may take to draw itself on the empty screen of a new screen server."""
UNREAD_SECONDS = 5.0
"""How long a program may take to read what was typed before whoever waits for that is told."""
HANDS_OFF_SECONDS = 3.0
"""Nothing is typed this soon after a person has pressed a key there."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSENT = frozenset({"queued", "typing", "pasted", "interrupted"})
_READY = frozenset({Status.IDLE, Status.DONE, Status.ERROR})
_NEVER = frozenset({Status.SETUP, Status.BLOCKED})

UNCONFIRMED = "submitted twice, and nothing shows that it was taken"
HELD = "its text stands there; a question came up before its Enter, which follows once that is answered"
UNREAD = "its program does not read what is typed; the Enter follows once it has"
ENDED = "the program has ended"
STOPPED = "it was stopped"
UNKNOWABLE = "this program does not show whether it was taken"


@dataclass(slots=True)
class _Prompt:
    id: str
    text: str
    is_now: bool
    note: str = ""
    """What was done to the text."""
    state: str = "queued"
    reason: str = ""
    submit_at: float = 0.0
    confirm_by: float | None = None
    """Until when it has to show that it was taken; None before the program could."""
    busy_before: int = 0
    may_press: bool = False
    """Enter may be pressed once more: it was typed here, and nothing has come of it."""
    has_met_dialog: bool = False
    """A dialog came up between its text and its Enter."""
    read_by: float | None = None
    """Until when its text has to be read; None while nothing of it is left to read."""
    is_unread: bool = False
    """That time is over, and it has been told."""
    was_busy: bool = False
    """It was typed into work that went on: becoming busy says nothing of it."""

    @property
    def is_final(self) -> bool:
        return self.state in {"answered", "refused"} or (self.state == "typed" and bool(self.reason))


@dataclass(frozen=True, slots=True)
class Program:
    """What decides whether a prompt may be typed, and whether it was taken."""

    status: Status
    ended: str = ""
    """How it has ended; empty while it runs."""
    busy: int = 0
    """How often it has begun to do something."""
    speaks: bool = True
    """It tells by more than its output what it does."""
    is_reading: bool = True
    """It has read everything that was typed so far."""
    last_key: float = -HANDS_OFF_SECONDS
    """When a person last pressed a key there."""
    calm_at: float = 0.0
    """Until then it may have begun something that its status does not show yet."""


@dataclass(frozen=True, slots=True)
class Step:
    paste: str = ""
    submit: bool = False
    receipt: dict[str, Any] | None = None


def _new(prompt_id: str, text: str, *, is_now: bool) -> _Prompt:
    """With the text as a program may be given it: a control character would be a key."""
    text, count = _CONTROL.subn("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _Prompt(prompt_id, text, is_now, f"control characters left out: {count}" if count else "")


def _turn(prompt: _Prompt) -> tuple[bool, bool]:
    """Whose turn is first: one whose typing has begun, then those for now, then the others as they came."""
    return prompt.state == "queued", not prompt.is_now


class Prompts:
    def __init__(
        self,
        folder: Path,
        first: str = "",
        *,
        first_id: str = "first",
        is_given: bool = False,
        settle: float = SETTLE_SECONDS,
        confirm: float = CONFIRM_SECONDS,
    ) -> None:
        self._folder = folder
        self._settle_seconds, self._confirm_seconds = settle, confirm
        self._all: dict[str, _Prompt] = {}
        self._due: float | None = None
        self._unclear: int | None = None
        """How often the program had been busy when it was found that half a prompt may stand in its input."""
        self._recall()
        if first and first_id not in self._all:
            self.add(first_id, first, is_now=False)
            if is_given:
                # It stands on the command line: what is left to learn is whether it was taken.
                self._move(self._all[first_id], "typed")

    def _recall(self) -> None:
        """Go on where the screen server before this one was when it died."""
        try:
            lines = (self._folder / "prompts.jsonl").read_bytes().splitlines()
        except OSError:
            return
        for line in lines:
            try:
                values = json.loads(line)
                prompt = _Prompt(
                    str(values["id"]), str(values["text"]), bool(values.get("now")), str(values.get("note", "")),
                    str(values["state"]), str(values.get("reason", "")),
                )  # fmt: skip
            except (ValueError, KeyError, TypeError):
                continue
            self._all[prompt.id] = prompt
        for prompt in self._all.values():
            if prompt.state == "typing":
                prompt.state = "interrupted"
            # It has begun before: whenever the program is calm now, it is through with it.
            prompt.busy_before = -1 if prompt.state == "accepted" else 0

    # ── the queue ───────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, prompt_id: str, text: str, *, is_now: bool) -> dict[str, Any]:
        if prompt_id not in self._all:
            self._all[prompt_id] = prompt = _new(prompt_id, text, is_now=is_now)
            if not prompt.text.strip():
                prompt.state, prompt.reason = "refused", "it has no text"
            self._write(prompt)
        return self.receipt(prompt_id)

    def receipt(self, prompt_id: str) -> dict[str, Any]:
        prompt = self._all[prompt_id]
        state, reason = "typing" if prompt.state == "pasted" else prompt.state, prompt.reason
        if state == "typing" and prompt.has_met_dialog:
            state, reason = "queued", HELD
        elif state == "typing" and prompt.is_unread:
            state, reason = "queued", UNREAD
        return {"prompt": prompt.id, "state": state, "reason": reason, "note": prompt.note}

    def receipt_of(self, prompt_id: str) -> dict[str, Any] | None:
        return self.receipt(prompt_id) if prompt_id in self._all else None

    def receipts(self) -> list[dict[str, Any]]:
        """Of all but those that are just being typed, of which nothing is told until that is done."""
        return [
            self.receipt(one.id)
            for one in self._all.values()
            if one.state == "queued" or one.state not in _UNSENT
        ]

    def waiting(self) -> list[dict[str, Any]]:
        """Those that are not typed yet, in order."""
        queued = [prompt for prompt in self._all.values() if prompt.state == "queued"]
        return [
            {"prompt": prompt.id, "text": prompt.text, "now": prompt.is_now}
            for prompt in sorted(queued, key=_turn)
        ]

    def change(self, prompt_id: str, text: str) -> bool:
        """Other words for a prompt that still waits; False when it does not, or when they are none."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state != "queued":
            return False
        changed = _new(prompt_id, text, is_now=prompt.is_now)
        if not changed.text.strip():
            return False
        self._all[prompt_id] = changed
        self._write(changed)
        return True

    def cancel(self, prompt_id: str) -> Step | None:
        """Take back a prompt that still waits; None when it does not."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state != "queued":
            return None
        return self._move(prompt, "refused", "cancelled")

    # ── the way ─────────────────────────────────────────────────────────────────────────────────────────────────

    def due(self) -> float | None:
        return self._due

    def step(self, now: float, program: Program) -> list[Step]:
        """What is to be done now to bring prompts forward."""
        self._due = None
        open_ones = [prompt for prompt in self._all.values() if not prompt.is_final]
        if program.ended:
            return [self._ended(prompt, program.ended) for prompt in open_ones]
        steps: list[Step] = []
        for prompt in open_ones:
            if prompt.state in {"typed", "accepted"}:
                steps += self._follow(prompt, now, program)
        head = self._head()
        is_clear = not any(one.state == "typed" and not one.was_busy for one in open_ones if not one.is_final)
        if head is not None and (is_clear or head.is_now):
            steps += self._advance(head, now, program)
        return steps

    def _head(self) -> _Prompt | None:
        """The next to be submitted."""
        return min((one for one in self._all.values() if one.state in _UNSENT), key=_turn, default=None)

    def _advance(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """A prompt that is not submitted yet."""
        if prompt.state == "interrupted":
            self._unclear = program.busy
            return [self._move(prompt, "refused", "its screen server was replaced meanwhile; it may stand there, not submitted")]  # fmt: skip
        if prompt.state in {"typing", "pasted"}:
            return self._submit(prompt, now, program)
        if not self._may_type(prompt, now, program):
            return []
        prompt.state = "typing"
        prompt.was_busy = program.status not in _READY and program.status is not Status.UNKNOWN
        prompt.submit_at = now + self._settle_seconds + len(prompt.text) / SETTLE_BYTES
        # At once, to note that it was written whole: should this server be killed, the next one goes on from there.
        self._soon(now)
        self._write(prompt)
        return [Step(paste=prompt.text)]

    def _submit(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if not prompt.submit_at:
            # Typed before this screen server: what stands on the screen, maybe a dialog, is not known yet.
            prompt.submit_at = now + REDRAW_SECONDS
        if not program.is_reading:
            # The Enter must not arrive together with the end of the paste.
            prompt.submit_at = max(prompt.submit_at, now + self._settle_seconds)
            self._soon(prompt.submit_at)
            return self._unread(prompt, now)
        prompt.read_by, prompt.is_unread = None, False
        if prompt.state == "typing":
            prompt.state = "pasted"
            self._write(prompt)
        self._soon(prompt.submit_at)
        if now < prompt.submit_at:
            return []
        if program.status in _NEVER:
            return self._hold(prompt)
        if prompt.has_met_dialog and program.status not in _READY:
            return []
        prompt.confirm_by = now + self._confirm_seconds
        prompt.busy_before, prompt.may_press = program.busy, True
        self._soon(prompt.confirm_by)
        return [Step(submit=True), self._move(prompt, "typed")]

    def _unread(self, prompt: _Prompt, now: float) -> list[Step]:
        prompt.read_by = now + UNREAD_SECONDS if prompt.read_by is None else prompt.read_by
        if prompt.is_unread or now < prompt.read_by:
            return []
        prompt.is_unread = True
        return [Step(receipt=self.receipt(prompt.id))]

    def _hold(self, prompt: _Prompt) -> list[Step]:
        """A dialog that has come up since would take the Enter for its answer; the text waits until it has gone."""
        is_news, prompt.has_met_dialog = not prompt.has_met_dialog, True
        return [Step(receipt=self.receipt(prompt.id))] if is_news else []

    def would_type(self, now: float, status: Status) -> bool:
        """Whether something is about to be typed, if the program is as it seems."""
        head = self._head()
        if head is None:
            return any(one.state == "typed" and one.may_press for one in self._all.values())
        if head.state in {"typing", "pasted"}:
            return now >= head.submit_at
        return head.is_now or status in _READY

    def _follow(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """A prompt that was submitted: was it taken, is it answered?"""
        steps: list[Step] = []
        if prompt.state == "typed":
            steps = self._confirm(prompt, now, program)
        is_calm = program.status in _READY and program.busy > prompt.busy_before
        if prompt.state == "accepted" and is_calm and self._is_believed(now, program):
            steps.append(self._move(prompt, "answered"))
        return steps

    def _is_believed(self, now: float, program: Program) -> bool:
        """Whether a program that seems calm can be taken at that."""
        if now < program.calm_at:
            self._soon(program.calm_at)
        return now >= program.calm_at

    def _confirm(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if prompt.was_busy:
            # Only the program's own word can tell (`taken`); once it is calm, none will come.
            return [self._move(prompt, "typed", UNKNOWABLE)] if program.status in _READY else []
        if program.busy > prompt.busy_before:
            return [self._move(prompt, "accepted")]
        if prompt.confirm_by is None:
            if program.status not in _READY:
                return []
            prompt.confirm_by = now + GIVEN_SECONDS
        if now < prompt.confirm_by:
            self._soon(prompt.confirm_by)
            return []
        return self._unconfirmed(prompt, now, program)

    def _unconfirmed(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if prompt.may_press and program.speaks and program.status in _READY:
            prompt.may_press = False
            prompt.confirm_by = now + self._confirm_seconds
            self._soon(prompt.confirm_by)
            return [Step(submit=True)]
        was_pressed = program.speaks and prompt.submit_at > 0
        return [
            self._move(prompt, "refused", UNCONFIRMED)
            if was_pressed
            else self._move(prompt, "typed", UNKNOWABLE)
        ]

    def taken(self, text: str) -> list[Step]:
        """The program has said itself which prompt it has taken."""
        words = " ".join(text.split())
        for prompt in self._all.values():
            # A program that was slow may take one that had been given up.
            is_open = (prompt.state == "typed" and not prompt.is_final) or prompt.reason == UNCONFIRMED
            if is_open and " ".join(prompt.text.split()) == words:
                prompt.was_busy = False
                return [self._move(prompt, "accepted")]
        return []

    def refuse(self, prompt_text: str, reason: str) -> Step:
        """Give up on the prompt that is being typed."""
        prompt = next(one for one in self._all.values() if one.state == "typing" and one.text == prompt_text)
        return self._move(prompt, "refused", reason)

    def _ended(self, prompt: _Prompt, how: str) -> Step:
        """A program that ends by itself is through with what it had taken; one that is stopped is not."""
        is_through = prompt.state == "accepted" and how == ENDED
        return self._move(prompt, "answered" if is_through else "refused", how)

    def _may_type(self, prompt: _Prompt, now: float, program: Program) -> bool:
        if program.status in _NEVER or (program.status is Status.STARTING and program.speaks):
            return False
        if self._unclear is not None and program.busy <= self._unclear and not prompt.is_now:
            return False
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if now < hands_off and not prompt.is_now:
            self._soon(hands_off)
            return False
        return prompt.is_now or (program.status in _READY and self._is_believed(now, program))

    def _soon(self, moment: float) -> None:
        self._due = moment if self._due is None else min(self._due, moment)

    # ── the record ──────────────────────────────────────────────────────────────────────────────────────────────

    def _move(self, prompt: _Prompt, state: str, reason: str = "") -> Step:
        prompt.state, prompt.reason = state, reason
        self._write(prompt)
        return Step(receipt=self.receipt(prompt.id))

    def _write(self, prompt: _Prompt) -> None:
        line = json.dumps(
            {
                "id": prompt.id,
                "text": prompt.text,
                "now": prompt.is_now,
                "note": prompt.note,
                "state": prompt.state,
                "reason": prompt.reason,
            }
        )
        try:
            descriptor = os.open(
                self._folder / "prompts.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600
            )
        except OSError:
            return
        try:
            os.write(descriptor, line.encode() + b"\n")
        except OSError:
            return
        finally:
            os.close(descriptor)
