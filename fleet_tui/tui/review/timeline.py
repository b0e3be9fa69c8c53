"""The timeline of an agent: its checkpoints on the left, what the selected one changed on the right.

Asks the worker for both, and follows the agent while it works: the selected checkpoint stays selected.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, Status
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput
from fleet_tui.tui.review.keys import bound, footer_keys
from fleet_tui.tui.review.review_dialogs import ReviewHelp
from fleet_tui.tui.review.sentences import failed
from fleet_tui.tui.review.stacked_diff import StackedDiff
from fleet_tui.tui.review.surroundings import Surroundings
from fleet_tui.tui.review.timeline_header import TimelineHeader
from fleet_tui.tui.review.timeline_keys import TIMELINE_KEYS
from fleet_tui.tui.review.timeline_panel import TimelinePanel
from fleet_tui.tui.review.timeline_rows import NOW, TimelineRow, rows_of, time_of_day
from fleet_tui.tui.review.timeline_words import (
    NO_CHECKPOINTS,
    ComparedStates,
    counts_of,
    name_of,
    without_changes,
)
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, clean, keys
from fleet_tui.work import Checkpoint, Diff, FileDiff, Timeline

LIVE_SECONDS = 1.5
"""How often the screen asks what there is by now."""
RESTS = 4
"""How many times longer it rests than asking took."""
KEPT = 24
"""Comparisons whose lines are kept."""
NARROW, BIG = 100, 200
_IN_TURN = frozenset({Status.SETUP, Status.STARTING, Status.WORKING, Status.BLOCKED})


class TimelineScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [Binding(key, action, says, show=False) for key, action, says in bound(TIMELINE_KEYS)]  # noqa: RUF012 - Textual's own way

    def __init__(self, agent: Agent, surroundings: Surroundings, fork: Callable[[Agent, int], None]) -> None:  # fmt: skip
        super().__init__()
        self.agent = agent
        self.timeline: Timeline | None = None
        self.rows: list[TimelineRow] = []
        self._around = surroundings
        self._fork = fork
        self._place = 0
        self._marked: tuple[int, ...] = ()
        """The numbers of marked rows, at most two."""
        self._pair: ComparedStates | None = None
        """Two checkpoints that were chosen; None follows the selection."""
        self._against_start = False
        self._known: dict[tuple[ComparedStates, object], tuple[Diff, tuple[FileDiff, ...]]] = {}
        self._drawn: ComparedStates | None = None
        """What the lines on the right are of."""
        self._failure: FleetError | None = None

    # ── composing ───────────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield TimelineHeader(id="header")
        with Container(id="body"):
            with Frame(id="checkpoints"):
                yield TimelinePanel(id="rows")
            with Frame(id="changes"):
                yield StackedDiff(id="lines")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit(self.app.size.width)
        self._draw()
        self._around.start(self._follow())

    def on_resize(self) -> None:
        self._fit(self.size.width)
        self._draw()

    def _fit(self, width: int) -> None:
        self.set_class(width < NARROW, "-narrow")
        self.set_class(width >= BIG, "-big")
        self.query_one(TimelinePanel).is_short = width < NARROW

    # ── following the agent ─────────────────────────────────────────────────────────────────────────────────────

    async def _follow(self) -> None:
        """Read everything once, and arrange for the next time."""
        began = time.monotonic()
        await self._refresh()
        if self.is_attached:
            rest = max(LIVE_SECONDS, RESTS * (time.monotonic() - began))
            self.set_timer(
                rest if self.app.app_focus else RESTS * rest, lambda: self._around.start(self._follow())
            )

    async def _refresh(self) -> None:
        self.agent = next((one for one in self._around.agents() if one.id == self.agent.id), self.agent)
        try:
            found: Timeline = await self._around.call("checkpoints.timeline", self.agent.id)
            self._failure = None
        except FleetError as error:
            self._failure = error
        else:
            self._take(found)
        if self.is_attached:
            self._draw()
            await self._read_shown()

    def _take(self, found: Timeline) -> None:
        selected = self.rows[self._place].number if self.rows else None
        self.timeline = found
        self.rows = rows_of(found, self.agent)
        if selected is None:
            # What has been saved last says more than what has not been saved yet.
            self._place = 1 if len(self.rows) > 1 and self.rows[0].number == NOW else 0
        else:
            self._place = next((at for at, row in enumerate(self.rows) if row.number == selected), 0)

    # ── what is compared ────────────────────────────────────────────────────────────────────────────────────────

    @property
    def row(self) -> TimelineRow | None:
        return self.rows[self._place] if self.rows else None

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The selected checkpoint; None for the files now."""
        row = self.row
        return self._by_number(row.number) if row is not None else None

    def _by_number(self, number: int) -> Checkpoint | None:
        found = self.timeline.checkpoints if self.timeline is not None else ()
        return next((one for one in found if one.number == number), None)

    @property
    def shown(self) -> ComparedStates | None:
        """What the right side is about."""
        row = self.row
        if self._pair is not None or row is None:
            return self._pair
        if row.number == NOW:
            start = 0 if self._against_start else self._newest()
            return ComparedStates(start, "now")
        return ComparedStates(row.number, "base" if self._against_start else "")

    def _newest(self) -> int:
        found = self.timeline.checkpoints if self.timeline is not None else ()
        return found[-1].number if found else 0

    def _key(self, shown: ComparedStates) -> tuple[ComparedStates, object]:
        """Checkpoints do not change; the files now do."""
        now = self.timeline.now if self.timeline is not None else None
        return shown, (now.new if now is not None and shown.against == "now" else None)

    async def _read_shown(self) -> None:
        shown = self.shown
        if shown is None:
            return
        key = self._key(shown)
        if key not in self._known:
            try:
                self._known[key] = await self._around.call(
                    "checkpoints.lines", self.agent.id, shown.number, against=shown.against
                )
            except FleetError as error:
                self._failure = error
            while len(self._known) > KEPT:
                del self._known[next(iter(self._known))]
        if self.is_attached:
            self._draw()

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _draw(self) -> None:
        if not self.is_attached:
            return
        timeline = self.timeline
        count = sum(one.number > 0 for one in timeline.checkpoints) if timeline is not None else 0
        days = timeline.kept_days if timeline is not None else 0
        self.query_one(TimelineHeader).show(self.agent, count, days, self._around.now())
        self.query_one(TimelinePanel).show(self.rows, self._place, frozenset(self._marked), self._sentence())
        left = self.query_one("#checkpoints", Frame)
        left.title((("Checkpoints", "bold foreground"),), (("newest first", "muted"),), ((("Checkpoints", "bold foreground"),), ()))  # fmt: skip
        left.foot((), keys(("R", "restore"), ("F", "fork from here")) if self.checkpoint is not None else ())
        self._draw_changes()
        self._show_footer()

    def _sentence(self) -> Sequence[Line]:
        if self.timeline is None:
            problem = self._failure
            return failed(problem.message, problem.hint) if problem else ((), (("  reading", "muted"),))
        return () if any(one.number for one in self.timeline.checkpoints) else NO_CHECKPOINTS

    def _draw_changes(self) -> None:
        frame, view, shown = self.query_one("#changes", Frame), self.query_one(StackedDiff), self.shown
        known = self._known.get(self._key(shown)) if shown is not None else None
        if shown is None:
            frame.title(())
            frame.foot((), ())
            view.show(None, (), (), is_same=False)
            return
        heading, facts = self._title(shown)
        is_same = shown == self._drawn
        if known is None:
            frame.title(heading, ())
            view.show(None, (), ((), (("  reading", "muted"),)), is_same=False)
        else:
            diff, files = known
            frame.title((*heading, *facts), counts_of(diff), (heading, counts_of(diff)), (heading, ()))
            view.show(diff, files, without_changes(diff, shown), is_same=is_same)
        self._drawn = shown if known is not None else None
        frame.foot(self._notice(), (("restoring saves what is there first", "muted"),))

    def _title(self, shown: ComparedStates) -> tuple[Line, Line]:
        one = self._by_number(shown.number)
        name = name_of(one) if one is not None else ""
        if shown.against == "now":
            return (("now", "bold foreground"),), ((f"  against {name}", "muted"),)
        when = time_of_day(one.at) if one is not None else ""
        other = self._compared_with(shown)
        return ((name, "bold foreground"),), (
            (f"  {when}, against {other}" if other else f"  {when}", "muted"),
        )

    def _compared_with(self, shown: ComparedStates) -> str:
        found = [
            one for one in (self.timeline.checkpoints if self.timeline else ()) if one.number < shown.number
        ]
        if shown.against == "base":
            return "its start"
        if shown.against:
            one = self._by_number(int(shown.against))
            return name_of(one) if one is not None else shown.against
        return (time_of_day(found[-1].at) if found[-1].number else "its start") if found else ""

    def _notice(self) -> Line:
        if self._failure is not None and self.timeline is not None:
            return (("! ", "bold warning"), (clean(self._failure.message), "muted"))
        one = self.checkpoint
        if one is not None and one.left_out:
            said = f"not in it: {', '.join(map(clean, one.left_out[:3]))}"
            return (("! ", "bold warning"), (said, "muted"))
        return ()

    def _show_footer(self) -> None:
        labels = {
            "compare": "diff of two" if len(self._marked) == 2 else "",
            "base": "against the one before" if self._against_start else "against the start",
        }
        help_key = FooterKey("?", "help", ("?",))
        self.query_one(Footer).show_list(footer_keys(labels, TIMELINE_KEYS), help_key, chip="TIMELINE")

    # ── keys that move ──────────────────────────────────────────────────────────────────────────────────────────

    def _select(self, place: int) -> None:
        if not self.rows:
            return
        self._place = max(0, min(place, len(self.rows) - 1))
        self._pair = None
        self._draw()
        self._around.start(self._read_shown())

    def action_select(self, step: int) -> None:
        self._select(self._place + step)

    def action_edge(self, direction: int) -> None:
        self._select(0 if direction < 0 else len(self.rows) - 1)

    @on(TimelinePanel.Clicked)
    def _clicked(self, event: TimelinePanel.Clicked) -> None:
        self._select(event.place)

    def action_scroll(self, step: int) -> None:
        self.query_one(StackedDiff).scroll_rows(step)

    def action_page(self, direction: int) -> None:
        self.query_one(StackedDiff).page(direction)

    # ── keys that compare ───────────────────────────────────────────────────────────────────────────────────────

    def action_mark(self) -> None:
        """Mark the selected row; of more than two the first is dropped."""
        row = self.row
        if row is None:
            return
        others = tuple(number for number in self._marked if number != row.number)
        self._marked = others if row.number in self._marked else (*others, row.number)[-2:]
        self._draw()

    def action_compare(self) -> None:
        if len(self._marked) != 2:
            self.notify("mark two with space first", timeout=3)
            return
        if NOW in self._marked:
            self._pair = ComparedStates(max(self._marked), "now")
        else:
            self._pair = ComparedStates(max(self._marked), str(min(self._marked)))
        self._marked = ()
        self._draw()
        self._around.start(self._read_shown())

    def action_base(self) -> None:
        self._against_start = not self._against_start
        self._pair = None
        self._draw()
        self._around.start(self._read_shown())

    # ── keys that change something ──────────────────────────────────────────────────────────────────────────────

    def action_restore(self) -> None:
        one = self.checkpoint
        if one is None:
            self.notify("select a checkpoint to restore", timeout=3)
            return
        is_busy = self.agent.status in _IN_TURN
        said = (
            f"The files of {clean(self.agent.name)} become as they were at {time_of_day(one.at)} ({name_of(one)}). "
            "What is there now is saved as a checkpoint first. Commits, the index and ignored files stay."
        )
        if is_busy:
            said += f"\n\n{clean(self.agent.name)} is {self.agent.status}: its program may be writing files."
        question = Confirm("Restore", said, "restore anyway" if is_busy else "restore")

        def decided(is_wanted: bool | None) -> None:
            if is_wanted:
                self._around.start(self._restore(one, force=is_busy))

        self.app.push_screen(question, decided)

    async def _restore(self, one: Checkpoint, *, force: bool) -> None:
        done = await self._around.call("checkpoints.restore", self.agent.id, one.number, force=force)
        said = f"{counted(done.changed, 'file')} brought back; what was there is checkpoint {done.saved}"
        self.notify(said if done.changed else "its files are like that already")
        for problem, names in (
            ("only pointers of Git LFS", done.pointers),
            ("submodules stay", done.submodules),
        ):
            if names:
                self.notify(f"{problem}: {', '.join(map(clean, names[:5]))}", severity="warning")
        self._place = 0
        await self._refresh()

    def action_make(self) -> None:
        self._around.start(self._make())

    async def _make(self) -> None:
        _, is_new = await self._around.call("checkpoints.make", self.agent.id)
        if not is_new:
            self.notify("nothing has changed since the newest checkpoint", timeout=3)
        await self._refresh()

    def action_rename(self) -> None:
        one = self.checkpoint
        if one is None or not one.number:
            self.notify("select a checkpoint to name", timeout=3)
            return
        question = ConfirmInput("Name", "A named checkpoint is kept as long as its agent.", label="name", value="", does="save")  # fmt: skip

        def decided(name: str | None) -> None:
            if name:
                self._around.start(self._rename(one, name))

        self.app.push_screen(question, decided)

    async def _rename(self, one: Checkpoint, name: str) -> None:
        await self._around.call("checkpoints.rename", self.agent.id, one.number, name)
        await self._refresh()

    def action_fork(self) -> None:
        one = self.checkpoint
        if one is None:
            self.notify("select a checkpoint to fork from", timeout=3)
        else:
            self._fork(self.agent, one.number)

    def action_help(self) -> None:
        self.app.push_screen(ReviewHelp(TIMELINE_KEYS, "Keys of the timeline"))

    def action_leave(self) -> None:
        self.dismiss(None)
