"""The dialog that answers an agent's question, beside its row; the number of a choice is its key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from fleet_tui.faces.wording import word
from fleet_tui.models import Agent, PermissionRequest
from fleet_tui.quantities import age
from fleet_tui.tui.dialogs.dialog import LOW, NARROW, fact
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.widgets.fields import Input, Static
from fleet_tui.tui.widgets.lines import Line, clean, content, wrap
from fleet_tui.tui.widgets.statuses import ROLES, glyph

if TYPE_CHECKING:
    from fleet_tui.permissions.shell_words import ShellPart

OPEN, WHY = "open", "why"
"""Results that are no answer: open the pane, explain the status."""
WIDTH = 74
AROUND, AROUND_BLOCK = 7, 13
"""Cells of the dialog beside its choices, and beside a command."""
TAKEN_LINES, TAKEN_LOW, LEAST_LINES = 18, 14, 2
"""Lines of the dialog without command and choices, the same in a low terminal, and the fewest of the command."""
ALL_LINES = 10_000
MOST_PATHS = 6
_PATH = re.compile(r"(/|~|\.\.?/)[^:*?]*|[\w./@+-]+/|[\w./@+-]*\w\.[A-Za-z]\w{0,7}|\.{1,2}")
"""Starts at the root, a home or here; or is a folder by its slash, or a file by its extension."""
_SAYS = {
    "permission": "It asks for permission:",
    "trust": "It asks whether to trust this folder:",
    "login": "It asks how to log in:",
    "menu": "A menu is open in its pane:",
}


class AnswerDialog(DraftDialog[tuple[str, str]]):
    """Returns ("answer", choice), ("open", "") for the pane, or ("why", "")."""

    def __init__(self, agent: Agent, now: float, place: Callable[[], tuple[int, int]] | None = None) -> None:
        super().__init__(classes="question" if agent.status_detail == "question" else None)
        self._agent = agent
        self._now = now
        self._place = place
        """Returns where the upper left corner belongs, beside the agent's row, at the present size."""
        self._choices = agent.evidence.choices if agent.evidence is not None else ()

    @property
    def agent(self) -> Agent:
        return self._agent

    def is_outdated(self, agent: Agent) -> bool:
        """Whether the agent asks something else now. A question without choices is still being drawn."""
        shown, asked = self._agent.evidence, agent.evidence
        if shown is None or asked is None or not asked.choices:
            return False
        return (shown.text, shown.choices, shown.request) != (asked.text, asked.choices, asked.request)

    @property
    def _is_question(self) -> bool:
        return self._agent.status_detail == "question"

    @property
    def _takes_words(self) -> bool:
        evidence = self._agent.evidence
        return self._is_question and evidence is not None and evidence.takes_words

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
        if self._is_question:
            yield Static(content(((text, "bold"),)), classes="asked")
        else:
            yield from self._asked(text)
        for number, label in self._choices:
            chip: Line = ((f" {number} ", "bold accent on field"), (f"  {clean(label)}", ""))
            yield Static(content(chip), classes="choice")
        if self._takes_words:
            yield FreeTextInput(self._numbers, placeholder="type an answer of your own", id="words")

    def _asked(self, text: str) -> Iterable[Widget]:
        """What the agent wants to do, and its reason; a row for each that is known."""
        request = self._agent.evidence.request if self._agent.evidence is not None else PermissionRequest()
        if request.command:
            yield Static("It wants to run a command:", classes="says")
            yield Horizontal(
                Static(content((("$", "bold accent"),)), classes="prompt"),
                Static(content(self._command(request.command))),
                classes="block",
            )
        else:
            yield Static(_SAYS.get(self._agent.status_detail, "It waits for an answer:"), classes="says")
            yield Static(content(((text or "see its pane", "bold"),)), classes="block")
        touches = ", ".join(touched(request, Path(self._agent.worktree)))
        facts = [("why", request.reason), ("touches", touches)]
        known = [(label, clean(said)) for label, said in facts if said and said != text]
        if known:
            yield Vertical(*(fact(label, said) for label, said in known), classes="facts")

    def _command(self, command: str) -> Line:
        """The whole command, or as much as leaves room for the choices, and how many lines more its pane has."""
        columns, rows = self.app.size
        width = min(WIDTH, columns * 96 // 100)
        wrapped = [
            part
            for line in command.split("\n")
            for part in wrap(line, max(1, width - AROUND_BLOCK), ALL_LINES)
        ]
        labels = (f"     {clean(label)}" for _, label in self._choices)
        below = sum(len(wrap(label, max(1, width - AROUND), ALL_LINES)) for label in labels)
        room = max(LEAST_LINES, rows - (TAKEN_LOW if rows < LOW else TAKEN_LINES) - below)
        if len(wrapped) <= room:
            return ((command, "bold"),)
        more = len(wrapped) - room + 1
        shown = "\n".join(wrapped[: room - 1])
        return (shown, "bold"), (f"\n… {more} more lines; ↵ opens its pane", "muted")

    def on_mount(self) -> None:
        super().on_mount()
        if self._takes_words:
            self.query_one(Input).focus()

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._move)

    def _move(self) -> None:
        """Beside the row if there is room, else centered."""
        dialog = self.query_one("#dialog")
        x, y = self._place() if self._place is not None else (self.size.width, 0)
        if self.size.width < NARROW or x + WIDTH > self.size.width:
            self.styles.align = ("center", "middle")
            dialog.styles.margin = (0, 0, 0, 0)
            return
        self.styles.align = ("left", "top")
        dialog.styles.margin = (max(1, min(y, self.size.height - dialog.outer_size.height - 1)), 0, 0, x)

    @property
    def _has_words(self) -> bool:
        return self._takes_words and self.is_mounted and bool(self.query_one(Input).value)

    def hints(self) -> Sequence[tuple[str, str]]:
        if self._has_words:
            return ("↵", "send this answer"), ("esc", "keep draft")
        numbers = f"1–{len(self._choices)}" if len(self._choices) > 1 else "1"
        choose = ((numbers, "choose"),) if self._choices else ()
        return (*choose, ("↵", "open the pane"), ("esc", "later"))

    def primary(self) -> Line:
        return () if self._takes_words else (("e", "bold accent"), (" why", "muted"))

    def on_key(self, event: events.Key) -> None:
        if self._has_words:
            return
        if event.key in ("up", "down"):
            self.query_one("#dialog").scroll_relative(y=1 if event.key == "down" else -1, animate=False)
        elif event.character in self._numbers:
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


class FreeTextInput(Input):
    """An answer in words. A digit as the first character is a choice, and left to the dialog."""

    def __init__(self, numbers: frozenset[str], *, placeholder: str, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(placeholder=placeholder, id=id)
        self._numbers = numbers

    def on_key(self, event: events.Key) -> None:
        if not self.value and event.character in self._numbers:
            event.prevent_default()


def touched(request: PermissionRequest, worktree: Path) -> list[str]:
    """The file that a request changes, or the paths in its command: redirections, and arguments that look like paths.

    Does not check whether they exist: a dead mount would block the dashboard.
    """
    if not request.command:
        return [_from(request.touches, worktree)] if request.touches else []
    from fleet_tui.permissions import shell
    from fleet_tui.permissions.shell_words import Unreadable

    try:
        parts = shell.read(request.command)
    except Unreadable:
        return []
    named = list(dict.fromkeys(_from(path, worktree) for part in parts for path in _paths(part)))
    more = [f"{len(named) - MOST_PATHS} more"] if len(named) > MOST_PATHS else []
    return named[:MOST_PATHS] + more


def _paths(part: ShellPart) -> list[str]:
    first, *others = part.words
    words = [word.text for word in others if word.is_fixed and not word.text.startswith("-")]
    return words if first.text.startswith(">") else [word for word in words if _PATH.fullmatch(word)]


def _from(path: str, worktree: Path) -> str:
    """Relative to the worktree."""
    inside = path.removeprefix(f"{worktree}/")
    return inside or path
