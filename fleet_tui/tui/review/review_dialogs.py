"""Dialogs of the review: write a comment, send the round, choose what to compare with, and the keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events, on
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui.models import Agent, Status
from fleet_tui.tui.dialogs.dialog import Dialog, chip
from fleet_tui.tui.dialogs.draft_dialog import DraftDialog
from fleet_tui.tui.dialogs.picker import Picker, PickerRows
from fleet_tui.tui.review.code_text import shown
from fleet_tui.tui.review.comment_lines import text_lines
from fleet_tui.tui.review.keys import ReviewKey, groups
from fleet_tui.tui.widgets.lines import Line, LineView, clean, column, fit
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.widgets.which_key import key_columns

QUOTED = 4
"""Lines of code that a comment's dialog shows."""
BASE = "its base"


class CommentDialog(DraftDialog[str]):
    """Returns the text of a comment."""

    BINDINGS = [Binding("ctrl+s", "save", show=False, priority=True)]  # noqa: RUF012 - Textual's own way

    def __init__(self, place: str, path: str, quoted: Sequence[str], text: str = "") -> None:
        super().__init__()
        self._place = place
        self._path = path
        self._quoted = quoted
        self._text = text

    def titles(self) -> tuple[Line, Line]:
        said: Line = (("Comment", "bold foreground"), (f"  on {self._place}", "muted"))
        return said, ((clean(self._path), "muted"),)

    def body(self) -> Iterable[Widget]:
        yield Quote(self._quoted)
        yield PromptArea(self._text, id="comment")

    def on_mount(self) -> None:
        super().on_mount()
        area = self.query_one(PromptArea)
        area.focus()
        area.move_cursor(area.document.end)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("shift+↵", "new line"), self.leave_hint()

    def primary(self) -> Line:
        return chip("↵", "save")

    @on(PromptArea.Submitted)
    def action_save(self) -> None:
        text = self.query_one(PromptArea).text.strip()
        if text:
            self.dismiss(text)
        else:
            self.app.bell()


class Quote(LineView):
    """The lines that a comment is about."""

    def __init__(self, quoted: Sequence[str]) -> None:
        super().__init__()
        self._quoted = quoted
        self.styles.height = min(QUOTED, len(quoted))

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found: list[Line] = [
            fit((("│ ", "rule"), (shown(one), "muted")), width) for one in self._quoted[:height]
        ]
        more = len(self._quoted) - height
        if more > 0 and found:
            found[-1] = (("│ ", "rule"), (f"… {more + 1} more lines", "muted"))
        return found


class SendDialog(Dialog[bool]):
    """Shows the prompt of a round. Returns whether to send it at once; None does not send it."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("enter,ctrl+s", "send", show=False),
        Binding("ctrl+n", "send_now", show=False),
        Binding("j,down", "scroll_text(1)", show=False),
        Binding("k,up", "scroll_text(-1)", show=False),
        Binding("pagedown,space", "scroll_text(10)", show=False),
        Binding("pageup", "scroll_text(-10)", show=False),
    ]

    def __init__(self, agent: Agent, text: str, count: int) -> None:
        super().__init__()
        self._agent = agent
        self._text = text
        self._count = count

    def body(self) -> Iterable[Widget]:
        yield PromptText(self._text, id="text")

    def titles(self) -> tuple[Line, Line]:
        what = "comment" if self._count == 1 else "comments"
        left: Line = (
            (f"Send {self._count} {what}", "bold foreground"),
            (f"  to {clean(self._agent.name)}, as one prompt", "muted"),
        )
        is_busy = self._agent.status not in (Status.IDLE, Status.DONE)
        return left, (("busy: queued until idle", "muted"),) if is_busy else ()

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("j k", "scroll"), ("ctrl+n", "send now"), ("esc", "back")

    def primary(self) -> Line:
        return chip("↵", "send")

    def action_send(self) -> None:
        self.dismiss(False)

    def action_send_now(self) -> None:
        self.dismiss(True)

    def action_scroll_text(self, rows: int) -> None:
        self.query_one(PromptText).scroll_text(rows)


class PromptText(LineView):
    """A text to be read, wrapped and scrolled."""

    def __init__(self, text: str, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._text = text
        self._top = 0

    def lines(self, width: int, height: int) -> Sequence[Line]:
        said = text_lines(self._text, width, most=10_000)
        self._top = max(0, min(self._top, len(said) - height))
        return [((line, ""),) for line in said[self._top : self._top + height]]

    def scroll_text(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_text(3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_text(-3)


class AgainstRows(PickerRows[tuple[str, str]]):
    """What the agent can be compared with: a name, and what it is."""

    def name_of(self, item: tuple[str, str]) -> str:
        return item[0]

    def words_of(self, item: tuple[str, str]) -> str:
        return " ".join(item)

    def row(self, item: tuple[str, str], width: int, is_chosen: bool) -> Line:
        name, kind = item
        mark: Line = (("▌ " if is_chosen else "  ", "accent"),)
        said = (
            *mark,
            *column(((clean(name), "bold" if is_chosen else ""),), max(12, width // 2)),
            (clean(kind), "muted"),
        )
        return fit(said, width)

    def nothing(self, wanted: str) -> str:
        return (
            f"no agent is called so; ↵ takes {clean(wanted)} as a branch or commit"
            if wanted
            else "no other agent"
        )


class AgainstPicker(Picker[tuple[str, str]]):
    """Returns the name of an agent, a branch or a commit, or `BASE`."""

    heading = "Compare with"
    placeholder = "an agent, a branch or a commit"

    def __init__(self, agent: Agent, others: Sequence[Agent]) -> None:
        rows = [
            (BASE, "what it started from"),
            *((one.name, str(one.status)) for one in others if one.id != agent.id),
        ]
        super().__init__(AgainstRows(rows, id="rows"))

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("↑↓", "choose"), ("↵", "select"), ("esc", "back")


class ReviewHelp(Dialog[None]):
    heading = "Keys of the review"

    def __init__(self, table: Sequence[ReviewKey] = (), heading: str = "") -> None:
        super().__init__()
        self._table = table
        self.heading = heading or self.heading

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("question_mark,q,enter", "leave", show=False),
        Binding("j,down", "scroll_keys(1)", show=False),
        Binding("k,up", "scroll_keys(-1)", show=False),
    ]

    def body(self) -> Iterable[Widget]:
        yield ReviewKeys(self._table, id="keys")

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("j k", "scroll"), ("esc", "close")

    def action_scroll_keys(self, rows: int) -> None:
        self.query_one(ReviewKeys).scroll_lines(rows)


class ReviewKeys(LineView):
    def __init__(self, table: Sequence[ReviewKey], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._table = table
        self._top = 0

    def lines(self, width: int, height: int) -> Sequence[Line]:
        found = key_columns(groups(self._table), width, 5)
        self._top = max(0, min(self._top, len(found) - height))
        return found[self._top : self._top + height]

    def scroll_lines(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()

    def on_mouse_scroll_down(self) -> None:
        self.scroll_lines(3)

    def on_mouse_scroll_up(self) -> None:
        self.scroll_lines(-3)
