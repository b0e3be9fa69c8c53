"""The dialog that writes a prompt to one agent or to all marked ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui import names
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, Status
from fleet_tui.programs.prompt_text import TextRule, is_command
from fleet_tui.tui.dialogs.dialog import chip
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.widgets.lines import Line, clean
from fleet_tui.tui.widgets.prompt_area import PromptArea


class PromptDialog(DraftDialog[tuple[str, bool, bool]]):
    """Returns the text, whether to type it at once instead of when the agent is idle, and whether to send it as a command."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("ctrl+s", "send", show=False, priority=True),
        Binding("ctrl+n", "send_now", show=False, priority=True),
        Binding("ctrl+r", "send_command", show=False, priority=True),
    ]

    def __init__(
        self,
        targets: Sequence[Agent],
        history: Sequence[str],
        text: str = "",
        ask_rules: Callable[[PromptDialog], None] | None = None,
        *,
        is_new: bool = False,
        is_suggested: bool = False,
    ) -> None:
        super().__init__()
        self._is_suggested = is_suggested
        """The text is ours: it is selected, so that typing replaces it, and it is no draft until it is changed."""
        self._is_new = is_new
        """The text exists nowhere else, so leaving keeps it even if it is unchanged."""
        self._ask_rules = ask_rules
        """Loads which texts the targets run as commands; called once, when a text looks like one."""
        self._rules: Sequence[TextRule] = ()
        self._targets = targets
        self._history = history
        self._text = text
        self.heading = "Prompt"

    def titles(self) -> tuple[Line, Line]:
        names = ", ".join(clean(agent.name) for agent in self._targets)
        busy = sum(agent.status not in (Status.IDLE, Status.DONE) for agent in self._targets)
        right: Line = ((f"{busy} busy: queued until idle", "muted"),) if busy else ()
        if self._is_command:
            right = (("command", "bold warning"), (": ↵ sends it as text", "muted"))
        return (("Prompt", "bold foreground"), (f"  to {names}", "muted")), right

    def body(self) -> Iterable[Widget]:
        yield PromptArea(self._text, history=self._history, id="prompt")

    def on_mount(self) -> None:
        super().on_mount()
        if self._is_new and not self._is_suggested:
            self._blank = {}
        area = self.query_one(PromptArea)
        area.focus()
        area.move_cursor(area.document.end)
        if self._is_suggested and area.text == self._text:
            area.select_all()

    @property
    def _is_command(self) -> bool:
        if not self.is_attached or not self._rules:
            return False
        return is_command(self.query_one(PromptArea).text, self._rules)

    def know(self, rules: Sequence[TextRule]) -> None:
        self._rules = rules
        self.entitle()

    @on(PromptArea.Changed)
    def _look_for_command(self) -> None:
        lead = self.query_one(PromptArea).text.lstrip()[:1]
        if self._ask_rules is not None and lead and not lead.isalnum():
            ask, self._ask_rules = self._ask_rules, None
            ask(self)
        elif self._rules:
            self.entitle()

    def hints(self) -> Sequence[tuple[str, str]]:
        if self._is_command:
            return ("ctrl+r", "run as command"), ("shift+↵", "new line"), self.leave_hint()
        return (
            ("shift+↵", "new line"),
            ("ctrl+n", "send now"),
            ("ctrl+↑", "history"),
            self.leave_hint(),
        )

    def primary(self) -> Line:
        return chip("↵", f"send to {len(self._targets)}" if len(self._targets) > 1 else "send")

    @on(PromptArea.Submitted)
    def action_send(self) -> None:
        self._finish()

    def action_send_now(self) -> None:
        self._finish(now=True)

    def action_send_command(self) -> None:
        self._finish(command=self._is_command)

    def _finish(self, *, now: bool = False, command: bool = False) -> None:
        text = self.query_one(PromptArea).text
        try:
            self.dismiss((names.check_prompt(text), now, command))
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
