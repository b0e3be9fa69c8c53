"""The base of new agents: the field for it, and the dialog that lists branches and tags."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from textual import on
from textual.message import Message

from fleet_tui.errors import FleetError
from fleet_tui.models import StartPoint
from fleet_tui.quantities import age
from fleet_tui.tui.dialogs.picker import Picker, PickerField, PickerRows
from fleet_tui.tui.widgets.fields import Input
from fleet_tui.tui.widgets.lines import Line, both_ends, clean, fit
from fleet_tui.tui.worker_client import WorkerCrashed

Ask = Callable[..., Awaitable[Any]]
"""Calls a verb in the worker."""
SETTLES_SECONDS = 0.15
"""Seconds after the last key before the base is looked up."""
NAME_WIDTH = 30


def described(base: StartPoint, now: float) -> str:
    """The commit, its subject and its age."""
    return f"{base.commit[:7]} {clean(base.subject)}, {age(max(0.0, now - base.at))} ago"


class BaseField(PickerField):
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
        super().__init__("base", Input(placeholder=usual or "HEAD", id="base"))
        self._ask = ask
        self._now = now

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
            self._post_known(self.Known(name, None, problem=str(error)))
            return
        if not name:
            self.query_one(Input).placeholder = f"{clean(base.name) or 'HEAD'}  {described(base, self._now)}"
        self._post_known(self.Known(name, base, size))

    def _post_known(self, known: Known) -> None:
        self.query_one(Input).set_class(known.base is None, "wrong")
        self.post_message(known)

    def pick(self) -> None:
        """Open the list of branches and tags."""
        self.run_worker(self._pick(), group="pick", exclusive=True, exit_on_error=False)

    async def _pick(self) -> None:
        try:
            bases: Sequence[StartPoint] = await self._ask("start_points")
        except (FleetError, WorkerCrashed) as error:
            self.notify(str(error), severity="error")
            return
        self.app.push_screen(BasePicker(bases, self._now), self.fill)


class BasePicker(Picker[StartPoint]):
    """Returns the name of a base."""

    heading = "Base"
    explains = "what the new branches start from"
    placeholder = "type to filter, or enter any commit"

    def __init__(self, bases: Sequence[StartPoint], now: float) -> None:
        super().__init__(BaseRows(bases, now))


class BaseRows(PickerRows[StartPoint]):
    def __init__(self, bases: Sequence[StartPoint], now: float) -> None:
        super().__init__(bases, id="rows")
        self._now = now

    def name_of(self, item: StartPoint) -> str:
        return item.name

    def words_of(self, item: StartPoint) -> str:
        return f"{item.name} {item.subject} {item.commit}"

    def nothing(self, wanted: str) -> str:
        return f"no branch or tag matches; ↵ uses {clean(wanted)!r} as a commit"

    def row(self, item: StartPoint, width: int, is_chosen: bool) -> Line:
        ground = " on sel" if is_chosen else ""
        name = fit(((clean(item.name), f"bold{ground}"),), min(NAME_WIDTH, width // 2), fill=ground.strip())
        left: Line = (
            ("▌" if is_chosen else " ", f"bar{ground}"), *name,
            (f"  {item.commit[:7]}  ", f"muted{ground}"), (clean(item.subject), f"foreground{ground}"),
        )  # fmt: skip
        line = both_ends(left, ((f"{age(max(0.0, self._now - item.at)):>5} ", f"muted{ground}"),), width)
        return tuple((text, role or f"foreground{ground}") for text, role in line)
