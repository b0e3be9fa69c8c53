"""The trust dialog: what a project's files ask for, before any of it takes effect. A choice's number is its key."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import groupby

from textual import events
from textual.binding import Binding
from textual.geometry import Size
from textual.widget import Widget

from fleet_tui.config.settings import PART_EFFECTS
from fleet_tui.models import TrustRequest, TrustRequestLine
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.dialog import LOW, NARROW, Dialog
from fleet_tui.tui.widgets.fields import Static
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, LineView, content, fit, length, wrap

OWN, TRUST = "own", "trust"
"""Results: start with the user's own settings, or trust what was shown."""
VERB_CELLS, NUMBER_CELLS, MARK_CELLS = 7, 6, 3
AROUND, AROUND_LOW = 11, 7
"""Lines of the dialog without the list, also in a low terminal."""
MOST_ROWS = 10_000
SCROLL_KEYS = (
    Binding("j,down", "scroll_lines(1)", show=False),
    Binding("k,up", "scroll_lines(-1)", show=False),
    Binding("space,pagedown", "scroll_pages(1)", show=False),
    Binding("b,pageup", "scroll_pages(-1)", show=False),
    Binding("g,home", f"scroll_lines(-{MOST_ROWS})", show=False),
    Binding("G,end", f"scroll_lines({MOST_ROWS})", show=False),
)
TRUST_KEY = "2"
PAUSE_SECONDS = 0.5
"""Ignore keys that were typed before the question was seen."""


class Scrolled(LineView):
    """Scrolls rows by line and by page; knows whether the last one is visible."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.top = 0

    def rows(self, width: int) -> Sequence[Line]:
        raise NotImplementedError

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return self.rows(width)[self.top :]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.rows(width))

    @property
    def is_at_end(self) -> bool:
        return bool(self.size) and self.top + self.size.height >= len(self.rows(self.size.width))

    @property
    def page(self) -> int:
        """Rows to scroll by for a page: one row stays visible."""
        return max(1, self.size.height - 1)

    def move(self, by: int) -> None:
        last = max(0, len(self.rows(self.size.width)) - self.size.height)
        self.top = max(0, min(self.top + by, last))
        self.redraw()

    def on_resize(self) -> None:
        self.move(0)
        super().on_resize()

    def on_mouse_scroll_down(self) -> None:
        self.move(3)

    def on_mouse_scroll_up(self) -> None:
        self.move(-3)


class TrustDialog(Dialog[str]):
    """Returns `own` or `trust`; None when it is closed."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("1,enter", "choose('own')", show=False),
        Binding(TRUST_KEY, "choose('trust')", show=False),
        Binding("3", "look", show=False),
        *SCROLL_KEYS,
    ]

    def __init__(self, asked: TrustRequest) -> None:
        super().__init__()
        self._asked = asked
        self.has_paused = False
        self._seen_at: float | None = None
        """When all of it had been visible."""

    def titles(self) -> tuple[Line, Line]:
        asked = self._asked
        left: Line = (
            ("◆ ", "warning"), ("trust", "bold warning"), (f"  {asked.name}", "bold foreground"),
            (f"  {asked.file}", "muted"),
        )  # fmt: skip
        return left, (("asked once, and when it changes", "muted"),)

    def entitle(self) -> None:
        super().entitle()
        if self.is_attached and self.size.width < NARROW:
            left, _ = self.titles()
            self.query_one("#dialog").title(*self.titles(), (left, ()))  # type: ignore[attr-defined]  # it is a Frame

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("1–3", "choose"), ("j k", "line"), ("esc", "start nothing")

    def primary(self) -> Line:
        digest = self._asked.digest
        return ((f"sha256 {digest[:4]}…{digest[-4:]}", "muted"),)

    def body(self) -> Iterable[Widget]:
        wants = "wants something else now …" if self._asked.same else "wants to …"
        yield Static(
            content(((f"This repository's configuration {wants}", ""), ("  nothing of it has run", "muted"))),
            id="says",
        )
        yield AskedValues(self._asked, id="wanted")
        for number in ("1", "2", "3"):
            yield Static(id=f"choice-{number}", classes="choice")

    def on_mount(self) -> None:
        super().on_mount()
        self._show_choices()
        self.set_timer(PAUSE_SECONDS, lambda: self.call_after_refresh(self._end_pause))

    def _end_pause(self) -> None:
        self.has_paused = True
        self._look_for_end()

    def on_resize(self) -> None:
        super().on_resize()
        around = AROUND_LOW if self.size.height < LOW else AROUND
        self.query_one("#wanted").styles.max_height = max(1, self.size.height - around)
        self.entitle()
        self.call_after_refresh(self._look_for_end)

    def _look_for_end(self) -> None:
        """Allow trust once the last line has been visible."""
        if not self.is_attached or self._seen_at is not None or not self.has_paused:
            return
        if self.query_one(AskedValues).is_at_end:
            self._seen_at = time.monotonic()
            self._show_choices()

    def _show_choices(self) -> None:
        count = self._asked.count
        exactly = "this line" if count == 1 else f"these {count} lines"
        trust: Line = ((f"Trust exactly {exactly}", ""), ("  fleet untrust takes it back", "muted"))
        if self._seen_at is None:
            trust = (("Trust it", "faint"), ("  when you have seen all of it: j, space", "faint"))
        for number, said in (
            ("1", (("Start without it", "bold"), ("  your own settings", "muted"))),
            ("2", trust),
            ("3", (("Look at the file …", ""),)),
        ):
            chip = (f" {number} ", CHIP_HERE if number == "1" else "bold accent on field")
            self.query_one(f"#choice-{number}", Static).update(content((chip, ("  ", ""), *said)))

    def on_key(self, event: events.Key) -> None:
        """Ignore a key that was pressed before all was visible: on a busy machine it is handled later."""
        if event.key == TRUST_KEY and self._seen_at is not None and event.time < self._seen_at:
            event.stop()
            self.app.bell()

    def action_choose(self, what: str) -> None:
        if what == TRUST and self._seen_at is None:
            self.app.bell()
            return
        self.dismiss(what)

    def action_look(self) -> None:
        self.app.push_screen(FileDialog(self._asked))

    def action_scroll_lines(self, by: int) -> None:
        self.query_one(AskedValues).move(by)
        self._look_for_end()

    def action_scroll_pages(self, by: int) -> None:
        self.action_scroll_lines(by * self.query_one(AskedValues).page)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.call_after_refresh(self._look_for_end)


class AskedValues(Scrolled):
    """Every value under its verb, with its line in the file."""

    def __init__(self, asked: TrustRequest, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._asked = asked

    def rows(self, width: int) -> Sequence[Line]:
        found: list[Line] = []
        has_numbers = any(line.number for line in self._asked.lines)
        for verb, lines in groupby(self._asked.lines, key=lambda line: line.verb):
            head: Line = ((f"{verb:<{VERB_CELLS}}", "bold"), (PART_EFFECTS[verb], "muted"))
            if not found and has_numbers:
                head = (*fit(head, width - NUMBER_CELLS), (f"{'line':>{NUMBER_CELLS}}", "faint"))
            found.append(head)
            for line in lines:
                found += _value(line, width)
            found.append(())
        asked = self._asked
        if asked.same:
            lines_before = f"{counted(asked.same, 'line')} as before"
            found += [((" " * VERB_CELLS, ""), (lines_before, "muted")), ()]
        found += _facts(asked, width)
        return found


def _value(line: TrustRequestLine, width: int) -> list[Line]:
    """A value as written, wrapped; its meaning beside it if there is room, else below."""
    room = max(8, width - VERB_CELLS - NUMBER_CELLS)
    inner = room - MARK_CELLS
    bold = "bold " if line.is_alarming else ""
    role = "muted on field" if line.change == "−" else f"{bold}foreground on field"
    rows: list[Line] = [((piece, role),) for piece in wrap(line.text, inner, MOST_ROWS)]
    if line.means:
        means = (line.means, "muted on field")
        if length(rows[-1]) + 2 + length((means,)) <= inner:
            rows[-1] = (*rows[-1], ("  ", role), means)
        else:
            rows += [((piece, "muted on field"),) for piece in wrap(line.means, inner, MOST_ROWS)]
    mark = line.change or ("!" if line.is_alarming else " ")
    if line.change and line.is_alarming:
        mark += "!"
    found: list[Line] = []
    for place, row in enumerate(rows):
        is_first = place == 0
        number = str(line.number) if is_first and line.number else ""
        found.append(
            (
                (" " * VERB_CELLS, ""),
                (f"{f' {mark}':<{MARK_CELLS}}" if is_first else " " * MARK_CELLS, "bold warning on field"),
                *fit(row, room - MARK_CELLS, fill="on field"),
                (f"{number:>{NUMBER_CELLS}}", "muted"),
            )
        )
    return found


def _facts(asked: TrustRequest, width: int) -> list[Line]:
    """The restrictions that always apply, and the keys that no repository can set."""
    facts = []
    for verb in ("deny", "ask"):
        rules = [rule for decision, rule in asked.restrictions if decision == verb]
        facts += [(verb, "applies in any case: ", ", ".join(rules))] if rules else []
    if asked.refused:
        numbers = [str(number) for _, number in asked.refused if number]
        where = f" (line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)})" if numbers else ""
        stay = "stays" if len(asked.refused) == 1 else "stay"
        facts.append(
            (
                "not",
                "possible from here: ",
                f"{', '.join(key for key, _ in asked.refused)}{where} {stay} yours",
            )
        )
    found: list[Line] = []
    for verb, lead, text in facts:
        first, *others = wrap(f"{lead}{text}", max(8, width - VERB_CELLS), MOST_ROWS)
        found.append(((f"{verb:<{VERB_CELLS}}", "bold"), (lead, "muted"), (first.removeprefix(lead), "")))
        found += [((" " * VERB_CELLS, ""), (other, "")) for other in others]
    return found


class FileDialog(Dialog[None]):
    """Shows the files, read-only."""

    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("q,3", "leave", show=False),
        *SCROLL_KEYS,
    ]

    def __init__(self, asked: TrustRequest) -> None:
        super().__init__()
        self._asked = asked

    def titles(self) -> tuple[Line, Line]:
        return ((self._asked.name, "bold foreground"), (f"  {self._asked.file}", "muted")), ()

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("j k", "line"), ("space b", "page"), ("esc", "back")

    def body(self) -> Iterable[Widget]:
        yield FileText(self._asked.text, id="file")

    def on_resize(self) -> None:
        super().on_resize()
        self.query_one("#file").styles.max_height = max(1, self.size.height - 4)

    def action_scroll_lines(self, by: int) -> None:
        self.query_one(FileText).move(by)

    def action_scroll_pages(self, by: int) -> None:
        self.action_scroll_lines(by * self.query_one(FileText).page)


class FileText(Scrolled):
    def __init__(self, text: str, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._text = text.split("\n")

    def rows(self, width: int) -> Sequence[Line]:
        found: list[Line] = []
        for number, line in enumerate(self._text, 1):
            first, *others = wrap(line, max(8, width - NUMBER_CELLS), MOST_ROWS)
            found.append(((f"{number:>4}  ", "faint"), (first, "")))
            found += [((" " * NUMBER_CELLS, ""), (other, "")) for other in others]
        return found
