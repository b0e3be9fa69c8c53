"""The queue of prompts for one run: order, receipts, and which prompt may advance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fleet_tui.holder.prompts.box_access import BoxAccess
from fleet_tui.holder.prompts.delivery import Delivery
from fleet_tui.holder.prompts.drafts import Drafts
from fleet_tui.holder.prompts.obstacles import Obstacles
from fleet_tui.holder.prompts.outcome import Outcome
from fleet_tui.holder.prompts.prompt import (
    READY,
    SUBMITTED,
    UNSENT,
    Alarm,
    ProgramState,
    Prompt,
    PromptStep,
    new_prompt,
)
from fleet_tui.holder.prompts.reasons import BEHIND, EMPTY_TEXT, FOLLOWED, RESTORING, TOO_EARLY
from fleet_tui.holder.prompts.record import PromptRecord
from fleet_tui.models import CANCELLED, ReceiptState, Status
from fleet_tui.programs.input_box import BoxRule

SETTLE_SECONDS = 0.2
"""Between paste and Enter: an Enter that arrives with the paste counts as part of it."""
CONFIRM_SECONDS = 2.0
"""How long a program may take to show that it took a prompt before Enter is pressed once more."""


class PromptQueue:
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
        self._settle_seconds = settle
        self._alarm = Alarm()
        self._record = PromptRecord(folder)
        self._box = BoxAccess(box)
        self._drafts = Drafts(self._record, self._box, self._alarm, settle)
        self._delivery = Delivery(
            self._record,
            self._box,
            self._drafts,
            Obstacles(self._box, self._drafts, self._alarm, settle),
            self._alarm,
            settle,
            confirm,
        )
        self._outcome = Outcome(self._record, self._box, self._alarm, settle, confirm)
        self._all = self._record.read()
        for prompt in self._all.values():
            self._drafts.recall(prompt)
        if first and first_id not in self._all:
            self.add(first_id, first, is_now=False)
            if is_given:
                # It is on the command line: what remains to be seen is whether it is taken.
                self._record.move(self._all[first_id], ReceiptState.TYPED)

    # ── the queue ───────────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self, prompt_id: str, text: str, *, is_now: bool, is_command: bool = False, note: str = ""
    ) -> dict[str, Any]:
        """Queue a prompt and return its receipt; a known id is not queued again."""
        if prompt_id not in self._all:
            prompt = new_prompt(prompt_id, text, is_now=is_now, is_command=is_command, note=note)
            self._all[prompt_id] = prompt
            if not prompt.text.strip():
                prompt.state, prompt.reason = ReceiptState.REFUSED, EMPTY_TEXT
            self._record.write(prompt)
        return self.receipt(prompt_id)

    def receipt(self, prompt_id: str) -> dict[str, Any]:
        return self._all[prompt_id].receipt()

    def receipt_of(self, prompt_id: str) -> dict[str, Any] | None:
        return self.receipt(prompt_id) if prompt_id in self._all else None

    def receipts(self) -> list[dict[str, Any]]:
        """All receipts except of prompts being typed, which are reported once that is done."""
        return [
            one.receipt()
            for one in self._all.values()
            if one.state is ReceiptState.QUEUED or one.state not in UNSENT
        ]

    def waiting(self) -> list[dict[str, Any]]:
        """The queued prompts in order."""
        queued = [prompt for prompt in self._all.values() if prompt.state is ReceiptState.QUEUED]
        return [
            {
                "prompt": prompt.id,
                "text": prompt.text,
                "now": prompt.is_now,
                "reason": prompt.reason,
                "command": prompt.is_command,
            }
            for prompt in sorted(queued, key=_rank)
        ]

    def change(self, prompt_id: str, text: str, note: str = "", *, is_command: bool = False) -> bool:
        """Replace the text of a queued prompt; False when it is not queued or the text is empty."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state is not ReceiptState.QUEUED:
            return False
        changed = new_prompt(prompt_id, text, is_now=prompt.is_now, is_command=is_command, note=note)
        if not changed.text.strip():
            return False
        changed.reason = prompt.reason
        self._all[prompt_id] = changed
        self._record.write(changed)
        return True

    def cancel(self, prompt_id: str) -> PromptStep | None:
        """Remove a prompt from the queue; None when it is not queued."""
        prompt = self._all.get(prompt_id)
        if prompt is None or prompt.state is not ReceiptState.QUEUED:
            return None
        return self._record.move(prompt, ReceiptState.REFUSED, CANCELLED)

    # ── delivery ────────────────────────────────────────────────────────────────────────────────────────────────

    def due(self) -> float | None:
        return self._alarm.at

    def needs_box(self, status: Status) -> bool:
        """Whether the input box decides what happens next; it is not read for each line a busy program prints."""
        is_calm = status is not Status.WORKING
        restores_itself = self._box.rule is not None and self._box.rule.restores_itself
        return (self._drafts.current is not None and (is_calm or restores_itself)) or any(
            is_calm or one.is_now or one.state not in (ReceiptState.QUEUED, ReceiptState.ACCEPTED)
            for one in self._all.values()
            if not one.is_final
        )

    def would_type(self, now: float, status: Status) -> bool:
        """Whether something is about to be typed, if the program is in this status."""
        head = self._head()
        if head is None:
            return self._drafts.current is not None or any(
                one.state is ReceiptState.TYPED and one.may_press for one in self._all.values()
            )
        if head.state is not ReceiptState.QUEUED:
            return now >= head.submit_at
        return head.is_now or status in READY

    def step(self, now: float, program: ProgramState) -> list[PromptStep]:
        """Decide what to do now to advance the prompts."""
        self._alarm.clear()
        open_ones = [prompt for prompt in self._all.values() if not prompt.is_final]
        if program.ended:
            return [self._outcome.program_ended(prompt, program) for prompt in open_ones]
        steps: list[PromptStep] = []
        for prompt in open_ones:
            if prompt.state in SUBMITTED:
                steps += self._outcome.follow(prompt, now, program)
        head = self._head()
        is_sending = head is not None and head.state is not ReceiptState.QUEUED
        unsure = [one for one in open_ones if one.state is ReceiptState.TYPED and not one.is_final]
        if self._drafts.current is not None and not is_sending and not unsure:
            steps += self._drafts.restore(self._drafts.current, now, program)
        if head is None:
            return steps
        if any(step.key for step in steps):
            # What the box holds now is only known after the next look at it.
            self._alarm.set(now + self._settle_seconds)
            return steps + self._reasons()
        if self._drafts.current is not None and not is_sending:
            head.wait_for(RESTORING)
        elif is_sending or not any(self._is_before(one, head, program) for one in unsure):
            steps += self._delivery.advance(head, now, program)
        else:
            head.wait_for(FOLLOWED)
        return steps + self._reasons()

    def taken(self, text: str) -> list[PromptStep]:
        """The program has reported the text of a prompt that it took."""
        words = " ".join(text.split())
        for prompt in self._all.values():
            # A slow program may take one that was given up.
            is_typed = prompt.state is ReceiptState.TYPED and not prompt.is_final
            is_open = is_typed or prompt.reason in TOO_EARLY
            if is_open and " ".join(prompt.text.split()) == words:
                return [self._outcome.accepted(prompt)]
        return []

    def refuse(self, prompt_text: str, reason: str) -> PromptStep:
        """Give up on the prompt that is being typed."""
        prompt = next(
            one for one in self._all.values() if one.state is ReceiptState.TYPING and one.text == prompt_text
        )
        return self._record.move(prompt, ReceiptState.REFUSED, reason)

    def _head(self) -> Prompt | None:
        """The next prompt to submit."""
        return min((one for one in self._all.values() if one.state in UNSENT), key=_rank, default=None)

    def _is_before(self, prompt: Prompt, head: Prompt, program: ProgramState) -> bool:
        """Whether a submitted prompt must be confirmed first: its text may still be in the input box."""
        is_in_order = not (head.is_now or prompt.was_busy)
        if prompt.submit_at and self._box.known(prompt, program) is not None:
            return not prompt.has_left or is_in_order
        return is_in_order

    def _reasons(self) -> list[PromptStep]:
        """Receipts of the queued prompts that wait for something else than before."""
        steps = []
        for prompt in self._all.values():
            if prompt.state is not ReceiptState.QUEUED:
                continue
            if prompt is not self._head():
                prompt.reason = BEHIND
            if prompt.reason != prompt.reported_reason:
                prompt.reported_reason = prompt.reason
                steps.append(PromptStep(receipt=prompt.receipt()))
        return steps


def _rank(prompt: Prompt) -> tuple[bool, bool]:
    """Sort key: one whose typing has begun, then those for now, then the others in order."""
    return prompt.state is ReceiptState.QUEUED, not prompt.is_now
