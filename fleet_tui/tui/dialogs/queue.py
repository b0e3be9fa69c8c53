"""The prompts of an agent: those sent, with their receipts, and those queued."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from textual import events
from textual.widget import Widget

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Receipt, ReceiptState
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.widgets.lines import Line, LineView, clean, fit

SHOWN = 12
_ROLES: Mapping[str, str] = {
    ReceiptState.QUEUED: "muted",
    ReceiptState.TYPED: "primary",
    ReceiptState.ACCEPTED: "primary",
    ReceiptState.ANSWERED: "success",
    ReceiptState.FAILED: "error",
    ReceiptState.INTERRUPTED: "warning",
    ReceiptState.UNKNOWN: "warning",
    ReceiptState.REFUSED: "error",
}


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    id: str
    text: str
    reason: str = ""
    """What the prompt waits for."""


class QueueList(LineView):
    """Sent prompts above, queued ones below, one of these selected."""

    def __init__(self, given: Sequence[Receipt], waiting: Sequence[QueuedPrompt]) -> None:
        super().__init__(id="prompts")
        self._given = list(given)[-SHOWN:]
        self.waiting = list(waiting)
        self.selected = 0
        self.styles.height = max(1, len(self._given) + len(self.waiting))

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = [self._line(" ", one.state, one.text, one.reason, width) for one in self._given]
        for place, one in enumerate(self.waiting):
            bar = "▌" if place == self.selected else " "
            found.append(self._line(bar, ReceiptState.QUEUED, one.text, one.reason, width))
        return (found or [((" no prompts yet", "muted"),)])[-height:]

    def _line(self, bar: str, state: str, text: str, reason: str, width: int) -> Line:
        words = clean(" ".join(text.split()))
        more: Line = ((f"  {clean(reason)}", "muted"),) if reason else ()
        return fit(((bar, "bar"), (f" {state:<11} ", _ROLES.get(state, "")), (words, ""), *more), width)


class QueueDialog(Dialog[tuple[str, QueuedPrompt]]):
    """Returns ("edit", prompt) or ("cancel", prompt)."""

    def __init__(self, agent: Agent, given: Sequence[Receipt], waiting: Sequence[QueuedPrompt]) -> None:
        super().__init__()
        self._agent = agent
        self._prompts = QueueList(given, waiting)

    def titles(self) -> tuple[Line, Line]:
        count = len(self._prompts.waiting)
        right: Line = ((f"{count} queued", "muted"),) if count else ()
        return (("Prompts", "bold foreground"), (f"  of {clean(self._agent.name)}", "muted")), right

    def body(self) -> Iterable[Widget]:
        yield self._prompts

    def hints(self) -> Sequence[tuple[str, str]]:
        if not self._prompts.waiting:
            return (("esc", "close"),)
        return ("↑↓", "choose"), ("↵", "edit"), ("x", "cancel"), ("esc", "close")

    def on_key(self, event: events.Key) -> None:
        waiting = self._prompts.waiting
        moves = {"down": 1, "j": 1, "up": -1, "k": -1}
        if not waiting or event.key not in {*moves, "enter", "x", "delete"}:
            return
        event.stop()
        if event.key in moves:
            self._prompts.selected = max(0, min(len(waiting) - 1, self._prompts.selected + moves[event.key]))
            self._prompts.redraw()
        else:
            self.dismiss(("edit" if event.key == "enter" else "cancel", waiting[self._prompts.selected]))
