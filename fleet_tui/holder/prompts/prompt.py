"""A prompt and its state, the program it goes to as it appears now, and the steps that deliver it."""

from __future__ import annotations

import re
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder.prompts.reasons import HELD, UNREAD
from fleet_tui.models import FINAL_STATES, ReceiptState, Status
from fleet_tui.programs.input_box import Box

HANDS_OFF_SECONDS = 3.0
"""Nothing is typed this soon after a person has pressed a key there."""

UNSENT = frozenset({ReceiptState.QUEUED, ReceiptState.ASIDE, ReceiptState.TYPING, ReceiptState.PASTED})
SUBMITTED = frozenset({ReceiptState.TYPED, ReceiptState.ACCEPTED})
READY = frozenset({Status.IDLE, Status.DONE, Status.ERROR})
"""Statuses in which a program takes a prompt."""
NEVER = frozenset({Status.SETUP, Status.BLOCKED})
"""Statuses in which nothing may be typed, not even with --now."""
MENU, LOGIN = "menu", "login"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(slots=True)
class Prompt:
    """One prompt and how far it has got."""

    id: str
    text: str
    is_now: bool
    """Type it even while the program works."""
    note: str = ""
    """What was changed in the text."""
    state: ReceiptState = ReceiptState.QUEUED
    reason: str = ""
    is_command: bool = False
    """It is a command of the program, which may begin no turn."""
    draft: str | None = None
    """What the input box held before; None when there is nothing to restore."""
    is_cut: bool = False
    """The screen server died while it was being typed."""
    submit_at: float = 0.0
    """When to press Enter; 0 while it was not typed by this screen server."""
    show_by: float = 0.0
    """Deadline for the input box to show its text."""
    pasted_at: float = 0.0
    """When its text was typed."""
    entered_at: float = 0.0
    """When Enter was pressed last."""
    aside_at: float = 0.0
    """When the key that sets a draft aside was pressed."""
    confirm_by: float | None = None
    """Deadline for a sign that it was taken; None before the program could give one."""
    busy_before: int = 0
    """How often the program had become busy when it was submitted."""
    may_press: bool = False
    """Enter may be pressed once more: it was typed here, and nothing has happened since."""
    has_met_dialog: bool = False
    """A dialog came up between its text and its Enter."""
    read_by: float | None = None
    """Deadline for the program to read its text; None when all of it has been read."""
    is_unread: bool = False
    """That deadline has passed and was reported."""
    was_busy: bool = False
    """It was typed while the program worked, so becoming busy says nothing about it."""
    is_boxless: bool = False
    """It was typed with --now although the input box was not recognized."""
    has_left: bool = False
    """Its text was seen to leave the input box."""
    is_leaving: bool = False
    """Its text is being removed from the input box."""
    has_kept_draft: bool = False
    """A draft could not be set aside for it."""
    error_before: str = ""
    """The error of the turn before it."""
    ended_at: float | None = None
    """Since when its turn is known to have failed."""
    obstacle_since: float | None = None
    """Since when something has delayed it."""
    reported_reason: str = ""
    """The reason for waiting that was reported last."""

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES or (self.state is ReceiptState.TYPED and bool(self.reason))

    def receipt(self) -> dict[str, Any]:
        """The receipt as clients see it: steps within typing are not told apart."""
        state, reason = self.state, self.reason
        if state in (ReceiptState.ASIDE, ReceiptState.PASTED):
            state = ReceiptState.TYPING
        if state is ReceiptState.TYPING and self.has_met_dialog:
            state, reason = ReceiptState.QUEUED, HELD
        elif state is ReceiptState.TYPING and self.is_unread:
            state, reason = ReceiptState.QUEUED, UNREAD
        return {"prompt": self.id, "state": str(state), "reason": reason, "note": self.note}

    def wait_for(self, reason: str) -> None:
        """Set what a queued prompt waits for."""
        if self.state is ReceiptState.QUEUED:
            self.reason = reason


def new_prompt(
    prompt_id: str, text: str, *, is_now: bool, is_command: bool = False, note: str = ""
) -> Prompt:
    """A prompt without control characters in its text: each of them would be a key press."""
    text, count = _CONTROL.subn("", text.replace("\r\n", "\n").replace("\r", "\n"))
    notes = [f"control characters left out: {count}" if count else "", note]
    return Prompt(prompt_id, text, is_now, "; ".join(filter(None, notes)), is_command=is_command)


@dataclass(frozen=True, slots=True)
class ProgramState:
    """What decides whether a prompt may be typed, and what became of it."""

    status: Status
    """As for prompts: an error or a limit that has ended the turn is an error, one that is being retried is not."""
    detail: str = ""
    """For blocked: by what."""
    text: str = ""
    """Text beside the status, such as an error message."""
    ended: str = ""
    """How it has ended; empty while it runs."""
    busy: int = 0
    """How often it has become busy."""
    speaks: bool = True
    """Something other than its output shows what it does."""
    is_reading: bool = True
    """It has read everything typed so far."""
    last_key: float = -HANDS_OFF_SECONDS
    """When a person last pressed a key there."""
    last_output: float = 0.0
    calm_at: float = 0.0
    """Before this time it may have begun something that its status does not show yet."""
    was_interrupted: bool = False
    """Its last turn was interrupted."""
    box: Box | None = None
    """Its input box; None where the profile does not describe one."""
    has_box: bool = True
    """Its input box has been recognized in this run."""
    may_set_aside: bool = True
    """Setting a draft aside now would lose nothing."""


@dataclass(frozen=True, slots=True)
class PromptStep:
    """One thing to do for a prompt: type, press a key, or send a receipt."""

    paste: str = ""
    submit: bool = False
    key: str = ""
    """A key to press, as a profile names it."""
    receipt: dict[str, Any] | None = None


class Alarm:
    """The earliest time at which to look again although nothing has happened."""

    def __init__(self) -> None:
        self.at: float | None = None

    def clear(self) -> None:
        self.at = None

    def set(self, moment: float) -> None:
        self.at = moment if self.at is None else min(self.at, moment)
