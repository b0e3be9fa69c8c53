"""Drafts: set aside what is in the input box before a prompt is typed, and restore it afterwards."""

from __future__ import annotations

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder.prompts.box_access import BoxAccess
from fleet_tui.holder.prompts.prompt import (
    HANDS_OFF_SECONDS,
    READY,
    UNSENT,
    Alarm,
    ProgramState,
    Prompt,
    PromptStep,
)
from fleet_tui.holder.prompts.reasons import DRAFT_LOST
from fleet_tui.holder.prompts.record import PromptRecord
from fleet_tui.models import ReceiptState, Status
from fleet_tui.programs.input_box import Box, BoxRule, BoxState

ASIDE_SECONDS = 8.0
"""How long a box may take to become empty after its draft was set aside or its text removed."""
RESTORE_SECONDS = 0.6
"""At least this long between two keys that restore a draft."""
EFFECT_SECONDS = 6.0
"""How long the box may take to show the effect of such a key: another one before that would do too much."""
RESTORES_ITSELF_SECONDS = 3.0
"""How long a program that restores drafts by itself may take."""
RESTORE_PRESSES = 5
NOTE_CHARS = 200


@dataclass(slots=True)
class Draft:
    """A draft that was set aside for a prompt."""

    prompt: Prompt
    text: str
    next_at: float | None = None
    """When the next key may be pressed; None until the prompt has been submitted."""
    presses: int = 0
    pressed_on: Box | None = None
    """The box when the last key was pressed; some programs only move the cursor at first."""


class Drafts:
    """At most one draft is set aside at a time."""

    def __init__(self, record: PromptRecord, box: BoxAccess, alarm: Alarm, settle: float) -> None:
        self._record = record
        self._box = box
        self._alarm = alarm
        self._settle_seconds = settle
        self.current: Draft | None = None

    def recall(self, prompt: Prompt) -> None:
        """Continue with the draft that an earlier screen server has set aside."""
        if prompt.draft is not None:
            self.current = Draft(prompt, prompt.draft)

    # ── set aside ───────────────────────────────────────────────────────────────────────────────────────────────

    def set_aside(self, prompt: Prompt, box: Box, rule: BoxRule, now: float) -> list[PromptStep]:
        self.current = Draft(prompt, box.text)
        prompt.draft, prompt.state, prompt.reason = box.text, ReceiptState.ASIDE, ""
        prompt.show_by, prompt.aside_at = now + ASIDE_SECONDS, now
        self._alarm.set(now + self._settle_seconds)
        self._record.write(prompt)
        return [self._box.empty(rule.set_aside, box, now)]

    def give_up(self, prompt: Prompt) -> None:
        """The key had no effect in time, or a very late one: queue the prompt again."""
        self.current = None
        prompt.state, prompt.has_kept_draft = ReceiptState.QUEUED, True
        self._record.write(prompt)

    def notice_late_effect(self, prompt: Prompt, program: ProgramState) -> None:
        """If the box is empty now and no person has typed there, the draft was set aside after all."""
        was_kept, prompt.has_kept_draft = prompt.has_kept_draft, False
        if was_kept and prompt.draft is not None and program.last_key < prompt.aside_at:
            self.current = Draft(prompt, prompt.draft)
        elif was_kept:
            prompt.draft = None

    # ── restore ─────────────────────────────────────────────────────────────────────────────────────────────────

    def restore(self, draft: Draft, now: float, program: ProgramState) -> list[PromptStep]:
        """Press the key that restores a draft until the box shows it."""
        rule, box = self._box.rule, program.box
        if rule is None or box is None:
            return self._forget(draft, "")
        if draft.next_at is None:
            draft.next_at = now + (RESTORES_ITSELF_SECONDS if rule.restores_itself else RESTORE_SECONDS)
        if box.state is BoxState.DRAFT and _is_same_text(box.text, draft.text):
            return self._forget(draft, "")
        if self._has_to_wait(draft.next_at, box, rule, now, program):
            return []
        if box.state is BoxState.DRAFT and not draft.presses:
            # The user has written something else there meanwhile.
            return self._forget(draft, DRAFT_LOST)
        has_effect = draft.pressed_on is None or box != draft.pressed_on
        if not has_effect and now < draft.next_at + EFFECT_SECONDS:
            self._alarm.set(now + self._settle_seconds)
            return []
        if draft.presses >= RESTORE_PRESSES or not has_effect or box.state is BoxState.MODE:
            is_ours = box.state is BoxState.DRAFT and program.last_key < draft.next_at - RESTORE_SECONDS
            may_empty = is_ours and bool(rule.clear) and self._box.may_empty(box, now)
            emptied = [self._box.empty(rule.clear, box, now)] if may_empty else []
            return [*emptied, *self._forget(draft, DRAFT_LOST)]
        draft.presses += 1
        draft.pressed_on, draft.next_at = box, now + RESTORE_SECONDS
        self._alarm.set(draft.next_at)
        return [PromptStep(key=rule.restore)]

    def _has_to_wait(
        self, next_at: float, box: Box, rule: BoxRule, now: float, program: ProgramState
    ) -> bool:
        """Whether no key may be pressed yet: too soon, a person is typing, or the box cannot be seen."""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        is_free = program.status in READY or (program.status is Status.WORKING and rule.restores_itself)
        is_unseen = box.state in (BoxState.NONE, BoxState.UNSETTLED)
        if is_free and not is_unseen and now >= max(next_at, hands_off):
            return False
        if is_free:
            self._alarm.set(max(next_at, hands_off, now + self._settle_seconds))
        return True

    def _forget(self, draft: Draft, problem: str) -> list[PromptStep]:
        prompt, self.current = draft.prompt, None
        prompt.draft = None
        if problem:
            words = " ".join(draft.text.split())
            prompt.note = "; ".join(filter(None, (prompt.note, f"{problem}: {words[:NOTE_CHARS]}")))
        self._record.write(prompt)
        is_reported = problem and prompt.state not in UNSENT
        return [PromptStep(receipt=prompt.receipt())] if is_reported else []


def _is_same_text(one: str, other: str) -> bool:
    return "".join(one.split()) == "".join(other.split())
