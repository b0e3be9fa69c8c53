"""A question that an agent waits with, beside the row that asks: the number of a choice is its key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import events, on
from textual.widget import Widget
from textual.widgets import Input, Static

from fleet_tui.listing import age, word
from fleet_tui.models import Agent
from fleet_tui.tui.screens.dialog import NARROW, Dialog
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, clean, content
from fleet_tui.tui.widgets.statuses import ROLES, glyph

OPEN, WHY = "open", "why"
"""What else can be asked for than an answer."""
WIDTH = 74
_SAYS = {
    "permission": "It asks whether it may do this:",
    "trust": "It asks whether this folder is to be trusted:",
    "login": "It asks how to log in:",
}


class AnswerDialog(Dialog[tuple[str, str]]):
    """Gives ("answer", what), or ("open", "") for the pane, or ("why", "")."""

    def __init__(self, agent: Agent, now: float, place: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(classes="question" if agent.status_detail == "question" else None)
        self._agent = agent
        self._now = now
        self._place = place
        """Where its upper left corner should be, beside the row that asks, in a terminal of the present size."""
        self._choices = agent.evidence.choices if agent.evidence is not None else ()

    @property
    def agent(self) -> Agent:
        return self._agent

    @property
    def _takes_words(self) -> bool:
        return self._agent.status_detail == "question"

    @property
    def _numbers(self) -> frozenset[str]:
        return frozenset(number for number, _ in self._choices)

    def titles(self) -> tuple[Line, Line]:
        agent = self._agent
        left: Line = (
            glyph(agent), (f" {word(agent)}  ", ROLES[agent.status]), (clean(agent.name), "bold foreground"),
            (f"  {clean(agent.profile)}", "muted"),
        )  # fmt: skip
        return left, ((f"waits {age(max(0.0, self._now - agent.status_since))}", "muted"),)

    def body(self) -> Iterable[Widget]:
        text = clean(self._agent.evidence.text) if self._agent.evidence is not None else ""
        if self._takes_words:
            yield Static(content(((text, "bold"),)), classes="asked")
        else:
            yield Static(_SAYS.get(self._agent.status_detail, "It waits for an answer:"), classes="says")
            yield Static(content(((text or "its pane shows what", "bold"),)), classes="block")
        for place, (number, label) in enumerate(self._choices):
            yield Static(content(_choice(number, clean(label), is_first=place == 0)), classes="choice")
        if self._takes_words:
            yield Words(self._numbers, placeholder="type an answer of your own", id="words")

    def on_mount(self) -> None:
        super().on_mount()
        if self._takes_words:
            self.query_one(Input).focus()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._move)

    def _move(self) -> None:
        """Beside the row where there is room, in the middle where there is not."""
        dialog = self.query_one("#dialog")
        x, y = self._place() if self._place is not None else (self.size.width, 0)
        if self.size.width < NARROW or x + WIDTH > self.size.width:
            self.styles.align = ("center", "middle")
            dialog.styles.margin = (0, 0, 0, 0)
            return
        self.styles.align = ("left", "top")
        dialog.styles.margin = (max(1, min(y, self.size.height - dialog.outer_size.height - 1)), 0, 0, x)

    def hints(self) -> Sequence[tuple[str, str]]:
        numbers = f"1–{len(self._choices)}" if len(self._choices) > 1 else "1"
        choose = ((numbers, "choose"),) if self._choices else ()
        return (*choose, ("↵", "open the pane"), ("esc", "later"))

    def primary(self) -> Line:
        return () if self._takes_words else (("e", "bold accent"), (" why", "muted"))

    def on_key(self, event: events.Key) -> None:
        has_words = self._takes_words and self.query_one(Input).value
        if has_words:
            return
        if event.character in self._numbers:
            self._leave(event, "answer", event.character)
        elif event.key == "enter":
            self._leave(event, OPEN)
        elif event.key == "e" and not self._takes_words:
            self._leave(event, WHY)

    def _leave(self, event: events.Key, what: str, choice: str = "") -> None:
        event.stop()
        event.prevent_default()
        self.dismiss((what, choice))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(("answer", event.value.strip()))


class Words(Input):
    """An answer in words; the number of a choice is not the first of them, and is left to the dialog."""

    def __init__(self, numbers: frozenset[str], *, placeholder: str, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(placeholder=placeholder, id=id)
        self._numbers = numbers

    def on_key(self, event: events.Key) -> None:
        if not self.value and event.character in self._numbers:
            event.prevent_default()


def _choice(number: str, label: str, *, is_first: bool) -> Line:
    chip = (f" {number} ", CHIP_HERE if is_first else "bold accent on field")
    return (chip, (f"  {label}", "bold" if is_first else ""))
