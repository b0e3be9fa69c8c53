"""The base of new agents: the field for it, and the dialog that lists branches and tags."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from textual import events, on
from textual.message import Message
from textual.widget import Widget

from fleet_tui.errors import FleetError
from fleet_tui.models import StartPoint
from fleet_tui.quantities import age
from fleet_tui.tui.dialogs.dialog import Dialog, LabeledField
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line, LineView, both_ends, clean, fit
from fleet_tui.tui.worker_client import WorkerCrashed

Ask = Callable[..., Awaitable[Any]]
"""Calls a verb in the worker."""
SETTLES_SECONDS = 0.15
"""Seconds after the last key before the base is looked up."""
ROWS = 14
NAME_WIDTH = 30


def described(base: StartPoint, now: float) -> str:
    """The commit, its subject and its age."""
    return f"{base.commit[:7]} {clean(base.subject)}, {age(max(0.0, now - base.at))} ago"


class BaseField(LabeledField):
    """A branch, tag or commit; empty for where HEAD is."""

    class Known(Message):
        """The lookup is done: the base and the bytes of its worktree, or the problem."""

        def __init__(self, name: str, base: StartPoint | None, size: int = 0, problem: str = "") -> None:
            super().__init__()
            self.name = name
            """The text of the field."""
            self.base = base
            self.size = size
            self.problem = problem

    def __init__(self, usual: str, ask: Ask, now: float) -> None:
        super().__init__("base", Input(placeholder=usual or "HEAD", id="base"), note="↓ pick")
        self._ask = ask
        self._now = now

    @property
    def value(self) -> str:
        return self.query_one(Input).value.strip()

    def on_mount(self) -> None:
        self._look("")

    @on(Input.Changed)
    def _typed(self) -> None:
        self._look(self.value)

    def _look(self, name: str) -> None:
        self.run_worker(self._looked_up(name), exclusive=True, exit_on_error=False)

    async def _looked_up(self, name: str) -> None:
        await asyncio.sleep(SETTLES_SECONDS if name else 0.0)
        try:
            base, size = await self._ask("start_point", name)
        except (FleetError, WorkerCrashed) as error:
            self._tell(self.Known(name, None, problem=str(error)))
            return
        if not name:
            self.query_one(Input).placeholder = f"{clean(base.name) or 'HEAD'}  {described(base, self._now)}"
        self._tell(self.Known(name, base, size))

    def _tell(self, known: Known) -> None:
        self.query_one(Input).set_class(known.base is None, "wrong")
        self.post_message(known)

    def on_key(self, event: events.Key) -> None:
        if event.key == "down":
            event.stop()
            self.pick()

    def pick(self) -> None:
        """Open the list of branches and tags."""
        self.run_worker(self._pick(), group="pick", exclusive=True, exit_on_error=False)

    async def _pick(self) -> None:
        try:
            bases: Sequence[StartPoint] = await self._ask("start_points")
        except (FleetError, WorkerCrashed) as error:
            self.notify(str(error), severity="error")
            return
        self.app.push_screen(BasePicker(bases, self._now), self._picked)

    def _picked(self, name: str | None) -> None:
        if name is not None:
            field = self.query_one(Input)
            field.value = name
            field.focus()


class BasePicker(Dialog[str]):
    """Returns the name of a base."""

    heading = "Base"
    explains = "what the new branches start from"

    def __init__(self, bases: Sequence[StartPoint], now: float) -> None:
        super().__init__()
        self._bases = bases
        self._now = now

    def body(self) -> Iterable[Widget]:
        yield Input(placeholder="type to filter, or write any commit", id="search")
        yield BaseRows(self._bases, self._now, id="rows")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(BaseRows).styles.height = max(1, min(ROWS, len(self._bases)))
        self.query_one(Input).focus()

    def titles(self) -> tuple[Line, Line]:
        rows = self.query(BaseRows)
        found = len(rows.first().found) if rows else len(self._bases)
        total = len(self._bases)
        said = f"{total}" if found == total else f"{found} of {total}"
        return super().titles()[0], ((said, "muted"),)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ("↑↓", "choose"), ("↵", "take it"), ("esc", "back to the form")

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self.query_one(BaseRows).search(event.value)
        self.entitle()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        found = self.query_one(BaseRows).chosen
        name = found.name if found is not None else event.value.strip()
        if name:
            self.dismiss(name)

    def on_key(self, event: events.Key) -> None:
        moves = {"down": 1, "up": -1, "pagedown": ROWS - 1, "pageup": 1 - ROWS}
        if event.key in moves:
            event.stop()
            event.prevent_default()
            self.query_one(BaseRows).move(moves[event.key])

    def on_base_rows_clicked(self, event: BaseRows.Clicked) -> None:
        self.dismiss(event.name)


class BaseRows(LineView):
    """The bases that match, one of them selected."""

    class Clicked(Message):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def __init__(self, bases: Sequence[StartPoint], now: float, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._bases = bases
        self.found = list(bases)
        self._now = now
        self._place = 0
        self._top = 0
        self._wanted = ""

    @property
    def chosen(self) -> StartPoint | None:
        return self.found[self._place] if self.found else None

    def search(self, text: str) -> None:
        words = text.lower().split()
        self._wanted = text.strip()
        self.found = [
            base
            for base in self._bases
            if all(word in f"{base.name} {base.subject} {base.commit}".lower() for word in words)
        ]
        self._place = self._top = 0
        self.redraw()

    def move(self, step: int) -> None:
        self._place = max(0, min(len(self.found) - 1, self._place + step))
        height = max(1, self.size.height)
        self._top = max(self._place - height + 1, min(self._top, self._place))
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        if not self.found:
            return [((f" no branch or tag matches; ↵ takes {clean(self._wanted)!r} as a commit", "muted"),)]
        shown = self.found[self._top : self._top + height]
        return [self._row(base, width, base is self.chosen) for base in shown]

    def _row(self, base: StartPoint, width: int, is_chosen: bool) -> Line:
        ground = " on sel" if is_chosen else ""
        name = fit(((clean(base.name), f"bold{ground}"),), min(NAME_WIDTH, width // 2), fill=ground.strip())
        left: Line = (
            ("▌" if is_chosen else " ", f"bar{ground}"), *name,
            (f"  {base.commit[:7]}  ", f"muted{ground}"), (clean(base.subject), f"foreground{ground}"),
        )  # fmt: skip
        line = both_ends(left, ((f"{age(max(0.0, self._now - base.at)):>5} ", f"muted{ground}"),), width)
        return tuple((text, role or f"foreground{ground}") for text, role in line)

    def on_click(self, event: events.Click) -> None:
        place = self._top + event.y
        if place < len(self.found):
            self.post_message(self.Clicked(self.found[place].name))

    def on_mouse_scroll_down(self) -> None:
        self.move(1)

    def on_mouse_scroll_up(self) -> None:
        self.move(-1)
