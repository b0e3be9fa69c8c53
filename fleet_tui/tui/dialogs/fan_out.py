"""The fan-out form: one prompt, several agents, with a preview beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from fleet_tui import names
from fleet_tui.errors import FleetError
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.bases import Ask, BaseField
from fleet_tui.tui.dialogs.dialog import LabeledField, chip
from fleet_tui.tui.dialogs.fan_out_preview import FanOut, Preview
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.stepper import Stepper

MOST = names.MAX_COUNT
USUAL = 3
PROFILES_SHOWN = 4


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
                with LabeledField("profiles"), Vertical(id="mix"):
                    yield from self._steppers()
                yield LabeledField(
                    "prompt", PromptArea(history=self._history, enter_sends=False, id="prompt")
                )
            yield Preview(self._project, self._now, before=self._before, id="preview")

    def _profiles(self) -> list[str]:
        """The default profile first, unless it is not installed and another is. A shell is always available."""
        usual = self._project.default_profile
        installed = [program.name for program in self._project.programs if program.path]
        first = usual if usual not in self._missing or not installed else installed[0]
        found = [*([first] if first else []), *installed, "shell"]
        return list(dict.fromkeys(found))[:PROFILES_SHOWN]

    def _steppers(self) -> Iterable[Stepper]:
        count = USUAL
        for name in self._profiles():
            note = "not installed" if name in self._missing else ""
            yield Stepper(count, most=MOST, label=name, bar=6, note=note)
            count = 0

    def on_mount(self) -> None:
        super().on_mount()
        self.call_after_refresh(self._preview)

    def primary(self) -> Line:
        count = self.query_one("#count", Stepper).value
        return chip("ctrl+s", f"start {counted(count, 'agent')}")

    # ── counts ──────────────────────────────────────────────────────────────────────────────

    @on(Stepper.Changed)
    def _counted(self, event: Stepper.Changed) -> None:
        """Keep the count equal to the sum of the profiles: the first profile takes what the others leave."""
        count, mix = self.query_one("#count", Stepper), self._mix_steppers()
        if event.stepper is count and mix:
            others = sum(stepper.value for stepper in mix[1:])
            if others >= count.value:
                for stepper in mix[1:]:
                    stepper.value = 0
                    stepper.redraw()
                others = 0
            mix[0].value = count.value - others
            mix[0].redraw()
        elif event.stepper is not count:
            count.value = max(1, min(MOST, sum(stepper.value for stepper in mix)))
            count.redraw()
        self._preview()

    def _mix_steppers(self) -> list[Stepper]:
        return list(self.query("#mix Stepper").results(Stepper))

    @on(Input.Changed)
    @on(PromptArea.Changed)
    def _preview(self) -> None:
        if self.is_mounted:
            self.query_one(Preview).show(self._wanted())
            self.entitle()

    async def _show_project(self) -> None:
        self.query_one(Preview).take_project(self._project)
        shown, wanted = self._mix_steppers(), list(self._steppers())
        is_chosen = any(stepper.value for stepper in shown[1:])
        if is_chosen or [_named(one) for one in shown] == [_named(one) for one in wanted]:
            return
        wanted[0].value = self.query_one("#count", Stepper).value
        mix = self.query_one("#mix")
        await mix.remove_children()
        await mix.mount(*wanted)
        self._preview()

    @on(BaseField.Known)
    def _found_base(self, event: BaseField.Known) -> None:
        self.query_one(Preview).take_base(event)

    def _wanted(self) -> FanOut:
        prompt = self.query_one("#prompt", PromptArea).text
        prefix = self.query_one("#prefix", Input).value.strip() or (
            names.prefix(prompt) if prompt.strip() else ""
        )
        mix = tuple((stepper.label, stepper.value) for stepper in self._mix_steppers() if stepper.value)
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


def _named(stepper: Stepper) -> tuple[str, str]:
    return stepper.label, stepper.note
