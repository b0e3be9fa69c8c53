"""Two forms: one new agent, and several agents with a prompt each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui import names
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.fleet.project_info import ProjectInfo
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.bases import Ask, BaseField
from fleet_tui.tui.dialogs.dialog import LabeledField, chip
from fleet_tui.tui.dialogs.form import Form
from fleet_tui.tui.dialogs.profile_field import ProfileField, all_profiles
from fleet_tui.tui.widgets.fields import Input, Label
from fleet_tui.tui.widgets.lines import Line
from fleet_tui.tui.widgets.prompt_area import PromptArea


@dataclass(frozen=True, slots=True)
class NewAgent:
    name: str
    prompt: str
    profile: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class Multi:
    tasks: tuple[tuple[str, str], ...]
    profile: str = ""
    base: str = ""


class NewAgentDialog(Form):
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("ctrl+s", "start", show=False, priority=True),
        Binding("ctrl+e", "edit", show=False, priority=True),
        Binding("ctrl+b", "pick_base", show=False, priority=True),
    ]
    heading = "New agent"
    explains = "one prompt, its own worktree"

    def __init__(self, project: ProjectInfo | None, history: Sequence[str], ask: Ask, now: float) -> None:
        super().__init__(project)
        self._history = history
        self._ask = ask
        self._now = now

    def body(self) -> Iterable[Widget]:
        yield LabeledField("name", Input(placeholder="from the prompt", id="name"))
        yield ProfileField(self._usual, lambda: all_profiles(self._project))
        yield BaseField(self._project.branch, self._ask, self._now)
        yield LabeledField("prompt", PromptArea(history=self._history, enter_sends=False, id="prompt"))

    async def _show_project(self) -> None:
        self.query_one(ProfileField).show_usual(self._usual)

    def primary(self) -> Line:
        return chip("ctrl+s", "start")

    @on(PromptArea.Changed)
    def _suggest(self) -> None:
        prompt = self.query_one("#prompt", PromptArea).text
        self.query_one("#name", Input).placeholder = (
            names.prefix(prompt) if prompt.strip() else "from the prompt"
        )

    def action_start(self) -> None:
        prompt = self.query_one("#prompt", PromptArea).text
        name = self.query_one("#name", Input).value.strip() or (
            names.prefix(prompt) if prompt.strip() else ""
        )
        try:
            names.check_branch(name)
        except FleetError as error:
            self.notify(
                error.hint or "give it a name, or a prompt to name it after",
                title=error.message,
                severity="error",
            )
            return
        profile, base = (self.query_one(f"#{field}", Input).value.strip() for field in ("profile", "base"))
        if self._can_run(profile):
            self.on_wanted(NewAgent(name, prompt, profile, base))


class MultiDialog(Form):
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("ctrl+s", "start", show=False, priority=True),
        Binding("ctrl+b", "pick_base", show=False, priority=True),
    ]
    heading = "Multi"
    explains = "several agents, one line each:  name: prompt"

    def __init__(self, project: ProjectInfo | None, ask: Ask, now: float) -> None:
        super().__init__(project)
        self._ask = ask
        self._now = now

    def body(self) -> Iterable[Widget]:
        yield ProfileField(self._usual, lambda: all_profiles(self._project))
        yield BaseField(self._project.branch, self._ask, self._now)
        yield LabeledField("tasks", PromptArea(enter_sends=False, id="prompt"))
        yield Label("", id="said", markup=False)

    async def _show_project(self) -> None:
        self.query_one(ProfileField).show_usual(self._usual)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("tab", "next field"), self.leave_hint()

    def primary(self) -> Line:
        count = len(tasks(self.query_one("#prompt", PromptArea).text))
        return chip("ctrl+s", f"start {counted(count, 'agent')}")

    @on(PromptArea.Changed)
    def _count(self) -> None:
        self.entitle()

    def action_start(self) -> None:
        found = tasks(self.query_one("#prompt", PromptArea).text)
        profile, base = (self.query_one(f"#{field}", Input).value.strip() for field in ("profile", "base"))
        try:
            names.check_count(len(found))
            for name, _ in found:
                names.check_branch(name)
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            return
        if self._can_run(profile):
            self.on_wanted(Multi(tuple(found), profile, base))


def tasks(text: str) -> list[tuple[str, str]]:
    """Name and prompt of each line that is not empty; a line without a name is named after its prompt."""
    found: list[tuple[str, str]] = []
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, prompt = line.partition(":")
        is_named = bool(colon) and prompt.strip() and " " not in name.strip()
        name = name.strip() if is_named else names.prefix(line)
        taken = {one for one, _ in found}
        unique = (
            name
            if name not in taken
            else next(f"{name}-{n}" for n in range(2, 99) if f"{name}-{n}" not in taken)
        )
        found.append((unique, prompt.strip() if is_named else line))
    return found
