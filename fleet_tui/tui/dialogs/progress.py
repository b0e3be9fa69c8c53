"""The progress of a launch, one line per agent: worktree, setup, starting, working. Closing it stops nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len
from textual.binding import Binding
from textual.widget import Widget

from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, LineView, TextPart, both_ends, clean, column, fit, keys, length
from fleet_tui.tui.widgets.statuses import MOVING
from fleet_tui.tui.worker_protocol import LaunchStep

STEPS = ("worktree", "setup", "starting", "working")
STEP_WIDTH = 12
FAILED = -1
TICK_SECONDS = 0.25
SETTLES_AFTER = 1.5
"""Seconds after all were started; an agent without output by then runs silently."""
CLOSES_AFTER = 1.0
"""Seconds after all run; a failure keeps the dialog open."""


class Track:
    """The progress of one agent."""

    def __init__(self, agent: Agent, started: float) -> None:
        self.agent = agent
        self.place = 0
        self.note = ""
        self.over_at: float | None = None
        """When it ran or failed."""
        self._started = started

    def move(self, place: int, note: str, now: float) -> None:
        if self.place == FAILED or (place != FAILED and place < self.place):
            return
        self.place = place
        self.note = note or self.note
        if self.is_over and self.over_at is None:
            self.over_at = now
            if place != FAILED:
                self.note = f"ready in {now - self._started:.1f} s"

    @property
    def is_over(self) -> bool:
        return self.place in (FAILED, len(STEPS) - 1)


def _order(agent: Agent) -> tuple[float, int, str]:
    """Sort key of names in the order of the request: Z comes before AA."""
    return agent.created_at, len(agent.name), agent.name


class ProgressDialog(Dialog[bool]):
    """Returns True when the rest is to be stopped."""

    BINDINGS = [Binding("enter", "leave", show=False), Binding("x", "stop_rest", show=False)]  # noqa: RUF012 - Textual's own way

    def __init__(self, what: str, count: int, verb: str) -> None:
        super().__init__()
        self.heading = {"fanout": "Fan-out", "multi": "Multi", "create": "New agent"}.get(verb, "Starting")
        self._what = what
        self._count = count
        self.clock: Callable[[], float] = time.monotonic
        self._started = self.clock()
        self._tracks: dict[str, Track] = {}
        self._tick = 0
        self.has_failed = False
        """The whole launch failed: no agent was started."""
        self._made_at: float | None = None
        self._over_at: float | None = None

    @property
    def agents(self) -> list[Agent]:
        return [track.agent for track in self._tracks.values()]

    def body(self) -> Iterable[Widget]:
        yield Tracks(self, id="tracks")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(Tracks).styles.height = self._height()
        self.set_interval(TICK_SECONDS, self._tock)

    def _height(self) -> int:
        return min(2 * self._count + 6, self.app.size.height - 4)

    def titles(self) -> tuple[Line, Line]:
        count = f", {self._count} agents" if self._count > 1 else ""
        passed = (self.clock() if self._over_at is None else self._over_at) - self._started
        return ((self.heading, "bold foreground"), (f"  {clean(self._what)}{count}", "muted")), (
            (f"{passed:.1f} s", "muted"),
        )

    def entitle(self) -> None:
        if not self.is_attached:
            return
        is_over = self._over_at is not None
        frame = self.query_one("#dialog", Frame)
        frame.title(*self.titles())
        frame.foot(
            ((self._said(), "muted"),), keys(("esc", "close"), *([] if is_over else [("x", "stop the rest")]))
        )

    def _said(self) -> str:
        if self._over_at is None or self.has_failed:
            return "agents keep starting when you close this"
        failed = sum(track.place == FAILED for track in self._tracks.values())
        return f"{failed} failed; created worktrees are kept" if failed else "all running"

    # ── progress ───────────────────────────────────────────────────────────────────────────────────────────

    def take(self, step: LaunchStep) -> None:
        """Take a report of the launcher."""
        track = self._track(step.agent)
        now = self.clock()
        if step.step == "failed":
            track.move(FAILED, step.note, now)
        elif step.step == "files":
            track.note = step.note
        elif step.step in STEPS:
            track.move(STEPS.index(step.step), step.note, now)
        self._draw()

    def take_state(self, state: FleetState) -> None:
        """Take statuses from the store: a program that runs is past starting."""
        now = self.clock()
        for agent in state.agents:
            track = self._tracks.get(agent.id)
            if track is None:
                continue
            if agent.status in (Status.FAILED, Status.LOST):
                track.move(FAILED, agent.status_detail, now)
            elif agent.status is Status.SETUP and agent.keeper_pid:
                track.move(1, agent.status_detail, now)
            elif agent.status is Status.STARTING:
                is_silent = self._made_at is not None and now - self._made_at > SETTLES_AFTER
                track.move(3 if is_silent else 2, "", now)
            elif agent.status is not Status.SETUP:
                track.move(3, "", now)
        self._draw()

    def finish(self, made: Sequence[Agent]) -> None:
        self._made_at = self.clock()
        for agent in made:
            self._track(agent)
        self.take_state(FleetState(tuple(made), ()))

    def fail(self) -> None:
        self.has_failed = True
        if self.is_attached:
            self.dismiss(False)

    def _track(self, agent: Agent) -> Track:
        return self._tracks.setdefault(agent.id, Track(agent, self._started))

    def _tock(self) -> None:
        self._tick += 1
        state = getattr(self.app, "fleet_state", None)
        if state is not None:
            self.take_state(state)
        tracks = list(self._tracks.values())
        if len(tracks) >= self._count and all(track.is_over for track in tracks):
            self._over_at = max(track.over_at or self._started for track in tracks)
            if all(track.place != FAILED for track in tracks) and self.clock() - self._over_at > CLOSES_AFTER:
                self.dismiss(False)
                return
        self._draw()

    def _draw(self) -> None:
        if self.is_mounted:
            self.query_one(Tracks).redraw()
            self.entitle()

    def action_stop_rest(self) -> None:
        self.dismiss(True)

    # ── drawing ───────────────────────────────────────────────────────────────────────────────────────────

    def lines(self, width: int, height: int) -> list[Line]:
        is_narrow = width < 90
        step_width = 10 if is_narrow else STEP_WIDTH
        names = max((cell_len(clean(track.agent.name)) for track in self._tracks.values()), default=12)
        head = min(names + 12, width // 3)
        found: list[Line] = [(), ((" " * head, ""), *((f"{step:<{step_width}}", "muted") for step in STEPS))]
        is_tight = 2 * self._count + 6 > height
        for track in self._in_order():
            found += [*([] if is_tight else [()]), self._line(track, names, head, step_width, width)]
        missing = self._count - len(self._tracks)
        if missing > 0:
            found += [(), ((f"  {missing} more to start", "muted"),)]
        return [*found[: height - 3], (), *self._total(width)]

    def _in_order(self) -> list[Track]:
        """By name, in whatever order the reports came."""
        return sorted(self._tracks.values(), key=lambda track: _order(track.agent))

    def _line(self, track: Track, names: int, head: int, step_width: int, width: int) -> Line:
        profile = clean(track.agent.profile.rsplit("/", 1)[-1])
        name = fit(((clean(track.agent.name), "bold"),), names)
        who = column((*name, (f"  {profile}", "muted")), head)
        note = clean(track.note)
        if track.place == FAILED:
            return fit((*who, ("✗ failed  ", "error"), (note, "")), width)
        steps: Line = (*who, *self._rail(track.place, step_width))
        if width < 80:
            return fit(steps, width)
        # Setup commands may be of any length, so the step is named before them.
        return (*steps, ("  ", ""), *fit(((note, "muted"),), width - length(steps) - 2, right=True))

    def _rail(self, place: int, step_width: int) -> list[TextPart]:
        parts: list[TextPart] = []
        rail = step_width - 3
        for index in range(len(STEPS)):
            is_last = index == len(STEPS) - 1
            if index < place or (is_last and place == index):
                parts.append(("●", "primary") if is_last else ("✓", "success"))
                parts += [] if is_last else [(" " + "━" * rail + " ", "success 45%")]
            elif index == place:
                parts.append((MOVING[self._tick % len(MOVING)], "bold primary"))
                parts += [(" " + "━" * (rail // 2), "primary"), ("━" * (rail - rail // 2) + " ", "track")]
            else:
                parts.append(("○", "faint"))
                parts += [] if is_last else [(" " + "━" * rail + " ", "track")]
        return parts

    def _total(self, width: int) -> list[Line]:
        tracks = list(self._tracks.values())
        done = sum(len(STEPS) - 1 if track.place == FAILED else track.place for track in tracks)
        filled = round(width * done / max(1, self._count * (len(STEPS) - 1)))
        counted = [
            (sum(track.place == place for track in tracks), name)
            for place, name in reversed(list(enumerate(STEPS)))
        ]
        words = [
            f"{number} {'checking out' if name == 'worktree' else 'in setup' if name == 'setup' else name}"
            for number, name in counted
            if number
        ]
        failed = sum(track.place == FAILED for track in tracks)
        words += [f"{failed} failed"] if failed else []
        bar: Line = (("━" * filled, "primary"), ("━" * (width - filled), "track"))
        said: Line = ((", ".join(words) or "preparing", "muted"),)
        return [bar, both_ends(said, ((self._time_left(done), "muted"),), width)]

    def _time_left(self, done: int) -> str:
        """Estimate the rest from the agents that run; nothing is estimated before the first runs."""
        steps = self._count * (len(STEPS) - 1)
        has_example = any(track.place == len(STEPS) - 1 for track in self._tracks.values())
        if not has_example or done >= steps:
            return ""
        seconds = (self.clock() - self._started) * (steps - done) / done
        return f"about {max(1, round(seconds))} s more"


class Tracks(LineView):
    def __init__(self, dialog: ProgressDialog, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._dialog = dialog

    def lines(self, width: int, height: int) -> Sequence[Line]:
        return self._dialog.lines(width, height)
