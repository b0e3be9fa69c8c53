"""Prompts on their way into a program: typed as a paste, submitted by a separate Enter, followed until the turn ends.

A prompt is typed only when the program waits and its input box is known to be empty; never into setup, a question or a
menu. A draft is set aside first and brought back afterwards, where the program can. Each prompt has a receipt, kept in
prompts.jsonl so that a queue survives its screen server. Pure but for that file; time and the screen are passed in.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from fleet_tui.input_box import UNSETTLED, Box, BoxRule, BoxState
from fleet_tui.models import OVER, ReceiptState, Status
from fleet_tui.values import dataclass

SETTLE_SECONDS = 0.2
"""Between the paste and the Enter: an Enter that comes with the paste is taken for a part of it."""
SETTLE_BYTES = 100_000
"""A long paste takes the program a second more for each of these."""
CONFIRM_SECONDS = 2.0
"""How long a program may take to show that it has taken a prompt, before Enter is pressed once more."""
GIVEN_SECONDS = 5.0
"""How long a program that waits may leave a prompt from its command line, before that counts as not known."""
BEGIN_SECONDS = 5.0
"""How long a program may take to begin a turn after its input box has let go of the text."""
REDRAW_SECONDS = 1.0
"""How long a program may take to draw itself on the empty screen of a new screen server."""
UNREAD_SECONDS = 5.0
"""How long a program may take to read what was typed before whoever waits for that is told."""
SHOW_SECONDS = 10.0
"""How long an input box may take to show what was pasted into it."""
ASIDE_SECONDS = 8.0
"""How long a box may take to be empty after a draft was set aside, or its text taken out."""
STUCK_SECONDS = 30.0
"""How long a program may draw nothing after an Enter before its text is left to itself."""
AGAIN_SECONDS = 4.0
"""Between two keys that empty a box, at least: several programs quit when they get two of them in a row."""
RESTORE_SECONDS = 0.6
"""Between two keys that bring a draft back, at least."""
EFFECT_SECONDS = 6.0
"""How long the box may take to show what such a key did: another one before that would do too much."""
RESTORES_ITSELF_SECONDS = 3.0
"""How long a program that brings drafts back by itself is given for it."""
RESTORE_PRESSES = 5
WORDS_SECONDS = 2.0
"""How long a program may take to show how its turn ended, after it said that it has."""
MOMENT_SECONDS = 2.0
"""What hinders a prompt for less than this is not told."""
HANDS_OFF_SECONDS = 3.0
"""Nothing is typed this soon after a person has pressed a key there."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_UNSENT = frozenset({ReceiptState.QUEUED, ReceiptState.ASIDE, ReceiptState.TYPING, ReceiptState.PASTED})
_SUBMITTED = frozenset({ReceiptState.TYPED, ReceiptState.ACCEPTED})
_READY = frozenset({Status.IDLE, Status.DONE, Status.ERROR})
_NEVER = frozenset({Status.SETUP, Status.BLOCKED})
MENU, LOGIN = "menu", "login"

UNCONFIRMED = "submitted twice, and nothing shows that it was taken"
NOT_TAKEN = "the program did not take it; its text was taken out of the input box again"
LEFT_THERE = "the program did not take it; its text is still in the input box"
NOT_SHOWN = "the input box did not show its text, so it was not submitted"
MIXED = "something else got into the input box with it, so it was not submitted"
HELD = "its text stands there; a question came up before its Enter, which follows once that is answered"
UNREAD = "its program does not read what is typed; the Enter follows once it has"
ENDED = "the program has ended"
STOPPED = "it was stopped"
UNKNOWABLE = "this program does not show whether it was taken"
NO_TURN = "the input box has taken it, and no turn was seen to begin"
NOT_LOGGED_IN = "it is not logged in"

_TOO_EARLY = frozenset({UNCONFIRMED, NO_TURN, LEFT_THERE})
"""A program that was slow may take a prompt all the same."""

# What a queued prompt waits for.
BEHIND = "behind another prompt"
FOLLOWED = "the prompt before it is on its way"
RESTORING = "a draft is being brought back to its input box"
SETTING_UP = "its setup commands are running"
IS_STARTING = "it is starting"
IS_WORKING = "it is working"
IS_LIMITED = "a rate limit or quota holds it up"
ASKS = "it asks something; answer that first"
LOGGED_OUT = "it is not logged in; log in there first"
IN_MENU = "a menu is open there; close it first"
SAYS_NOTHING = "nothing shows whether it waits for input; --now types it anyway"
HALF_TYPED = "half a prompt may stand in its input box; --now types it anyway"
HANDS_ON = "a person has just typed there"
HAS_DRAFT = "its input box holds a draft"
NOT_ASIDE = "its input box holds a draft that could not be set aside"
OTHER_MODE = "its input box is in another mode"
BOX_GONE = "its input box is not on the screen; close what covers it"
BOX_UNSEEN = "its input box was not recognised on the screen; --now types it anyway"
REDRAWS = "its screen is being redrawn"
JUST_CALM = "it has only just come to rest"

DRAFT_LOST = "a draft that was set aside could not be brought back"


@dataclass(slots=True)
class _Prompt:
    id: str
    text: str
    is_now: bool
    note: str = ""
    """What was done to the text."""
    state: ReceiptState = ReceiptState.QUEUED
    reason: str = ""
    is_command: bool = False
    """It was sent as a command of the program, which may begin no turn."""
    draft: str | None = None
    """What its input box held before; None where nothing is to be brought back."""
    is_cut: bool = False
    """The screen server died while it was being typed."""
    submit_at: float = 0.0
    show_by: float = 0.0
    """Until when its box has to show its text."""
    pasted_at: float = 0.0
    """When its text was typed."""
    entered_at: float = 0.0
    """When Enter was pressed last."""
    aside_at: float = 0.0
    """When the key was pressed that sets a draft aside."""
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
    is_boxless: bool = False
    """It was typed without knowing the box, as was asked for."""
    has_left: bool = False
    """Its text was seen to leave the input box."""
    is_leaving: bool = False
    """Its text is being taken out again."""
    has_kept_draft: bool = False
    """A draft could not be set aside for it."""
    error_before: str = ""
    """What the turn before it had failed with."""
    ended_at: float | None = None
    """Since when its turn is known to have failed."""
    hindered_at: float | None = None
    """Since when something hinders it."""
    told: str = ""
    """What it was last said to wait for."""

    @property
    def is_final(self) -> bool:
        return self.state in OVER or (self.state is ReceiptState.TYPED and bool(self.reason))


@dataclass(slots=True)
class _Draft:
    """What stood in the input box before a prompt was typed, on its way back."""

    prompt: _Prompt
    text: str
    next_at: float | None = None
    """When the next key may be pressed; None before the prompt has gone."""
    presses: int = 0
    pressed_on: Box | None = None
    """The box when the last key was pressed; some only move the cursor at first."""


@dataclass(frozen=True, slots=True)
class Program:
    """What decides whether a prompt may be typed, and what became of it."""

    status: Status
    """An error or a limit that has ended the turn is an error here; one that is being retried is not."""
    detail: str = ""
    """For blocked: by what."""
    text: str = ""
    """What it said with its status, such as an error."""
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
    last_output: float = 0.0
    """When it last drew something."""
    calm_at: float = 0.0
    """Until then it may have begun something that its status does not show yet."""
    was_interrupted: bool = False
    """Its last turn was broken off."""
    box: Box | None = None
    """Its input box; None where the profile does not describe one."""
    has_box: bool = True
    """Its input box was recognised at some time in this run."""
    may_set_aside: bool = True
    """Setting a draft aside now would lose nothing."""


@dataclass(frozen=True, slots=True)
class Step:
    paste: str = ""
    submit: bool = False
    key: str = ""
    """A key to press, as a profile names it."""
    receipt: dict[str, Any] | None = None


def _new(prompt_id: str, text: str, *, is_now: bool, is_command: bool = False, note: str = "") -> _Prompt:
    """With the text as a program may be given it: a control character would be a key."""
    text, count = _CONTROL.subn("", text.replace("\r\n", "\n").replace("\r", "\n"))
    notes = [f"control characters left out: {count}" if count else "", note]
    return _Prompt(prompt_id, text, is_now, "; ".join(filter(None, notes)), is_command=is_command)


def _turn(prompt: _Prompt) -> tuple[bool, bool]:
    """Whose turn is first: one whose typing has begun, then those for now, then the others as they came."""
    return prompt.state is ReceiptState.QUEUED, not prompt.is_now


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
        box: BoxRule | None = None,
    ) -> None:
        self._folder = folder
        self._settle_seconds, self._confirm_seconds = settle, confirm
        self._rule = box
        self._all: dict[str, _Prompt] = {}
        self._draft: _Draft | None = None
        self._emptied: tuple[float, str] | None = None
        """When a key that empties the box was pressed last, and on what."""
        self._due: float | None = None
        self._unclear: int | None = None
        """How often the program had been busy when it was found that half a prompt may stand in its input."""
        self._recall()
        if first and first_id not in self._all:
            self.add(first_id, first, is_now=False)
            if is_given:
                # It stands on the command line: what is left to learn is whether it was taken.
                self._move(self._all[first_id], ReceiptState.TYPED)

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
                    ReceiptState(values["state"]), str(values.get("reason", "")), bool(values.get("command")),
                    str(values["draft"]) if values.get("draft") is not None else None,
                )  # fmt: skip
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue
            self._all[prompt.id] = prompt
        for prompt in self._all.values():
            prompt.is_cut = prompt.state is ReceiptState.TYPING
            if prompt.state is ReceiptState.ASIDE:
                prompt.state = ReceiptState.QUEUED
            if prompt.draft is not None:
                self._draft = _Draft(prompt, prompt.draft)
            # It has begun before: whenever the program is calm now, it is through with it.
            prompt.busy_before = -1 if prompt.state is ReceiptState.ACCEPTED else 0

    # ── the queue ───────────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self, prompt_id: str, text: str, *, is_now: bool, is_command: bool = False, note: str = ""
    ) -> dict[str, Any]:
        if prompt_id not in self._all:
            prompt = _new(prompt_id, text, is_now=is_now, is_command=is_command, note=note)
            self._all[prompt_id] = prompt
            if not prompt.text.strip():
                prompt.state, prompt.reason = ReceiptState.REFUSED, "it has no text"
            self._write(prompt)
        return self.receipt(prompt_id)

    def receipt(self, prompt_id: str) -> dict[str, Any]:
        prompt = self._all[prompt_id]
        state, reason = prompt.state, prompt.reason
        if state in (ReceiptState.ASIDE, ReceiptState.PASTED):
            state = ReceiptState.TYPING
        if state is ReceiptState.TYPING and prompt.has_met_dialog:
            state, reason = ReceiptState.QUEUED, HELD
        elif state is ReceiptState.TYPING and prompt.is_unread:
            state, reason = ReceiptState.QUEUED, UNREAD
        return {"prompt": prompt.id, "state": str(state), "reason": reason, "note": prompt.note}

    def receipt_of(self, prompt_id: str) -> dict[str, Any] | None:
        return self.receipt(prompt_id) if prompt_id in self._all else None

    def receipts(self) -> list[dict[str, Any]]:
        """Of all but those that are just being typed, of which nothing is told until that is done."""
        return [
            self.receipt(one.id)
            for one in self._all.values()
            if one.state is ReceiptState.QUEUED or one.state not in _UNSENT
        ]

    def waiting(self) -> list[dict[str, Any]]:
        """Those that are not typed yet, in order."""
        queued = [prompt for prompt in self._all.values() if prompt.state is ReceiptState.QUEUED]
        return [
            {
                "prompt": prompt.id,
                "text": prompt.text,
                "now": prompt.is_now,
                "reason": prompt.reason,
                "command": prompt.is_command,
            }
            for prompt in sorted(queued, key=_turn)
        ]

    def change(self, prompt_id: str, text: str, note: str = "", *, is_command: bool = False) -> bool:
        """Other words for a prompt that still waits; False when it does not, or when they are none."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state is not ReceiptState.QUEUED:
            return False
        changed = _new(prompt_id, text, is_now=prompt.is_now, is_command=is_command, note=note)
        if not changed.text.strip():
            return False
        changed.reason = prompt.reason
        self._all[prompt_id] = changed
        self._write(changed)
        return True

    def cancel(self, prompt_id: str) -> Step | None:
        """Take back a prompt that still waits; None when it does not."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state is not ReceiptState.QUEUED:
            return None
        return self._move(prompt, ReceiptState.REFUSED, "cancelled")

    # ── the way ─────────────────────────────────────────────────────────────────────────────────────────────────

    def due(self) -> float | None:
        return self._due

    def needs_box(self, status: Status) -> bool:
        """Whether the input box decides what happens next: it is not read for every line that a busy program prints."""
        is_calm = status is not Status.WORKING
        restores_itself = self._rule is not None and self._rule.restores_itself
        return (self._draft is not None and (is_calm or restores_itself)) or any(
            is_calm or one.is_now or one.state not in (ReceiptState.QUEUED, ReceiptState.ACCEPTED)
            for one in self._all.values()
            if not one.is_final
        )

    def step(self, now: float, program: Program) -> list[Step]:
        """What is to be done now to bring prompts forward."""
        self._due = None
        open_ones = [prompt for prompt in self._all.values() if not prompt.is_final]
        if program.ended:
            return [self._ended(prompt, program) for prompt in open_ones]
        steps: list[Step] = []
        for prompt in open_ones:
            if prompt.state in _SUBMITTED:
                steps += self._follow(prompt, now, program)
        head = self._head()
        is_sending = head is not None and head.state is not ReceiptState.QUEUED
        unsure = [one for one in open_ones if one.state is ReceiptState.TYPED and not one.is_final]
        if self._draft is not None and not is_sending and not unsure:
            steps += self._bring_back(self._draft, now, program)
        if head is None:
            return steps
        if any(step.key for step in steps):
            # What the box holds now is not known before it has been looked at again.
            self._soon(now + self._settle_seconds)
            return steps + self._reasons()
        if self._draft is not None and not is_sending:
            self._waits(head, RESTORING)
        elif is_sending or not any(self._is_before(one, head, program) for one in unsure):
            steps += self._advance(head, now, program)
        else:
            self._waits(head, FOLLOWED)
        return steps + self._reasons()

    def _head(self) -> _Prompt | None:
        """The next to be submitted."""
        return min((one for one in self._all.values() if one.state in _UNSENT), key=_turn, default=None)

    def _is_before(self, prompt: _Prompt, head: _Prompt, program: Program) -> bool:
        """Whether a submitted prompt has to be seen taken first: its text may still stand in the input box."""
        if prompt.submit_at and self._known(prompt, program) is not None:
            return not prompt.has_left or not (head.is_now or prompt.was_busy)
        return not (head.is_now or prompt.was_busy)

    @staticmethod
    def _waits(prompt: _Prompt, reason: str) -> None:
        if prompt.state is ReceiptState.QUEUED:
            prompt.reason = reason

    def _reasons(self) -> list[Step]:
        """Tell of those that wait for something else than they did before."""
        steps = []
        for prompt in self._all.values():
            if prompt.state is not ReceiptState.QUEUED:
                continue
            if prompt is not self._head():
                prompt.reason = BEHIND
            if prompt.reason != prompt.told:
                prompt.told = prompt.reason
                steps.append(Step(receipt=self.receipt(prompt.id)))
        return steps

    def _advance(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """A prompt that is not submitted yet."""
        if prompt.is_cut:
            self._unclear = program.busy
            return [self._move(prompt, ReceiptState.REFUSED, "its screen server was replaced meanwhile; it may stand there, not submitted")]  # fmt: skip
        if prompt.state is ReceiptState.ASIDE:
            return self._after_aside(prompt, now, program)
        if prompt.state is not ReceiptState.QUEUED:
            return self._submit(prompt, now, program)
        obstacle = self._obstacle(prompt, now, program)
        if obstacle:
            prompt.hindered_at = now if prompt.hindered_at is None else prompt.hindered_at
            # What passes by itself in a moment is not worth a word.
            if obstacle not in (REDRAWS, JUST_CALM) or now >= prompt.hindered_at + MOMENT_SECONDS:
                self._waits(prompt, obstacle)
            return []
        prompt.is_boxless = not program.has_box
        prompt.was_busy = program.status not in _READY and program.status is not Status.UNKNOWN
        known = self._known(prompt, program)
        if known is not None and known[0].state is BoxState.DRAFT:
            return self._set_aside(prompt, *known, now)
        return self._paste(prompt, now)

    def _paste(self, prompt: _Prompt, now: float) -> list[Step]:
        prompt.state = ReceiptState.TYPING
        prompt.reason = ""
        prompt.pasted_at = now
        prompt.submit_at = now + self._settle_seconds + len(prompt.text) / SETTLE_BYTES
        prompt.show_by = prompt.submit_at + SHOW_SECONDS
        # At once, to note that it was written whole: should this server be killed, the next one goes on from there.
        self._soon(now)
        self._write(prompt)
        return [Step(paste=prompt.text)]

    def _submit(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if not prompt.submit_at:
            # Typed before this screen server: what stands on the screen, maybe a dialog, is not known yet.
            prompt.submit_at = now + REDRAW_SECONDS
            prompt.show_by = prompt.submit_at + SHOW_SECONDS
        if program.is_reading and prompt.state is ReceiptState.TYPING:
            prompt.state = ReceiptState.PASTED
            self._write(prompt)
        if not program.is_reading or self._is_ignored(prompt, program):
            # The Enter must not arrive together with the end of the paste.
            prompt.submit_at = max(prompt.submit_at, now + self._settle_seconds)
            prompt.show_by = prompt.submit_at + SHOW_SECONDS
            self._soon(prompt.submit_at)
            return self._unread(prompt, now)
        prompt.read_by, prompt.is_unread = None, False
        self._soon(prompt.submit_at)
        if now < prompt.submit_at:
            return []
        if program.status in _NEVER:
            prompt.show_by = now + SHOW_SECONDS
            return self._hold(prompt)
        if prompt.has_met_dialog and program.status not in _READY:
            return []
        if not self._shows(prompt, program):
            return self._unshown(prompt, now, program)
        prompt.confirm_by, prompt.entered_at = now + self._confirm_seconds, now
        prompt.busy_before, prompt.may_press = program.busy, True
        prompt.error_before = program.text if program.status is Status.ERROR else ""
        self._soon(prompt.confirm_by)
        return [Step(submit=True), self._move(prompt, ReceiptState.TYPED)]

    def _known(self, prompt: _Prompt, program: Program) -> tuple[Box, BoxRule] | None:
        """The input box that a prompt goes into, where it can be read."""
        if self._rule is None or program.box is None or not program.has_box or prompt.is_boxless:
            return None
        return program.box, self._rule

    def _shows(self, prompt: _Prompt, program: Program) -> bool:
        """Whether its box holds its text and nothing else, as far as that can be known."""
        known = self._known(prompt, program)
        return known is None or known[0].shows(prompt.text, known[1])

    def _unshown(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """Its text was typed, and its box shows something else: an Enter would submit that."""
        box = program.box or UNSETTLED
        if now < prompt.show_by or box.state is BoxState.UNSETTLED:
            self._soon(max(now + self._settle_seconds, min(prompt.show_by, now + 1.0)))
            return []
        is_empty = box.state is BoxState.EMPTY
        return [self._move(prompt, ReceiptState.REFUSED, NOT_SHOWN if is_empty else MIXED)]

    def _is_ignored(self, prompt: _Prompt, program: Program) -> bool:
        """Whether its text may still be unread: its box is empty, and the program has drawn nothing since the paste."""
        known = self._known(prompt, program)
        is_empty = known is not None and known[0].state is BoxState.EMPTY
        return is_empty and program.last_output <= prompt.pasted_at

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
            return self._draft is not None or any(
                one.state is ReceiptState.TYPED and one.may_press for one in self._all.values()
            )
        if head.state is not ReceiptState.QUEUED:
            return now >= head.submit_at
        return head.is_now or status in _READY

    # ── drafts ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _set_aside(self, prompt: _Prompt, box: Box, rule: BoxRule, now: float) -> list[Step]:
        self._draft = _Draft(prompt, box.text)
        prompt.draft, prompt.state, prompt.reason = box.text, ReceiptState.ASIDE, ""
        prompt.show_by, prompt.aside_at = now + ASIDE_SECONDS, now
        self._soon(now + self._settle_seconds)
        self._write(prompt)
        return [self._empty(rule.set_aside, box, now)]

    def _empty(self, key: str, box: Box, now: float) -> Step:
        self._emptied = now, box.text
        return Step(key=key)

    def _may_empty(self, box: Box, now: float) -> bool:
        """Whether the key that empties a box cannot meet an empty one: the last one has done what it does."""
        if self._emptied is None:
            return True
        at, text = self._emptied
        return now >= at + (STUCK_SECONDS if box.text == text else AGAIN_SECONDS)

    def _after_aside(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """The key that empties the box was pressed; the prompt follows once it is seen to be empty."""
        box = program.box
        if box is not None and box.state is BoxState.EMPTY and program.status not in _NEVER:
            return self._paste(prompt, now)
        if now < prompt.show_by:
            self._soon(min(prompt.show_by, now + self._settle_seconds))
            return []
        # The key did nothing, or its effect is very late.
        self._draft = None
        prompt.state, prompt.has_kept_draft = ReceiptState.QUEUED, True
        self._write(prompt)
        self._waits(prompt, NOT_ASIDE)
        return []

    def _notice_late_aside(self, prompt: _Prompt, program: Program) -> None:
        """A box that is empty at last, though no person has typed there: the draft was set aside after all."""
        was_kept, prompt.has_kept_draft = prompt.has_kept_draft, False
        if was_kept and prompt.draft is not None and program.last_key < prompt.aside_at:
            self._draft = _Draft(prompt, prompt.draft)
        elif was_kept:
            prompt.draft = None

    def _bring_back(self, draft: _Draft, now: float, program: Program) -> list[Step]:
        """Press the key that brings a draft back until the box shows it."""
        rule, box = self._rule, program.box
        if rule is None or box is None:
            return self._forget_draft(draft, "")
        if draft.next_at is None:
            wait = RESTORES_ITSELF_SECONDS if rule.restores_itself else RESTORE_SECONDS
            draft.next_at = now + wait
        if box.state is BoxState.DRAFT and _same(box.text, draft.text):
            return self._forget_draft(draft, "")
        hands_off = program.last_key + HANDS_OFF_SECONDS
        is_free = program.status in _READY or (program.status is Status.WORKING and rule.restores_itself)
        if (
            now < draft.next_at
            or now < hands_off
            or not is_free
            or box.state in (BoxState.NONE, BoxState.UNSETTLED)
        ):
            if is_free:
                self._soon(max(draft.next_at, hands_off, now + self._settle_seconds))
            return []
        if box.state is BoxState.DRAFT and not draft.presses:
            # The user has written something else there meanwhile.
            return self._forget_draft(draft, DRAFT_LOST)
        has_effect = draft.pressed_on is None or box != draft.pressed_on
        if not has_effect and now < draft.next_at + EFFECT_SECONDS:
            self._soon(now + self._settle_seconds)
            return []
        if draft.presses >= RESTORE_PRESSES or not has_effect or box.state is BoxState.MODE:
            is_ours = box.state is BoxState.DRAFT and program.last_key < draft.next_at - RESTORE_SECONDS
            may_empty = is_ours and bool(rule.clear) and self._may_empty(box, now)
            emptied = [self._empty(rule.clear, box, now)] if may_empty else []
            return [*emptied, *self._forget_draft(draft, DRAFT_LOST)]
        draft.presses += 1
        draft.pressed_on, draft.next_at = box, now + RESTORE_SECONDS
        self._soon(draft.next_at)
        return [Step(key=rule.restore)]

    def _forget_draft(self, draft: _Draft, problem: str) -> list[Step]:
        prompt, self._draft = draft.prompt, None
        prompt.draft = None
        if problem:
            words = " ".join(draft.text.split())
            prompt.note = "; ".join(filter(None, (prompt.note, f"{problem}: {words[:200]}")))
        self._write(prompt)
        is_told = problem and prompt.state not in _UNSENT
        return [Step(receipt=self.receipt(prompt.id))] if is_told else []

    # ── what became of it ───────────────────────────────────────────────────────────────────────────────────────

    def _follow(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        """A prompt that was submitted: was it taken, how did its turn end?"""
        steps: list[Step] = []
        if prompt.state is ReceiptState.TYPED:
            steps = self._confirm(prompt, now, program)
        if prompt.state is ReceiptState.ACCEPTED and program.busy > prompt.busy_before:
            end = self._end_of_turn(prompt, program)
            if end is not None and self._is_believed(now, program) and self._is_worded(prompt, end, now):
                steps.append(self._move(prompt, *end))
        return steps

    def _is_worded(self, prompt: _Prompt, end: tuple[ReceiptState, str], now: float) -> bool:
        """A program may report an error before its screen says which; what it showed before may only be still there."""
        state, reason = end
        if state is not ReceiptState.FAILED or reason not in ("", prompt.error_before):
            prompt.ended_at = None
            return True
        prompt.ended_at = now if prompt.ended_at is None else prompt.ended_at
        self._soon(prompt.ended_at + WORDS_SECONDS)
        return now >= prompt.ended_at + WORDS_SECONDS

    def _end_of_turn(self, prompt: _Prompt, program: Program) -> tuple[ReceiptState, str] | None:
        """How the program's turn has ended; None while it goes on."""
        status = program.status
        if status is Status.BLOCKED and program.detail == LOGIN:
            return ReceiptState.FAILED, program.text or NOT_LOGGED_IN
        if status not in _READY and not (status is Status.BLOCKED and program.detail == MENU):
            return None
        if status is Status.ERROR:
            return ReceiptState.FAILED, program.text
        knows_box = self._known(prompt, program) is not None
        is_back = knows_box and prompt.has_left and self._shows(prompt, program)
        if program.was_interrupted or is_back:
            return ReceiptState.INTERRUPTED, ""
        return ReceiptState.ANSWERED, ""

    def _is_believed(self, now: float, program: Program) -> bool:
        """Whether a program that seems calm can be taken at that."""
        if now < program.calm_at:
            self._soon(program.calm_at)
        return now >= program.calm_at

    def _confirm(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if prompt.is_leaving:
            return self._taken_out(prompt, now, program)
        self._watch_leave(prompt, program)
        known = self._known(prompt, program) if prompt.submit_at else None
        if prompt.was_busy and known is None:
            # Only the program's own word can tell (`taken`); once it is calm, none will come.
            return [self._move(prompt, ReceiptState.TYPED, UNKNOWABLE)] if program.status in _READY else []
        if prompt.was_busy and prompt.has_left:
            # It is a part of the work that goes on.
            prompt.busy_before = program.busy - 1
            return [self._move(prompt, ReceiptState.ACCEPTED)]
        if program.busy > prompt.busy_before and not prompt.was_busy:
            prompt.has_left = True
            return [self._move(prompt, ReceiptState.ACCEPTED)]
        if prompt.confirm_by is None:
            if program.status not in _READY:
                return []
            prompt.confirm_by = now + GIVEN_SECONDS
        if prompt.has_left and prompt.may_press:
            prompt.may_press = False
            prompt.confirm_by = now + (self._confirm_seconds if prompt.is_command else BEGIN_SECONDS)
        if now < prompt.confirm_by:
            self._soon(min(prompt.confirm_by, now + 1.0))
            return []
        return self._unconfirmed(prompt, now, program)

    def _watch_leave(self, prompt: _Prompt, program: Program) -> None:
        """Note when its text is no longer in the box: the program has taken it. A menu may only hide it."""
        known = self._known(prompt, program)
        if prompt.submit_at and known is not None:
            box, rule = known
            is_elsewhere = box.state is BoxState.DRAFT and not box.has_part(prompt.text, rule)
            is_run = prompt.is_command and box.state in (BoxState.NONE, BoxState.MODE)
            prompt.has_left = prompt.has_left or box.state is BoxState.EMPTY or is_elsewhere or is_run

    def _unconfirmed(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        if prompt.has_left and prompt.submit_at:
            is_done = prompt.is_command
            return [
                self._move(
                    prompt, *((ReceiptState.ANSWERED, "") if is_done else (ReceiptState.UNKNOWN, NO_TURN))
                )
            ]
        known = self._known(prompt, program) if prompt.submit_at else None
        is_open = program.status in _READY or (known is not None and program.status not in _NEVER)
        # The menu that a command opens may only be late.
        is_sure = not prompt.is_command or program.last_output > prompt.entered_at
        if prompt.may_press and program.speaks and is_open and is_sure and self._shows(prompt, program):
            prompt.may_press = False
            prompt.confirm_by, prompt.entered_at = now + self._confirm_seconds, now
            self._soon(prompt.confirm_by)
            return [Step(submit=True)]
        if known is not None:
            return self._take_out(prompt, *known, now, program)
        was_pressed = program.speaks and prompt.submit_at > 0
        return [
            self._move(prompt, ReceiptState.REFUSED, UNCONFIRMED)
            if was_pressed
            else self._move(prompt, ReceiptState.TYPED, UNKNOWABLE)
        ]

    def _take_out(self, prompt: _Prompt, box: Box, rule: BoxRule, now: float, program: Program) -> list[Step]:
        """The program leaves it where it is: it must not be glued to what is typed next."""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        is_mixed = box.state is BoxState.DRAFT and not box.shows(prompt.text, rule)
        if is_mixed:
            return [self._move(prompt, ReceiptState.REFUSED, MIXED)]
        if now < hands_off or program.status in _NEVER or not self._shows(prompt, program):
            if program.status not in _NEVER:
                self._soon(max(hands_off, now + 1.0))
            return []
        # One that has drawn nothing since may be about to take it: the key would meet an empty box, and end the program.
        is_stuck = program.last_output <= prompt.entered_at
        if is_stuck and now < prompt.entered_at + STUCK_SECONDS:
            self._soon(now + 1.0)
            return []
        if not rule.clear or is_stuck:
            return [self._move(prompt, ReceiptState.REFUSED, LEFT_THERE)]
        if not self._may_empty(box, now):
            self._soon(now + 1.0)
            return []
        prompt.is_leaving = True
        prompt.show_by = now + ASIDE_SECONDS
        self._soon(now + self._settle_seconds)
        return [self._empty(rule.clear, box, now)]

    def _taken_out(self, prompt: _Prompt, now: float, program: Program) -> list[Step]:
        is_settled = program.box is not None and program.box.state is not BoxState.UNSETTLED
        if is_settled and not self._shows(prompt, program):
            return [self._move(prompt, ReceiptState.REFUSED, NOT_TAKEN)]
        if now >= prompt.show_by:
            return [self._move(prompt, ReceiptState.REFUSED, LEFT_THERE)]
        self._soon(min(prompt.show_by, now + self._settle_seconds))
        return []

    def taken(self, text: str) -> list[Step]:
        """The program has said itself which prompt it has taken."""
        words = " ".join(text.split())
        for prompt in self._all.values():
            # A program that was slow may take one that had been given up.
            is_open = (
                prompt.state is ReceiptState.TYPED and not prompt.is_final
            ) or prompt.reason in _TOO_EARLY
            if is_open and " ".join(prompt.text.split()) == words:
                prompt.was_busy, prompt.is_leaving, prompt.has_left = False, False, True
                return [self._move(prompt, ReceiptState.ACCEPTED)]
        return []

    def refuse(self, prompt_text: str, reason: str) -> Step:
        """Give up on the prompt that is being typed."""
        prompt = next(
            one for one in self._all.values() if one.state is ReceiptState.TYPING and one.text == prompt_text
        )
        return self._move(prompt, ReceiptState.REFUSED, reason)

    def _ended(self, prompt: _Prompt, program: Program) -> Step:
        """What was submitted may have been taken; what was not is refused."""
        if prompt.state not in _SUBMITTED:
            return self._move(prompt, ReceiptState.REFUSED, program.ended)
        has_begun = prompt.state is ReceiptState.ACCEPTED and program.busy > prompt.busy_before
        end = self._end_of_turn(prompt, program) if has_begun else None
        return self._move(prompt, *(end or (ReceiptState.UNKNOWN, program.ended)))

    # ── what it waits for ───────────────────────────────────────────────────────────────────────────────────────

    def _obstacle(self, prompt: _Prompt, now: float, program: Program) -> str:
        """What keeps a prompt from being typed now; empty when nothing does."""
        status = program.status
        if status in _NEVER:
            asks = {MENU: IN_MENU, LOGIN: LOGGED_OUT}.get(program.detail, ASKS)
            return SETTING_UP if status is Status.SETUP else asks
        if status is Status.STARTING and program.speaks:
            return IS_STARTING
        # Where the box can be read, what is left there is seen as a draft.
        is_unclear = self._unclear is not None and program.busy <= self._unclear and program.box is None
        if is_unclear and not prompt.is_now:
            return HALF_TYPED
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if now < hands_off and not prompt.is_now:
            self._soon(hands_off)
            return HANDS_ON
        if not prompt.is_now:
            if status not in _READY:
                return _BUSY_WITH.get(status, IS_WORKING)
            if not self._is_believed(now, program):
                return JUST_CALM
        if program.box is None or self._rule is None:
            return ""
        return self._box_obstacle(prompt, now, program, program.box, self._rule)

    def _box_obstacle(self, prompt: _Prompt, now: float, program: Program, box: Box, rule: BoxRule) -> str:
        if box.state is BoxState.UNSETTLED:
            self._soon(now + self._settle_seconds)
            return REDRAWS
        if not program.has_box:
            return "" if prompt.is_now else BOX_UNSEEN
        if box.state is BoxState.NONE:
            return BOX_GONE
        if box.state is BoxState.MODE:
            return OTHER_MODE
        if box.state is BoxState.EMPTY:
            self._notice_late_aside(prompt, program)
            return ""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if now < hands_off:
            self._soon(hands_off)
            return HANDS_ON
        if prompt.has_kept_draft:
            return NOT_ASIDE
        if not self._may_empty(box, now):
            self._soon(now + 1.0)
            return REDRAWS
        return "" if program.may_set_aside and box.can_be_set_aside(rule) else HAS_DRAFT

    def _soon(self, moment: float) -> None:
        self._due = moment if self._due is None else min(self._due, moment)

    # ── the record ──────────────────────────────────────────────────────────────────────────────────────────────

    def _move(self, prompt: _Prompt, state: ReceiptState, reason: str = "") -> Step:
        prompt.state, prompt.reason = state, reason
        self._write(prompt)
        return Step(receipt=self.receipt(prompt.id))

    def _write(self, prompt: _Prompt) -> None:
        record: dict[str, Any] = {
            "id": prompt.id,
            "text": prompt.text,
            "now": prompt.is_now,
            "note": prompt.note,
            "state": str(prompt.state),
            "reason": "" if prompt.state is ReceiptState.QUEUED else prompt.reason,
        }
        record |= {"command": True} if prompt.is_command else {}
        record |= {"draft": prompt.draft} if prompt.draft is not None else {}
        line = json.dumps(record)
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


_BUSY_WITH = {
    Status.STARTING: IS_STARTING,
    Status.LIMITED: IS_LIMITED,
    Status.UNKNOWN: SAYS_NOTHING,
}


def _same(one: str, other: str) -> bool:
    return "".join(one.split()) == "".join(other.split())
