"""Delivery of one prompt: wait for obstacles, set a draft aside, paste the text, and press Enter once it shows."""

from __future__ import annotations

from fleet_tui.holder.prompts.box_access import BoxAccess
from fleet_tui.holder.prompts.drafts import Drafts
from fleet_tui.holder.prompts.obstacles import Obstacles
from fleet_tui.holder.prompts.prompt import NEVER, READY, Alarm, ProgramState, Prompt, PromptStep
from fleet_tui.holder.prompts.reasons import CUT, JUST_CALM, MIXED, NOT_ASIDE, NOT_SHOWN, REDRAWS
from fleet_tui.holder.prompts.record import PromptRecord
from fleet_tui.models import ReceiptState, Status
from fleet_tui.programs.input_box import UNSETTLED, BoxState

SETTLE_BYTES = 100_000
"""A program needs a second more for each of these characters of a long paste."""
REDRAW_SECONDS = 1.0
"""How long a program may take to redraw itself for a new screen server."""
UNREAD_SECONDS = 5.0
"""How long a program may take to read what was typed before that is reported."""
SHOW_SECONDS = 10.0
"""How long an input box may take to show what was pasted into it."""
MOMENT_SECONDS = 2.0
"""A delay shorter than this is not reported."""


class Delivery:
    """Delivers the prompt at the head of the queue, up to pressing Enter."""

    def __init__(
        self,
        record: PromptRecord,
        box: BoxAccess,
        drafts: Drafts,
        obstacles: Obstacles,
        alarm: Alarm,
        settle: float,
        confirm: float,
    ) -> None:
        self._record = record
        self._box = box
        self._drafts = drafts
        self._obstacles = obstacles
        self._alarm = alarm
        self._settle_seconds, self._confirm_seconds = settle, confirm

    def advance(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        """Take the next step with a prompt that is not submitted yet."""
        if prompt.is_cut:
            self._obstacles.half_typed(program)
            return [self._record.move(prompt, ReceiptState.REFUSED, CUT)]
        if prompt.state is ReceiptState.ASIDE:
            return self._after_aside(prompt, now, program)
        if prompt.state is not ReceiptState.QUEUED:
            return self._submit(prompt, now, program)
        obstacle = self._obstacles.obstacle(prompt, now, program)
        if obstacle:
            prompt.obstacle_since = now if prompt.obstacle_since is None else prompt.obstacle_since
            is_brief = obstacle in (REDRAWS, JUST_CALM)
            if not is_brief or now >= prompt.obstacle_since + MOMENT_SECONDS:
                prompt.wait_for(obstacle)
            return []
        prompt.is_boxless = not program.has_box
        prompt.was_busy = program.status not in READY and program.status is not Status.UNKNOWN
        known = self._box.known(prompt, program)
        if known is not None and known[0].state is BoxState.DRAFT:
            return self._drafts.set_aside(prompt, *known, now)
        return self._paste(prompt, now)

    def _after_aside(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        """Paste once the box, whose draft is being set aside, is seen to be empty."""
        box = program.box
        if box is not None and box.state is BoxState.EMPTY and program.status not in NEVER:
            return self._paste(prompt, now)
        if now < prompt.show_by:
            self._alarm.set(min(prompt.show_by, now + self._settle_seconds))
            return []
        self._drafts.give_up(prompt)
        prompt.wait_for(NOT_ASIDE)
        return []

    def _paste(self, prompt: Prompt, now: float) -> list[PromptStep]:
        prompt.state = ReceiptState.TYPING
        prompt.reason = ""
        prompt.pasted_at = now
        prompt.submit_at = now + self._settle_seconds + len(prompt.text) / SETTLE_BYTES
        prompt.show_by = prompt.submit_at + SHOW_SECONDS
        # Look again at once to record that it was written whole: if this server is killed, the next one continues there.
        self._alarm.set(now)
        self._record.write(prompt)
        return [PromptStep(paste=prompt.text)]

    def _submit(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        if not prompt.submit_at:
            # An earlier screen server typed it: what the screen shows, maybe a dialog, is not known yet.
            prompt.submit_at = now + REDRAW_SECONDS
            prompt.show_by = prompt.submit_at + SHOW_SECONDS
        if program.is_reading and prompt.state is ReceiptState.TYPING:
            prompt.state = ReceiptState.PASTED
            self._record.write(prompt)
        if not program.is_reading or self._is_ignored(prompt, program):
            # Enter must not arrive together with the end of the paste.
            prompt.submit_at = max(prompt.submit_at, now + self._settle_seconds)
            prompt.show_by = prompt.submit_at + SHOW_SECONDS
            self._alarm.set(prompt.submit_at)
            return self._report_unread(prompt, now)
        prompt.read_by, prompt.is_unread = None, False
        self._alarm.set(prompt.submit_at)
        if now < prompt.submit_at:
            return []
        if program.status in NEVER:
            prompt.show_by = now + SHOW_SECONDS
            return self._report_dialog(prompt)
        if prompt.has_met_dialog and program.status not in READY:
            return []
        if not self._box.shows(prompt, program):
            return self._not_shown(prompt, now, program)
        prompt.confirm_by, prompt.entered_at = now + self._confirm_seconds, now
        prompt.busy_before, prompt.may_press = program.busy, True
        prompt.error_before = program.text if program.status is Status.ERROR else ""
        self._alarm.set(prompt.confirm_by)
        return [PromptStep(submit=True), self._record.move(prompt, ReceiptState.TYPED)]

    def _is_ignored(self, prompt: Prompt, program: ProgramState) -> bool:
        """Whether its text may be unread: the box is empty, and the program has drawn nothing since the paste."""
        known = self._box.known(prompt, program)
        is_empty = known is not None and known[0].state is BoxState.EMPTY
        return is_empty and program.last_output <= prompt.pasted_at

    def _not_shown(self, prompt: Prompt, now: float, program: ProgramState) -> list[PromptStep]:
        """Its text was typed and the box shows something else, which an Enter would submit."""
        box = program.box or UNSETTLED
        if now < prompt.show_by or box.state is BoxState.UNSETTLED:
            self._alarm.set(max(now + self._settle_seconds, min(prompt.show_by, now + 1.0)))
            return []
        is_empty = box.state is BoxState.EMPTY
        return [self._record.move(prompt, ReceiptState.REFUSED, NOT_SHOWN if is_empty else MIXED)]

    def _report_unread(self, prompt: Prompt, now: float) -> list[PromptStep]:
        prompt.read_by = now + UNREAD_SECONDS if prompt.read_by is None else prompt.read_by
        if prompt.is_unread or now < prompt.read_by:
            return []
        prompt.is_unread = True
        return [PromptStep(receipt=prompt.receipt())]

    def _report_dialog(self, prompt: Prompt) -> list[PromptStep]:
        """Hold back Enter while a dialog is open: the dialog would take it for its answer."""
        is_news, prompt.has_met_dialog = not prompt.has_met_dialog, True
        return [PromptStep(receipt=prompt.receipt())] if is_news else []
