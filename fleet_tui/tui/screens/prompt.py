"""A prompt to one agent, or to all that are marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import on
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui.models import Agent, Status
from fleet_tui.tui.screens.dialog import Dialog, chip
from fleet_tui.tui.widgets.lines import Line, clean
from fleet_tui.tui.widgets.prompt_area import PromptArea


class PromptDialog(Dialog[tuple[str, bool]]):
    """Gives the text, and whether it is to be typed at once rather than when the agent is idle."""

    BINDINGS = [  # noqa: RUF012 - Textual\'s own way
        Binding("ctrl+s", "send", show=False, priority=True),
        Binding("ctrl+n", "send_now", show=False, priority=True),
    ]

    def __init__(self, targets: Sequence[Agent], history: Sequence[str], text: str = "") -> None:
        super().__init__()
        self._targets = targets
        self._history = history
        self._text = text
        self.heading = "Prompt"

    def titles(self) -> tuple[Line, Line]:
        names = ", ".join(clean(agent.name) for agent in self._targets)
        busy = sum(agent.status not in (Status.IDLE, Status.DONE) for agent in self._targets)
        right: Line = ((f"{busy} busy: queued until idle", "muted"),) if busy else ()
        return (("Prompt", "bold foreground"), (f"  to {names}", "muted")), right

    def body(self) -> Iterable[Widget]:
        yield PromptArea(self._text, history=self._history, id="prompt")

    def on_mount(self) -> None:
        super().on_mount()
        area = self.query_one(PromptArea)
        area.focus()
        area.move_cursor(area.document.end)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("shift+↵", "new line"), ("ctrl+↑", "earlier"), ("ctrl+n", "even if busy"), ("esc", "cancel")

    def primary(self) -> Line:
        return chip("↵", f"send to {len(self._targets)}" if len(self._targets) > 1 else "send")

    @on(PromptArea.Submitted)
    def action_send(self) -> None:
        self._finish(now=False)

    def action_send_now(self) -> None:
        self._finish(now=True)

    def _finish(self, *, now: bool) -> None:
        text = self.query_one(PromptArea).text
        if text.strip():
            self.dismiss((text, now))
        else:
            self.app.bell()
