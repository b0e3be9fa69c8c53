"""The screen of several agents that land one after the other, each checked on top of the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen

from fleet_tui.errors import FleetError
from fleet_tui.faces.wording import request_outcome
from fleet_tui.landings import STRATEGIES, LandingPlan, LandingReport
from fleet_tui.models import Agent
from fleet_tui.quantities import counted
from fleet_tui.tui.landing.conflict_screen import ConflictScreen
from fleet_tui.tui.landing.dashboard_access import DashboardAccess
from fleet_tui.tui.landing.land_header import LandHeader
from fleet_tui.tui.landing.panels import LinesPanel
from fleet_tui.tui.landing.plan_lines import CHIPS
from fleet_tui.tui.landing.train_lines import TrainTrack, branch_lines, track_lines
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, clean, cut_line, keys, wrap
from fleet_tui.tui.worker_protocol import LandingNews

NARROW, LOW = 100, 30
TICK_SECONDS = 0.25
MOST_OUTPUT = 200


class TrainScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape,q", "dismiss", show=False),
        Binding("ctrl+s", "land", show=False),
        Binding("s", "strategy", show=False),
        Binding("C", "without_check", show=False),
        Binding("j,down", "select(1)", show=False),
        Binding("k,up", "select(-1)", show=False),
        Binding("J", "move(1)", show=False),
        Binding("K", "move(-1)", show=False),
        Binding("D", "take_out", show=False),
        Binding("x", "stop", show=False),
        Binding("d", "diff", show=False),
        Binding("enter", "agent", show=False),
        Binding("u", "undo", show=False),
    ]

    def __init__(self, agents: Sequence[Agent], access: DashboardAccess) -> None:
        super().__init__()
        self._agents = list(agents)
        self._access = access
        self._tracks: list[TrainTrack] = []
        self._selected = 0
        self._strategy = ""
        self._checks = True
        self._into = self._before = ""
        self._reads = self._shown = 0
        """Numbers of the preview that was asked last, and of the one that is shown."""
        self._failure: FleetError | None = None
        self._report: LandingReport | None = None
        self._is_running = self._is_stopping = False
        self._output: list[str] = []
        self._tick = 0

    def compose(self) -> ComposeResult:
        yield LandHeader(id="header")
        with Frame(id="train"):
            yield LinesPanel(self._track_lines, id="tracks")
        with Container(id="below"):
            with Frame(id="output"):
                yield LinesPanel(self._output_lines, id="output-lines")
            with Frame(id="branch"):
                yield LinesPanel(self._branch_lines, id="branch-lines")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit()
        self._draw()
        self.set_interval(TICK_SECONDS, self._tock)
        self._access.start(self._read())

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.set_class(self.app.size.height < LOW, "-low")

    async def _read(self) -> None:
        """Preview the train; an answer is dropped once something else was asked."""
        self._reads += 1
        number = self._reads
        ids = [agent.id for agent in self._agents]
        try:
            plans: list[LandingPlan] = await self._access.call(
                "landing.preview", ids, strategy=self._strategy, check=self._checks
            )
        except FleetError as error:
            if number == self._reads:
                self._failure = error
                self._draw()
            return
        if self._is_running or not self.is_attached or number != self._reads:
            return
        self._failure, self._shown = None, number
        self._tracks = [TrainTrack(plan) for plan in plans]
        self._strategy = plans[0].strategy
        self._into, self._before = plans[0].into, plans[0].old
        self._draw()

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _tock(self) -> None:
        if self._is_running:
            self._tick += 1
            self.query_one("#tracks", LinesPanel).redraw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        into: Line = ((" into ", "muted"), (clean(self._into), "")) if self._into else ()
        what: Line = (
            (counted(len(self._agents), "agent"), "bold"), *into, (", one after the other", "muted"),
        )  # fmt: skip
        self.query_one(LandHeader).show(what, self._totals())
        for panel in self.query(LinesPanel):
            panel.redraw()
        train = self.query_one("#train", Frame)
        train.title(
            (("Train", "bold foreground"), ("  each checked on top of the last, red stops it", "muted")),
            ((CHIPS.get(self._strategy, ""), "muted"),),
            ((("Train", "bold"),), ()),
        )
        train.foot(((self._said(), "muted"),), self._primary())
        command = self._tracks[0].plan.check_command if self._tracks else ""
        self.query_one("#output", Frame).title(
            ((clean(command) or "no check configured", "bold foreground"),), ()
        )
        self.query_one("#branch", Frame).title(
            ((clean(self._into), "bold foreground"), ("  if all are green", "muted")), ()
        )
        entries = [
            FooterKey("j k", "agent", ("j",)),
            FooterKey("d", "diff", ("d",)),
            FooterKey("J K", "move", ("J",)),
            FooterKey("D", "take out", ("D",)),
            FooterKey("s", "strategy", ("s",)),
            FooterKey("↵", "its agent", ("enter",)),
        ]
        if self._can_undo:
            entries.append(FooterKey("u", "undo landed", ("u",)))
        self.query_one(Footer).show_list(entries, FooterKey("esc", "close", ("escape",)), chip="LAND")

    def _totals(self) -> Line:
        if not self._tracks:
            return (("reading", "muted"),)
        landed = sum(track.has_landed for track in self._tracks)
        stopped = sum(bool(track.reason) for track in self._tracks)
        waiting = sum(not track.has_begun for track in self._tracks)
        return (
            (f"{landed}", ""), (" landed", "muted"),
            *((("   ✗ ", "error"), (f"{stopped}", ""), (" stopped", "muted")) if stopped else ()),
            *((("   ○ ", "faint"), (f"{waiting}", ""), (" wait", "muted")) if waiting else ()),
        )  # fmt: skip

    def _said(self) -> str:
        if self._is_stopping:
            return "stops after this one"
        if self._is_running:
            return "goes on when you close this"
        return "nothing has happened yet" if self._report is None else "over"

    def _primary(self) -> Line:
        if self._is_running:
            return () if self._is_stopping else keys(("x", "stop after this one"))
        if self._report is None and self._tracks:
            label = "land them" if self._checks else "land them anyway"
            return ((" ctrl+s ", CHIP_HERE), ("  ", ""), (label, "bold foreground"))
        return ()

    def _track_lines(self, width: int, height: int) -> list[Line]:
        if self._failure is not None:
            return [
                (),
                ((f"✗ {clean(self._failure.message)}", "error"),),
                ((clean(self._failure.hint), "muted"),),
            ]
        return track_lines(self._tracks, self._selected, self._tick, width)

    def _output_lines(self, width: int, height: int) -> list[Line]:
        found: list[Line] = [
            cut_line(((line, "muted"),), width) for line in self._output[-max(1, height - 1) :]
        ]
        return [(), *found]

    def _branch_lines(self, width: int, height: int) -> list[Line]:
        if not self._tracks:
            return []
        lines = branch_lines(self._tracks, self._before, width)
        report = self._report
        if report is not None and report.stopped is not None:
            said = f"{report.stopped.message}. {report.stopped.hint}"
        else:
            said = "If one is red, those before it stay landed, and those after it are not touched."
        return [*lines, (), *(((row, "muted"),) for row in wrap(clean(said), width, 4))]

    # ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _can_change(self) -> bool:
        return not self._is_running and self._report is None

    @property
    def _can_undo(self) -> bool:
        """Whether something has landed here; a push is not taken back."""
        report = self._report
        return report is not None and bool(report.landings) and not report.requests and not self._is_running

    def action_select(self, step: int) -> None:
        self._selected = max(0, min(len(self._agents) - 1, self._selected + step))
        self._draw()

    def action_move(self, step: int) -> None:
        place = self._selected + step
        if self._can_change and 0 <= place < len(self._agents):
            agents = self._agents
            agents[self._selected], agents[place] = agents[place], agents[self._selected]
            self._selected = place
            self._access.start(self._read())

    def action_take_out(self) -> None:
        if self._can_change and len(self._agents) > 1:
            del self._agents[self._selected]
            self._selected = min(self._selected, len(self._agents) - 1)
            self._access.start(self._read())

    def action_strategy(self) -> None:
        if self._can_change and self._strategy in STRATEGIES:
            self._strategy = STRATEGIES[(STRATEGIES.index(self._strategy) + 1) % len(STRATEGIES)]
            self._access.start(self._read())

    def action_without_check(self) -> None:
        if self._can_change:
            self._checks = not self._checks
            self._access.start(self._read())

    def action_diff(self) -> None:
        self._access.review(self._agents[self._selected], "")

    def action_agent(self) -> None:
        self._access.select(self._agents[self._selected].id)
        self.dismiss(None)

    def action_stop(self) -> None:
        if self._is_running and not self._is_stopping:
            self._is_stopping = True
            self._draw()
            self._access.start(self._stop())

    async def _stop(self) -> None:
        await self._access.call("landing.stop_train", self._agents[0].id)

    def action_land(self) -> None:
        if self._can_change and self._tracks and self._shown != self._reads:
            self.notify("wait for the preview of that", severity="warning")
        elif self._can_change and self._tracks:
            self._is_running = True
            self._output.clear()
            self._draw()
            self._access.start(self._land())

    async def _land(self) -> None:
        try:
            report: LandingReport = await self._access.call(
                "landing.land",
                [agent.id for agent in self._agents],
                on_step=self._take_news,
                strategy=self._strategy,
                check=self._checks,
                seen={track.plan.agent: track.plan.tree for track in self._tracks},
            )
        finally:
            self._is_running = self._is_stopping = False
            self._draw()
        self._report = report
        by_agent = {track.plan.agent: track for track in self._tracks}
        for landing in report.landings:
            track = by_agent[landing.agent]
            track.has_landed, track.commit = True, landing.new
        if report.stopped is not None and report.agent in by_agent:
            by_agent[report.agent].reason = report.stopped.message
        self._output += map(clean, report.output)
        total = f"{len(report.landings)} of {len(self._tracks)}"
        stopped = (
            clean(report.stopped.message)
            if report.stopped is not None
            else f"{clean(self._into)} has all of it"
        )
        if report.requests and report.stopped is None:
            stopped = ", ".join(clean(request_outcome(one)) for one in report.requests)
        self._access.notify(stopped, title=f"{'pushed' if report.requests else 'landed'} {total}")
        self._draw()
        if report.conflicts and self.is_attached:
            self._access.start(self._show_conflict(report.agent))

    async def _show_conflict(self, agent_id: str) -> None:
        """Open what conflicts of the agent that stopped the train."""
        agent = next(one for one in self._agents if one.id == agent_id)
        plans: list[LandingPlan] = await self._access.call(
            "landing.preview", [agent_id], strategy=self._strategy, check=self._checks
        )
        if plans[0].conflicts and self.is_attached:
            self.app.push_screen(ConflictScreen(agent, plans[0], self._access))

    def _take_news(self, news: object) -> None:
        if not isinstance(news, LandingNews):
            return
        progress = news.progress
        for number, track in enumerate(self._tracks):
            if track.plan.agent == progress.agent:
                if progress.step == "check" and progress.text and progress.text not in self._output[-1:]:
                    self._output = [*self._output, clean(progress.text)][-MOST_OUTPUT:]
                track.progress = progress
                self._selected = number
            elif track.progress is not None:
                # The next one has begun.
                track.has_landed = True
        self._draw()

    def action_undo(self) -> None:
        report = self._report
        if report is None or not self._can_undo:
            return
        newest_first = [landing.agent for landing in reversed(report.landings)]

        async def work() -> None:
            for agent in newest_first:
                await self._access.call("undo", [agent])
            self._report = None
            self._access.notify(f"undone: {counted(len(newest_first), 'landing')}")
            await self._read()

        self._access.start(work())
