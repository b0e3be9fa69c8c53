"""An agent's log in a full-screen dialog: its scrollback and its screen, with search."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.tui.widgets.detail import clean_line
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, LineView, clean

MOST_LINES = 5000
REFRESH_SECONDS = 0.5
HEAD_LINES = 20
"""Lines at the beginning by which a log is recognized after its oldest lines were dropped."""

Read = Callable[[str, int], Awaitable[list[str]]]


class LogScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS = ""
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "leave", show=False),
        Binding("q", "dismiss", show=False),
        Binding("slash", "search", show=False),
        Binding("n", "find(1)", show=False),
        Binding("N", "find(-1)", show=False),
        Binding("j,down", "scroll_log(1)", show=False),
        Binding("k,up", "scroll_log(-1)", show=False),
        Binding("space,pagedown", "page(1)", show=False),
        Binding("b,pageup", "page(-1)", show=False),
        Binding("g,home", "scroll_log(-1000000)", show=False),
        Binding("G,end", "scroll_log(1000000)", show=False),
    ]

    def __init__(self, agent: Agent, read: Read, *, what: str = "log") -> None:
        super().__init__()
        self._agent = agent
        self._what = what
        """What is read: the agent's log, or what its check prints."""
        self._read = read
        self._is_reading = False

    def compose(self) -> ComposeResult:
        with Frame(id="log"):
            yield LogView(id="lines")
            yield Input(placeholder="search", id="search")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        entries = [
            FooterKey("j k", "line", ("j",)),
            FooterKey("space b", "page", ("space",)),
            FooterKey("g G", "start, end", ("g",)),
            FooterKey("/", "search", ("/",)),
            FooterKey("n N", "next, previous", ("n",)),
        ]
        back = FooterKey("esc", "back", ("escape",))
        self.query_one(Footer).show_list(entries, back, chip=self._what.upper())
        self.query_one("#search").display = False
        self.set_interval(REFRESH_SECONDS, self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        if not self._is_reading:
            self._is_reading = True
            self.run_worker(self._fetch(), exit_on_error=False)

    async def _fetch(self) -> None:
        try:
            lines = await self._read(self._agent.id, MOST_LINES)
        except FleetError as error:
            self.notify(error.hint, title=error.message, severity="error")
            self.dismiss(None)
            return
        finally:
            self._is_reading = False
        if self.is_attached:
            self.query_one(LogView).fill([clean_line(line) for line in lines])
            self._entitle()

    def _entitle(self) -> None:
        view = self.query_one(LogView)
        right: Line = ((f"{view.place}  ", "muted"), ("following" if view.is_at_end else "paused", "muted"))
        self.query_one(Frame).title(
            ((clean(self._agent.name), "bold foreground"), (f"  {self._what}", "muted")), right
        )

    def action_leave(self) -> None:
        if self.focused is not None:
            self.set_focus(None)
            self.query_one("#search").display = False
            self.query_one(LogView).search("")
        else:
            self.dismiss(None)

    def action_search(self) -> None:
        field = self.query_one("#search", Input)
        field.display = True
        field.focus()

    @on(Input.Submitted)
    def _search(self, event: Input.Submitted) -> None:
        self.set_focus(None)
        if not self.query_one(LogView).search(event.value):
            self.notify(f"{event.value!r} is not in the log", severity="warning")
        self._entitle()

    def action_find(self, step: int) -> None:
        self.query_one(LogView).find(step)
        self._entitle()

    def action_scroll_log(self, step: int) -> None:
        self.query_one(LogView).move(step)
        self._entitle()

    def action_page(self, step: int) -> None:
        view = self.query_one(LogView)
        view.move(step * max(1, view.size.height - 2))
        self._entitle()


class FoldedRow(NamedTuple):
    """One row of the screen: a line of the log, or as much of it as fits."""

    place: int
    """The line's index in the log."""
    start: int
    """The index of the row's first character in the line."""
    text: str


class LogView(LineView):
    """Lines of a log, the long ones folded; follows the end unless scrolled back."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._all: list[str] = []
        self._rows: list[FoldedRow] = []
        self._width = 0
        self._folded: dict[str, Sequence[str]] = {}
        """The lines as folded to this width: folding all takes too long to do it whenever a line is added."""
        self._top = 0
        self._wanted = ""
        self._found = -1
        self.is_at_end = True

    @property
    def place(self) -> str:
        shown = self._rows[self._top : self._top + self.size.height]
        return f"{shown[-1].place + 1 if shown else 0} of {len(self._all)}"

    def fill(self, lines: list[str]) -> None:
        if lines != self._all:
            dropped = _dropped(self._all, lines)
            self._found = max(-1, self._found - dropped)
            self._all = lines
            self._fold(dropped)
        self.redraw()

    def on_resize(self) -> None:
        self._fold()

    def _fold(self, dropped: int = 0) -> None:
        """Fold the lines to the width; what is at the top stays there, also when lines before it were dropped."""
        first = self._rows[self._top] if self._top < len(self._rows) else FoldedRow(0, 0, "")
        width = max(1, self.size.width - 1)
        known = self._folded if width == self._width else {}
        self._width = width
        self._folded = {text: known.get(text) or _folded(text, width) for text in self._all}
        self._rows = [
            FoldedRow(place, start, part)
            for place, text in enumerate(self._all)
            for start, part in _with_starts(self._folded[text])
        ]
        top = self._row_of(first.place - dropped, first.start)
        self._top = self._last_top if self.is_at_end else min(top, self._last_top)

    @property
    def _last_top(self) -> int:
        return max(0, len(self._rows) - self.size.height)

    def _row_of(self, place: int, at: int = 0) -> int:
        """The index of the row that shows this character of the line."""
        after = bisect_right(self._rows, (place, at), key=lambda row: (row.place, row.start))
        return max(0, after - 1)

    def move(self, step: int) -> None:
        self._top = max(0, min(self._last_top, self._top + step))
        self.is_at_end = self._top == self._last_top
        self.redraw()

    def on_mouse_scroll_down(self) -> None:
        self.move(3)

    def on_mouse_scroll_up(self) -> None:
        self.move(-3)

    def search(self, text: str) -> bool:
        """Go to the last line that has the text; returns whether there is one."""
        self._wanted = text.lower()
        self._found = len(self._all)
        return not text or self.find(-1)

    def find(self, step: int) -> bool:
        if not self._wanted:
            return False
        places = range(self._found + 1, len(self._all)) if step > 0 else range(self._found - 1, -1, -1)
        found = next((place for place in places if self._wanted in self._all[place].lower()), None)
        if found is None:
            return False
        self._found = found
        row = self._row_of(found, self._all[found].lower().find(self._wanted))
        self.move(row - self._top - self.size.height // 2)
        return True

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self._all:
            return [((" nothing has been printed yet", "muted"),)]
        return [self._line(row) for row in self._rows[self._top : self._top + height]]

    def _line(self, row: FoldedRow) -> Line:
        text = row.text
        at = self._all[row.place].lower().find(self._wanted) if self._wanted else -1
        start, end = (max(0, edge - row.start) for edge in (at, at + len(self._wanted)))
        if at < 0 or start >= len(text) or not end:
            return ((" ", ""), (text, ""))
        role = "bold reverse accent" if row.place == self._found else "bold accent"
        return ((" ", ""), (text[:start], ""), (text[start:end], role), (text[end:], ""))


def _dropped(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines of the beginning are no longer there: a log shows only so many of its last lines."""
    if len(new) < MOST_LINES:
        return 0
    head = new[:HEAD_LINES]
    return next((count for count in range(len(old)) if old[count : count + HEAD_LINES] == head), 0)


def _folded(text: str, width: int) -> Sequence[str]:
    # Measuring takes a third of the time of folding. No character has more than two cells.
    if 2 * len(text) <= width or cell_len(text) <= width:
        return (text,)
    return chop_cells(text, width) or (text,)


def _with_starts(parts: Iterable[str]) -> Iterator[tuple[int, str]]:
    start = 0
    for part in parts:
        yield start, part
        start += len(part)
