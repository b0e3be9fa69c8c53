"""Obstacles: why a queued prompt may not be typed now."""

from __future__ import annotations

from fleet_tui.holder.prompts.box_access import BoxAccess
from fleet_tui.holder.prompts.drafts import Drafts
from fleet_tui.holder.prompts.prompt import (
    HANDS_OFF_SECONDS,
    LOGIN,
    MENU,
    NEVER,
    READY,
    Alarm,
    ProgramState,
    Prompt,
)
from fleet_tui.holder.prompts.reasons import (
    ASKS,
    BOX_GONE,
    BOX_UNSEEN,
    HALF_TYPED,
    HANDS_ON,
    HAS_DRAFT,
    IN_MENU,
    IS_LIMITED,
    IS_STARTING,
    IS_WORKING,
    JUST_CALM,
    LOGGED_OUT,
    NOT_ASIDE,
    OTHER_MODE,
    REDRAWS,
    SAYS_NOTHING,
    SETTING_UP,
)
from fleet_tui.models import Status
from fleet_tui.programs.input_box import Box, BoxRule, BoxState

_BUSY_WITH = {
    Status.STARTING: IS_STARTING,
    Status.LIMITED: IS_LIMITED,
    Status.UNKNOWN: SAYS_NOTHING,
}


class Obstacles:
    def __init__(self, box: BoxAccess, drafts: Drafts, alarm: Alarm, settle: float) -> None:
        self._box = box
        self._drafts = drafts
        self._alarm = alarm
        self._settle_seconds = settle
        self._half_typed_at: int | None = None
        """How often the program had become busy when half a prompt may have been left in its input box."""

    def half_typed(self, program: ProgramState) -> None:
        """Half a prompt may be left in the input box until the program becomes busy."""
        self._half_typed_at = program.busy

    def obstacle(self, prompt: Prompt, now: float, program: ProgramState) -> str:
        """The reason not to type a prompt now; empty when there is none."""
        status = program.status
        if status in NEVER:
            asks = {MENU: IN_MENU, LOGIN: LOGGED_OUT}.get(program.detail, ASKS)
            return SETTING_UP if status is Status.SETUP else asks
        if status is Status.STARTING and program.speaks:
            return IS_STARTING
        # Where the box can be read, half a prompt is seen there as a draft.
        is_unclear = self._half_typed_at is not None and program.busy <= self._half_typed_at
        if is_unclear and program.box is None and not prompt.is_now:
            return HALF_TYPED
        if not prompt.is_now and (reason := self._of_status(now, program)):
            return reason
        if program.box is None or self._box.rule is None:
            return ""
        return self._of_box(prompt, now, program, program.box, self._box.rule)

    def _of_status(self, now: float, program: ProgramState) -> str:
        """What --now overrides."""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if now < hands_off:
            self._alarm.set(hands_off)
            return HANDS_ON
        if program.status not in READY:
            return _BUSY_WITH.get(program.status, IS_WORKING)
        if now < program.calm_at:
            self._alarm.set(program.calm_at)
            return JUST_CALM
        return ""

    def _of_box(self, prompt: Prompt, now: float, program: ProgramState, box: Box, rule: BoxRule) -> str:
        if box.state is BoxState.UNSETTLED:
            self._alarm.set(now + self._settle_seconds)
            return REDRAWS
        if not program.has_box:
            return "" if prompt.is_now else BOX_UNSEEN
        if box.state is BoxState.NONE:
            return BOX_GONE
        if box.state is BoxState.MODE:
            return OTHER_MODE
        if box.state is BoxState.EMPTY:
            self._drafts.notice_late_effect(prompt, program)
            return ""
        hands_off = program.last_key + HANDS_OFF_SECONDS
        if now < hands_off:
            self._alarm.set(hands_off)
            return HANDS_ON
        if prompt.has_kept_draft:
            return NOT_ASIDE
        if not self._box.may_empty(box, now):
            self._alarm.set(now + 1.0)
            return REDRAWS
        return "" if program.may_set_aside and box.can_be_set_aside(rule) else HAS_DRAFT
