"""The land screen: what landing one agent will do, the message, the files; then its progress and its end.

Nothing happens before `ctrl+s`. A landing goes on in the worker when the screen is closed. One class, as Textual delivers
all keys and messages to the screen; what it draws is in `plan_lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import TextArea

from fleet_tui.errors import FleetError
from fleet_tui.faces.wording import request_outcome
from fleet_tui.landings import STRATEGIES, LandingPlan, LandingProgress, LandingReport, StepKind, Strategy
from fleet_tui.models import Agent
from fleet_tui.tui.dialogs.confirm import Confirm, ConfirmInput
from fleet_tui.tui.dialogs.external_editor import edit
from fleet_tui.tui.landing.conflict_screen import ConflictScreen
from fleet_tui.tui.landing.dashboard_access import DashboardAccess
from fleet_tui.tui.landing.land_header import LandHeader
from fleet_tui.tui.landing.panels import LinesPanel
from fleet_tui.tui.landing.plan_lines import (
    ReviewFacts,
    fact_lines,
    file_lines,
    header_facts,
    size,
    step_lines,
    strategy_chips,
)
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, clean, keys
from fleet_tui.tui.widgets.prompt_area import PromptArea
from fleet_tui.tui.worker_protocol import LandingNews
from fleet_tui.work import ReviewComment

NARROW, LOW = 100, 30
TICK_SECONDS = 0.25
FIRST_LINE = 50
"""Characters of a message's first line that git's own lists show."""
OUTPUT_LINES = 12
"""Of a red check, below the steps."""
CHECK_SECONDS = 2.0
"""How often the plan is read again while a check runs."""


class LandScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape", "leave", show=False, priority=True),
        Binding("q", "dismiss", show=False),
        Binding("ctrl+s", "land", show=False, priority=True),
        Binding("tab", "write", show=False, priority=True),
        Binding("ctrl+e", "editor", show=False, priority=True),
        Binding("s", "strategy(1)", show=False),
        Binding("S", "strategy(-1)", show=False),
        Binding("b", "into", show=False),
        Binding("c", "check", show=False),
        Binding("C", "without_check", show=False),
        Binding("d", "diff", show=False),
        Binding("u", "undo", show=False),
        Binding("j,down", "scroll_steps(1)", show=False),
        Binding("k,up", "scroll_steps(-1)", show=False),
    ]

    def __init__(self, agent: Agent, access: DashboardAccess) -> None:
        super().__init__()
        self._agent = agent
        self._access = access
        self._strategy = ""
        self._into = ""
        self._checks = True
        self._plan: LandingPlan | None = None
        self._previewed: dict[str, Any] = {}
        """The choices that the plan is about."""
        self._reads = 0
        self._facts = ReviewFacts()
        self._failure: FleetError | None = None
        self._offered = ""
        """The message that was proposed, to tell whether the user has changed it."""
        self._done: dict[StepKind, LandingProgress] = {}
        self._report: LandingReport | None = None
        self._is_running = False
        self._tick = 0

    # ── composing ───────────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield LandHeader(id="header")
        with Container(id="body"):
            with Frame(id="steps"):
                yield LinesPanel(self._step_lines, id="step-lines")
            with Vertical(id="side"):
                with Frame(id="message"):
                    yield PromptArea(enter_sends=False, id="text")
                with Frame(id="facts"):
                    yield LinesPanel(self._side_lines, id="fact-lines")
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

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def _read(self) -> None:
        """Preview the landing with what is chosen; an answer is dropped once something else was asked."""
        self._reads += 1
        number = self._reads
        try:
            plans: list[LandingPlan] = await self._access.call(
                "landing.preview", [self._agent.id], **self._choices()
            )
            plan = plans[0]
            facts = await self._read_review(plan)
        except FleetError as error:
            if number == self._reads:
                self._failure, self._plan = error, None
                self._draw()
            return
        if not self.is_attached or self._is_running or number != self._reads:
            return
        self._failure, self._facts = None, facts
        self._take(plan)
        if plan.check is not None and not plan.check.is_over:
            self.set_timer(CHECK_SECONDS, lambda: self._access.start(self._read()))

    async def _read_review(self, plan: LandingPlan) -> ReviewFacts:
        marks: dict[str, str] = await self._access.call("review.reviewed", self._agent.id)
        comments: Sequence[ReviewComment] = await self._access.call("review.refresh_comments", self._agent.id)
        handled = sum(one.handled_at is not None for one in comments)
        read = sum(marks.get(file.path) == file.new_blob for file in plan.files if file.path in marks)
        return ReviewFacts(read, len(comments) - handled, handled)

    def _choices(self) -> dict[str, Any]:
        return {"strategy": self._strategy, "into": self._into, "check": self._checks}

    def _take(self, plan: LandingPlan) -> None:
        if plan.conflicts:
            self.app.switch_screen(ConflictScreen(self._agent, plan, self._access))
            return
        area = self.query_one(TextArea)
        if area.text == self._offered:
            area.load_text(plan.message.rstrip("\n"))
            self._offered = area.text
        self._plan, self._strategy, self._into = plan, plan.strategy, plan.into
        self._previewed = self._choices()
        self.query_one("#message").display = bool(plan.message_of)
        self._draw()

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _tock(self) -> None:
        if self._is_running:
            self._tick += 1
            self.query_one("#step-lines", LinesPanel).redraw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        plan = self._plan
        into: Line = ((" into ", "muted"), (clean(plan.into), "")) if plan is not None and plan.into else ()
        self.query_one(LandHeader).show(((clean(self._agent.name), "bold"), *into), header_facts(plan))
        for panel in self.query(LinesPanel):
            panel.redraw()
        self._draw_edges()

    def _draw_edges(self) -> None:
        plan = self._plan
        steps = self.query_one("#steps", Frame)
        steps.title((("What will happen", "bold foreground"), (f"  {self._said()}", "muted")), ())
        steps.foot(keys(("s", "strategy")) if self._can_choose else (), self._primary())
        message = self.query_one("#message", Frame)
        first = self.query_one(TextArea).text.partition("\n")[0]
        count: Line = (
            (f"{len(first)}", "error" if len(first) > FIRST_LINE else ""),
            (f" of {FIRST_LINE}", "muted"),
        )
        of = plan.message_of if plan is not None else ""
        message.title(
            (("Message", "bold foreground"), (f"  of {of}", "muted")), count, ((("Message", "bold"),), ())
        )
        leave = ("esc", "back to the steps") if self.focused is not None else ("tab", "edit here")
        message.foot((), keys(leave, ("ctrl+e", "in your editor")) if self._can_choose else ())
        files = self.query_one("#facts", Frame)
        if plan is not None:
            files.title((("Files", "bold foreground"), (f"  {len(plan.files)}", "muted")), size(plan))
        entries = [
            FooterKey("tab", "message", ("tab",)),
            FooterKey("d", "diff", ("d",)),
            FooterKey("b", "into another branch", ("b",)),
            FooterKey("c", "check now", ("c",)),
            FooterKey("C", "without the check" if self._checks else "with the check", ("C",)),
        ]
        over = [FooterKey("u", "undo", ("u",))] if self._can_undo else []
        back = FooterKey("esc", "back", ("escape",))
        self.query_one(Footer).show_list(entries if self._can_choose else over, back, chip="LAND")

    @property
    def _can_undo(self) -> bool:
        """Whether something has landed here; a push is not taken back."""
        return self._report is not None and bool(self._report.landings) and not self._report.requests

    def _said(self) -> str:
        if self._is_running:
            return "goes on when you close this"
        if self._report is None:
            return "nothing has yet"
        if self._report.requests:
            return "pushed"
        return "landed" if self._report.landings else "nothing was changed"

    @property
    def _can_choose(self) -> bool:
        """Whether the landing can still be changed: it has not begun, or has failed."""
        return not self._is_running and not (self._report is not None and self._report.landings)

    def _primary(self) -> Line:
        if not self._can_choose or self._plan is None or not self._plan.can_land:
            return ()
        label = "land it" if self._checks and not self._is_red else "land anyway"
        if self._strategy == "pr":
            label = "push it"
        return ((" ctrl+s ", CHIP_HERE), ("  ", ""), (label, "bold foreground"))

    @property
    def _is_red(self) -> bool:
        """The check of this landing was not green."""
        stopped = self._report.stopped if self._report is not None else None
        return stopped is not None and stopped.kind == "check"

    def _step_lines(self, width: int, height: int) -> list[Line]:
        plan = self._plan
        if plan is None:
            said = self._failure
            return (
                [(), ((f"✗ {clean(said.message)}", "error"),), ((clean(said.hint), "muted"),)] if said else []
            )
        head: list[Line] = [(), strategy_chips(self._strategy), (), (("─" * width, "rule"),)]
        lines = [*head, *step_lines(plan, width, self._done, self._tick)]
        report = self._report
        if report is None:
            return lines
        if report.stopped is not None and not any(one.state == "failed" for one in self._done.values()):
            lines += [
                (),
                (("✗ ", "error"), (clean(report.stopped.message), "")),
                (("nothing was changed", "muted"),),
            ]
        if report.stopped is not None and report.stopped.hint:
            lines.append(((clean(report.stopped.hint), "muted"),))
        for line in report.output[-OUTPUT_LINES:]:
            lines.append((("  ", ""), (clean(line), "muted")))
        for note in report.notes:
            lines += [(), (("! ", "bold warning"), (clean(note), ""))]
        return lines

    def _side_lines(self, width: int, height: int) -> list[Line]:
        plan = self._plan
        if plan is None:
            return []
        facts = fact_lines(plan, self._facts, self._access.names(), width, checks=self._checks)
        files = file_lines(plan, width, height - len(facts) - 1)
        rule: list[Line] = [(("─" * width, "rule"),)] if files else []
        return [*files, *rule, *facts]

    # ── choosing ────────────────────────────────────────────────────────────────────────────────────────────────

    def action_strategy(self, step: int) -> None:
        if self._can_choose and self._plan is not None:
            place = STRATEGIES.index(self._strategy) if self._strategy in STRATEGIES else 0
            strategy: Strategy = STRATEGIES[(place + step) % len(STRATEGIES)]
            self._strategy = strategy
            self._again()

    def action_into(self) -> None:
        if not self._can_choose:
            return
        question = ConfirmInput(
            "Land into", "The branch that gets the work.", label="branch", value=self._into, does="preview it"
        )

        def chosen(name: str | None) -> None:
            if name:
                self._into = name
                self._again()

        self.app.push_screen(question, chosen)

    def action_without_check(self) -> None:
        if self._can_choose:
            self._checks = not self._checks
            self._again()

    def _again(self) -> None:
        self._done.clear()
        self._report = None
        self._draw()
        self._access.start(self._read())

    def action_check(self) -> None:
        if not self._can_choose:
            return

        async def work() -> None:
            await self._access.call("checks.start", [self._agent.id])
            await self._read()

        self._access.start(work())

    def action_diff(self) -> None:
        self._access.review(self._agent, "")

    def action_scroll_steps(self, step: int) -> None:
        self.query_one("#step-lines", LinesPanel).scroll(step)

    # ── the message ─────────────────────────────────────────────────────────────────────────────────────────────

    def action_write(self) -> None:
        if not self._can_choose or not self.query_one("#message").display:
            return
        self.set_focus(None if self.focused is not None else self.query_one(TextArea))
        self._draw_edges()

    def action_editor(self) -> None:
        area = self.query_one(TextArea)
        if not self._can_choose or not self.query_one("#message").display:
            return
        text = edit(self.app, area.text)
        if text is not None:
            area.load_text(text)
            self._draw_edges()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._draw_edges()

    def action_leave(self) -> None:
        if self.focused is not None:
            self.set_focus(None)
            self._draw_edges()
        else:
            self.dismiss(None)

    # ── landing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def action_land(self) -> None:
        plan = self._plan
        if plan is None or not self._can_choose:
            return
        if self._previewed != self._choices():
            self.notify("wait for the preview of that", severity="warning")
            return
        if not plan.can_land:
            obstacle = plan.obstacles[0]
            self.notify(clean(obstacle.hint), title=clean(obstacle.message), severity="warning", timeout=8)
            return
        is_unchecked = plan.check_command and (not self._checks or self._is_red)
        if not is_unchecked:
            self._begin(checks=self._checks)
            return
        why = "The check is not green." if self._is_red else "The check does not run."
        question = Confirm("Land anyway", f"{why} Land {plan.name} on {plan.into} all the same?", "land it")
        self.app.push_screen(question, lambda yes: self._begin(checks=False) if yes else None)

    def _begin(self, *, checks: bool) -> None:
        self._is_running = True
        self._report = None
        self._done.clear()
        self.set_focus(None)
        self._draw()
        self._access.start(self._land(checks=checks))

    async def _land(self, *, checks: bool) -> None:
        area = self.query_one(TextArea)
        message = area.text if area.text != self._offered else ""
        name = clean(self._agent.name)
        seen = {self._plan.agent: self._plan.tree} if self._plan is not None else {}
        try:
            report: LandingReport = await self._access.call(
                "landing.land",
                [self._agent.id],
                on_step=self._take_news,
                **{**self._choices(), "check": checks, "message": message, "seen": seen},
            )
        finally:
            self._is_running = False
            if self.is_attached:
                self._draw()
        self._report = report
        landed = report.landings[0] if report.landings else None
        if report.requests:
            self._access.notify(clean(request_outcome(report.requests[0])), title=f"pushed {name}")
        elif landed is not None:
            said = f"{clean(landed.into)} is at {landed.new[:7]}; u undoes it"
            self._access.notify(said, title=f"landed {name}")
        elif report.stopped is not None and not self.is_attached:
            self._access.notify(
                clean(report.stopped.message), title=f"{name} was not landed", severity="error"
            )
        if not self.is_attached:
            return
        if report.conflicts and self._plan is not None:
            self._access.start(self._read())
        self._draw()

    def _take_news(self, news: object) -> None:
        if isinstance(news, LandingNews):
            self._done[news.progress.step] = news.progress
            if self.is_attached:
                self.query_one("#step-lines", LinesPanel).redraw()

    def action_undo(self) -> None:
        if not self._can_undo:
            return

        async def work() -> None:
            restored = await self._access.call("undo", [self._agent.id])
            notes = "; ".join(clean(note) for _, note in restored if note)
            self._access.notify(notes or " ", title=f"undone: {clean(self._agent.name)}")
            if self.is_attached:
                self._again()

        self._access.start(work())
