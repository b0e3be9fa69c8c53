"""The fan-out form: one prompt, several agents, with a preview beside it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from fleet_tui import names
from fleet_tui.errors import FleetError
from fleet_tui.faces.form_drafts import Values
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.bases import Ask, BaseField
from fleet_tui.tui.dialogs.dialog import LOW, LabeledField, chip
from fleet_tui.tui.dialogs.fan_out_preview import FanOut, Preview
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.dialogs.profile_field import all_profiles
from fleet_tui.tui.dialogs.profile_mix import HEAD_LINES, ProfileMix
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.stepper import Stepper

MOST = names.MAX_COUNT
USUAL = 3
OTHER_LINES, OTHER_LINES_LOW = 22, 13
"""Lines of the dialog besides the rows of profiles; the second value is for a low terminal."""
MOST_ROWS, LEAST_ROWS = 12, 3


class FanOutDialog(Form):
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("ctrl+s", "start", show=False, priority=True),
        Binding("ctrl+e", "edit", show=False, priority=True),
        Binding("ctrl+b", "pick_base", show=False, priority=True),
    ]
    heading = "Fan-out"
    explains = "one prompt, several agents"

    def __init__(
        self,
        project: ProjectInfo | None,
        history: Sequence[str],
        ask: Ask,
        now: float,
        *,
        before: Sequence[Agent] = (),
    ) -> None:
        super().__init__(project)
        self._history = history
        self._ask = ask
        self._now = now
        self._before = before
        """Earlier agents, from which the duration is estimated."""

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="form"):
            with Vertical(id="fields"):
                yield LabeledField(
                    "agents", Stepper(USUAL, least=1, most=MOST, id="count"), note=f"1 to {MOST}"
                )
                yield LabeledField("prefix", Input(placeholder="from the prompt", id="prefix"))
                yield BaseField(self._project.branch, self._ask, self._now)
                yield LabeledField(
                    "profiles", ProfileMix(all_profiles(self._project), USUAL, most=MOST, id="mix")
                )
                yield LabeledField(
                    "prompt", PromptArea(history=self._history, enter_sends=False, id="prompt")
                )
            yield Preview(self._project, self._now, before=self._before, id="preview")

    def on_mount(self) -> None:
        super().on_mount()
        self.call_after_refresh(self._preview)

    def on_resize(self) -> None:
        super().on_resize()
        self._fit_profiles()

    def _fit_profiles(self) -> None:
        """As many rows as fit beside the other fields; the user scrolls to the rest."""
        others = OTHER_LINES_LOW if self.size.height < LOW else OTHER_LINES
        rows = min(len(all_profiles(self._project)), MOST_ROWS, self.size.height - others)
        self.query_one(ProfileMix).styles.height = HEAD_LINES + max(LEAST_ROWS, rows)

    def primary(self) -> Line:
        count = self.query_one("#count", Stepper).value
        return chip("ctrl+s", f"start {counted(count, 'agent')}")

    # ── counts ──────────────────────────────────────────────────────────────────────────────

    @on(Stepper.Changed)
    def _counted(self) -> None:
        """Keep the sum of the profiles equal to the count."""
        self.query_one(ProfileMix).set_total(self.query_one("#count", Stepper).value)
        self._preview()

    @on(ProfileMix.Changed)
    def _mixed(self) -> None:
        """Keep the count equal to the sum of the profiles."""
        count = self.query_one("#count", Stepper)
        count.value = max(1, min(MOST, self.query_one(ProfileMix).total))
        count.redraw()
        self._preview()

    @on(Input.Changed)
    @on(PromptArea.Changed)
    def _preview(self) -> None:
        if self.is_mounted:
            self.query_one(Preview).show(self._wanted())
            self.entitle()

    async def _show_project(self) -> None:
        self.query_one(Preview).take_project(self._project)
        self.query_one(ProfileMix).take(all_profiles(self._project))
        self._fit_profiles()
        self._preview()

    def values(self) -> Values:
        """Keep the profiles only if the user chose them: the default may change."""
        count, mix = self.query_one("#count", Stepper).value, self.query_one(ProfileMix)
        chosen = {"mix": [list(one) for one in mix.counts]} if mix.is_chosen else {}
        number = {"count": count} if count != USUAL else {}
        return {**super().values(), **number, **chosen}

    def fill(self, values: Values) -> None:
        super().fill(values)
        count, mix = self.query_one("#count", Stepper), self.query_one(ProfileMix)
        # Another version may have written the draft.
        with contextlib.suppress(TypeError, ValueError):
            mix.set_counts([(str(name), int(number)) for name, number in values.get("mix", [])])
            count.value = max(1, min(MOST, int(values.get("count", USUAL))))
        mix.set_total(count.value)
        count.redraw()

    @on(BaseField.Known)
    def _found_base(self, event: BaseField.Known) -> None:
        self.query_one(Preview).take_base(event)

    def _wanted(self) -> FanOut:
        prompt = self.query_one("#prompt", PromptArea).text
        prefix = self.query_one("#prefix", Input).value.strip() or (
            names.prefix(prompt) if prompt.strip() else ""
        )
        mix = self.query_one(ProfileMix).counts
        count = self.query_one("#count", Stepper).value
        return FanOut(
            count,
            prefix,
            prompt,
            self.query_one(BaseField).value,
            mix if sum(n for _, n in mix) == count else (),
        )

    def action_start(self) -> None:
        wanted = self._wanted()
        try:
            names.check_branch(wanted.prefix or "x")
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            return
        try:
            names.check_prompt(wanted.prompt)
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            self.query_one("#prompt").focus()
            return
        if not self._can_run(*(name for name, _ in wanted.mix or (("", 0),))):
            return
        self.on_wanted(wanted)
