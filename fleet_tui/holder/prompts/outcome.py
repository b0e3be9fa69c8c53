"""Outcome of a submitted prompt: was it taken, did it have to be removed again, and how did its turn end."""

from __future__ import annotations

from fleet_tui.holder.prompts.box_access import STUCK_SECONDS, BoxAccess
from fleet_tui.holder.prompts.drafts import ASIDE_SECONDS
from fleet_tui.holder.prompts.prompt import (
    HANDS_OFF_SECONDS,
    LOGIN,
    MENU,
    NEVER,
    READY,
    SUBMITTED,
    Alarm,
    ProgramState,
    Prompt,
    PromptStep,
)
from fleet_tui.holder.prompts.reasons import (
    LEFT_THERE,
    MIXED,
    NO_TURN,
    NOT_LOGGED_IN,
    NOT_TAKEN,
    UNCONFIRMED,
    UNKNOWABLE,
)
from fleet_tui.holder.prompts.record import PromptRecord
from fleet_tui.models import ReceiptState, Status
from fleet_tui.programs.input_box import Box, BoxRule, BoxState

GIVEN_SECONDS = 5.0
"""How long an idle program may leave a prompt from its command line before its receipt becomes unknown."""
BEGIN_SECONDS = 5.0
"""How long a program may take to begin a turn after the text has left its input box."""
WORDS_SECONDS = 2.0
"""How long a program may take to show the error after it reported that its turn has failed."""


class Outcome:
    def __init__(
        self, record: PromptRecord, box: BoxAccess, alarm: Alarm, settle: float, confirm: float
    ) -> None:
        self._record = record
        self._box = box
        self._alarm = alarm
        self._settle_seconds, self._confirm_seconds = settle, confirm

    def follow(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        """Look for signs that a submitted prompt was taken, and that its turn has ended."""
        steps: list[PromptStep] = []
        if prompt.state is ReceiptState.TYPED:
            steps = self._confirm(prompt, now, program)
        if prompt.state is ReceiptState.ACCEPTED and program.busy > prompt.busy_before:
            end = self._end_of_turn(prompt, program)
            if end is not None and self._is_calm(now, program) and self._has_reason(prompt, end, now):
                steps.append(self._record.move(prompt, *end))
        return steps

    def accepted(self, prompt: Prompt) -> PromptStep:
        """The program itself has reported that it took this prompt."""
        prompt.was_busy, prompt.is_leaving, prompt.has_left = False, False, True
        return self._record.move(prompt, ReceiptState.ACCEPTED)

    def program_ended(self, prompt: Prompt, program: ProgramState) -> PromptStep:
        """Close a receipt: a submitted prompt may have been taken, any other is refused."""
        if prompt.state not in SUBMITTED:
            return self._record.move(prompt, ReceiptState.REFUSED, program.ended)
        has_begun = prompt.state is ReceiptState.ACCEPTED and program.busy > prompt.busy_before
        end = self._end_of_turn(prompt, program) if has_begun else None
        return self._record.move(prompt, *(end or (ReceiptState.UNKNOWN, program.ended)))

    # ── its turn ────────────────────────────────────────────────────────────────────────────────────────────────

    def _end_of_turn(self, prompt: Prompt, program: ProgramState) -> tuple[ReceiptState, str] | None:
        """How the turn has ended; None while it goes on."""
        status = program.status
        if status is Status.BLOCKED and program.detail == LOGIN:
            return ReceiptState.FAILED, program.text or NOT_LOGGED_IN
        if status not in READY and not (status is Status.BLOCKED and program.detail == MENU):
            return None
        if status is Status.ERROR:
            return ReceiptState.FAILED, program.text
        knows_box = self._box.known(prompt, program) is not None
        is_back = knows_box and prompt.has_left and self._box.shows(prompt, program)
        if program.was_interrupted or is_back:
            return ReceiptState.INTERRUPTED, ""
        return ReceiptState.ANSWERED, ""

    def _has_reason(self, prompt: Prompt, end: tuple[ReceiptState, str], now: float) -> bool:
        """Wait for the error's words: a program may report an error while its screen still shows the one before."""
        state, reason = end
        if state is not ReceiptState.FAILED or reason not in ("", prompt.error_before):
            prompt.ended_at = None
            return True
        prompt.ended_at = now if prompt.ended_at is None else prompt.ended_at
        self._alarm.set(prompt.ended_at + WORDS_SECONDS)
        return now >= prompt.ended_at + WORDS_SECONDS

    def _is_calm(self, now: float, program: ProgramState) -> bool:
        """Whether a program that appears idle can be believed by now."""
        if now < program.calm_at:
            self._alarm.set(program.calm_at)
        return now >= program.calm_at

    # ── was it taken? ───────────────────────────────────────────────────────────────────────────────────────────

    def _confirm(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        if prompt.is_leaving:
            return self._removed(prompt, now, program)
        self._watch_text_leave(prompt, program)
        known = self._box.known(prompt, program) if prompt.submit_at else None
        if prompt.was_busy and known is None:
            # Only the program's own report can tell; once it is idle, none will come.
            is_idle = program.status in READY
            return [self._record.move(prompt, ReceiptState.TYPED, UNKNOWABLE)] if is_idle else []
        if prompt.was_busy and prompt.has_left:
            # It is a part of the work that goes on.
            prompt.busy_before = program.busy - 1
            return [self._record.move(prompt, ReceiptState.ACCEPTED)]
        if program.busy > prompt.busy_before and not prompt.was_busy:
            prompt.has_left = True
            return [self._record.move(prompt, ReceiptState.ACCEPTED)]
        if prompt.confirm_by is None:
            if program.status not in READY:
                return []
            prompt.confirm_by = now + GIVEN_SECONDS
        if prompt.has_left and prompt.may_press:
            prompt.may_press = False
            prompt.confirm_by = now + (self._confirm_seconds if prompt.is_command else BEGIN_SECONDS)
        if now < prompt.confirm_by:
            self._alarm.set(min(prompt.confirm_by, now + 1.0))
            return []
        return self._unconfirmed(prompt, now, program)

    def _watch_text_leave(self, prompt: Prompt, program: ProgramState) -> None:
        """Note when its text has left the box: the program has taken it. A menu may merely cover it."""
        known = self._box.known(prompt, program)
        if prompt.submit_at and known is not None:
            box, rule = known
            is_elsewhere = box.state is BoxState.DRAFT and not box.has_part(prompt.text, rule)
            is_run = prompt.is_command and box.state in (BoxState.NONE, BoxState.MODE)
            prompt.has_left = prompt.has_left or box.state is BoxState.EMPTY or is_elsewhere or is_run

    def _unconfirmed(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        """Press Enter once more, remove the text, or give up."""
        if prompt.has_left and prompt.submit_at:
            end = (ReceiptState.ANSWERED, "") if prompt.is_command else (ReceiptState.UNKNOWN, NO_TURN)
            return [self._record.move(prompt, *end)]
        known = self._box.known(prompt, program) if prompt.submit_at else None
        is_open = program.status in READY or (known is not None and program.status not in NEVER)
        # The menu that a command opens may only be late.
        is_sure = not prompt.is_command or program.last_output > prompt.entered_at
        if prompt.may_press and program.speaks and is_open and is_sure and self._box.shows(prompt, program):
            prompt.may_press = False
            prompt.confirm_by, prompt.entered_at = now + self._confirm_seconds, now
            self._alarm.set(prompt.confirm_by)
            return [PromptStep(submit=True)]
        if known is not None:
            return self._remove(prompt, *known, now, program)
        if program.speaks and prompt.submit_at > 0:
            return [self._record.move(prompt, ReceiptState.REFUSED, UNCONFIRMED)]
        return [self._record.move(prompt, ReceiptState.TYPED, UNKNOWABLE)]

    # ── remove it again ─────────────────────────────────────────────────────────────────────────────────────────

    def _remove(
        self, prompt: Prompt, box: Box, rule: BoxRule, now: float, program: ProgramState
    ) -> list[PromptStep]:
        """Remove text that the program does not take, so that the next prompt is not appended to it."""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if box.state is BoxState.DRAFT and not box.shows(prompt.text, rule):
            return [self._record.move(prompt, ReceiptState.REFUSED, MIXED)]
        if now < hands_off or program.status in NEVER or not self._box.shows(prompt, program):
            if program.status not in NEVER:
                self._alarm.set(max(hands_off, now + 1.0))
            return []
        # One that has drawn nothing since may be about to take it: the key would meet an empty box and end the program.
        is_stuck = program.last_output <= prompt.entered_at
        if is_stuck and now < prompt.entered_at + STUCK_SECONDS:
            self._alarm.set(now + 1.0)
            return []
        if not rule.clear or is_stuck:
            return [self._record.move(prompt, ReceiptState.REFUSED, LEFT_THERE)]
        if not self._box.may_empty(box, now):
            self._alarm.set(now + 1.0)
            return []
        prompt.is_leaving = True
        prompt.show_by = now + ASIDE_SECONDS
        self._alarm.set(now + self._settle_seconds)
        return [self._box.empty(rule.clear, box, now)]

    def _removed(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        is_settled = program.box is not None and program.box.state is not BoxState.UNSETTLED
        if is_settled and not self._box.shows(prompt, program):
            return [self._record.move(prompt, ReceiptState.REFUSED, NOT_TAKEN)]
        if now >= prompt.show_by:
            return [self._record.move(prompt, ReceiptState.REFUSED, LEFT_THERE)]
        self._alarm.set(min(prompt.show_by, now + self._settle_seconds))
        return []
