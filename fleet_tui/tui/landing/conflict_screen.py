"""The screen of a landing that conflicts: what and where, and what can be done about it. Nothing was changed."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen

from fleet_tui.faces.wording import request_outcome
from fleet_tui.landings import LandingPlan, LandingReport
from fleet_tui.models import Agent, Receipt, Status
from fleet_tui.quantities import counted
from fleet_tui.tui.dialogs.confirm import Confirm
from fleet_tui.tui.dialogs.external_editor import edit
from fleet_tui.tui.landing.conflict_lines import conflict_list, place_bands
from fleet_tui.tui.landing.dashboard_access import DashboardAccess
from fleet_tui.tui.landing.land_header import LandHeader
from fleet_tui.tui.landing.panels import LinesPanel
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import CHIP_HERE, Line, clean, cut_line, keys, wrap

NARROW, LOW = 100, 30
MOST_PROMPT = 8
"""Lines of the prompt that are shown."""


class ConflictScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [  # noqa: RUF012 - Textual's own way
        Binding("escape,q", "dismiss", show=False),
        Binding("j,down", "file(1)", show=False),
        Binding("k,up", "file(-1)", show=False),
        Binding("n", "place(1)", show=False),
        Binding("N", "place(-1)", show=False),
        Binding("pagedown,space", "scroll_lines(1)", show=False),
        Binding("pageup", "scroll_lines(-1)", show=False),
        Binding("1", "give_back", show=False),
        Binding("2", "resolve", show=False),
        Binding("3", "request", show=False),
        Binding("4", "trash", show=False),
        Binding("ctrl+e", "reword", show=False),
        Binding("d", "diff", show=False),
        Binding("equals_sign", "diff_of_two", show=False),
    ]

    def __init__(self, agent: Agent, plan: LandingPlan, access: DashboardAccess) -> None:
        super().__init__()
        self._agent, self._plan, self._access = agent, plan, access
        self._prompt = plan.give_back
        self._file = self._place = 0
        self._rows: list[tuple[int, int]] = []

    def compose(self) -> ComposeResult:
        yield LandHeader(id="header")
        with Container(id="body"):
            with Frame(id="conflicts"):
                yield LinesPanel(self._list, id="conflict-list")
            with Frame(id="place"):
                yield LinesPanel(self._bands, id="bands")
        with Frame(id="now", classes="asking"):
            yield LinesPanel(self._offers, id="offers")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit()
        plan = self._plan
        total = len(plan.files) or len(plan.conflicts)
        facts: Line = (
            (f"✗ {len(plan.conflicts)} of {counted(total, 'file')} in conflict", "bold error"),
            ("   nothing was changed", "muted"),
        )
        self.query_one(LandHeader).show(
            ((clean(plan.name), "bold"), (" into ", "muted"), (clean(plan.into), "")), facts
        )
        entries = [
            FooterKey("j k", "file", ("j",)),
            FooterKey("n N", "place", ("n",)),
            FooterKey("space", "scroll", ("space",)),
            FooterKey("d", "whole diff", ("d",)),
            FooterKey("=", f"diff against {clean(plan.into)}", ("=",)),
        ]
        self.query_one(Footer).show_list(entries, FooterKey("esc", "back", ("escape",)), chip="LAND")
        self._draw()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        self.set_class(self.app.size.width < NARROW, "-narrow")
        self.set_class(self.app.size.height < LOW, "-low")

    def _draw(self) -> None:
        plan, file = self._plan, self._plan.conflicts[self._file]
        for panel in self.query(LinesPanel):
            panel.redraw()
        total = len(plan.files) or len(plan.conflicts)
        self.query_one("#conflicts", Frame).title(
            (("Conflicts", "bold foreground"), (f"  with {clean(plan.into)}", "muted")),
            ((f"{len(plan.conflicts)} of {counted(total, 'file')}", "muted"),),
            ((("Conflicts", "bold"),), ()),
        )
        count = len(file.places)
        where: Line = ((f"  place {self._place + 1} of {count}", "muted"),) if count > 1 else ()
        more = keys(("n N", "place")) if count > 1 else ()
        self.query_one("#place", Frame).title(((clean(file.path), "bold foreground"), *where), more)
        now = self.query_one("#now", Frame)
        now.title((("◆ what now", "bold warning"), (f"  {self._state()}", "muted")), ())
        now.foot(keys(("1–4", "choose"), ("ctrl+e", "change the prompt"), ("esc", "leave it as it is")), ())
        if self._rows:
            self.query_one("#conflict-list", LinesPanel).show(*self._rows[self._file])

    def _state(self) -> str:
        agent = self._current()
        name = clean(agent.name)
        return f"{name} has ended; revive it first" if agent.has_ended else f"{name} is {agent.status}"

    def _current(self) -> Agent:
        found = (one for one in self._access.agents() if one.id == self._agent.id)
        return next(found, self._agent)

    # ── lines ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _list(self, width: int, height: int) -> list[Line]:
        lines, self._rows = conflict_list(self._plan, self._file, width)
        return lines

    def _bands(self, width: int, height: int) -> list[Line]:
        return place_bands(self._plan, self._plan.conflicts[self._file], self._place, width)

    def _offers(self, width: int, height: int) -> list[Line]:
        name, into = clean(self._plan.name), clean(self._plan.into)
        prompt: list[Line] = []
        text_width = max(20, width - 10)
        for part in self._prompt.splitlines():
            prompt += [
                cut_line(((" " * 7, ""), (f" {row} ".ljust(text_width), "foreground on field")), width)
                for row in wrap(clean(part), text_width - 2, MOST_PROMPT)
            ]
        room = max(1, height - 5)
        if len(prompt) > room:
            prompt = [*prompt[: room - 1], (("        ⋯ ctrl+e shows all of it", "muted"),)]
        offers = (
            (f"Give it back to {name}", "typed as a prompt, with a receipt; land again when it is done"),
            ("Resolve it yourself", f"a shell in its worktree: git rebase {into}"),
            ("Open a pull request as it is", f"push {clean(self._agent.branch)}"),
            (f"Trash {name}", "worktree and branch can be brought back with u"),
        )
        lines: list[Line] = []
        for number, (what, says) in enumerate(offers, 1):
            chip = CHIP_HERE if number == 1 else "accent on field"
            lines.append(
                cut_line(
                    ((" ", ""), (f" {number} ", chip), (f"  {what}", "bold"), (f"  {says}", "muted")), width
                )
            )
            lines += prompt if number == 1 else []
        return lines

    # ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_file(self, step: int) -> None:
        self._file = max(0, min(len(self._plan.conflicts) - 1, self._file + step))
        self._place = 0
        self.query_one("#bands", LinesPanel).top = 0
        self._draw()

    def action_place(self, step: int) -> None:
        count = max(1, len(self._plan.conflicts[self._file].places))
        place = self._place + step
        if 0 <= place < count:
            self._place = place
        elif 0 <= self._file + step < len(self._plan.conflicts):
            self._file += step
            self._place = 0 if step > 0 else max(0, len(self._plan.conflicts[self._file].places) - 1)
        self._draw()

    def action_scroll_lines(self, direction: int) -> None:
        panel = self.query_one("#bands", LinesPanel)
        panel.scroll(direction * max(1, panel.size.height - 2))

    def on_lines_panel_clicked(self, event: LinesPanel.Clicked) -> None:
        if event.panel.id == "conflict-list":
            for number, (first, last) in enumerate(self._rows):
                if first <= event.row <= last:
                    self._file, self._place = number, 0
                    self._draw()

    def action_reword(self) -> None:
        text = edit(self.app, self._prompt)
        if text:
            self._prompt = text
            self._draw()

    def action_give_back(self) -> None:
        agent = self._current()
        if agent.has_ended:
            self.notify(
                "v in the list revives it", title=f"{clean(agent.name)} has ended", severity="warning"
            )
            return

        async def work() -> None:
            given: Any = await self._access.call("prompts.deliver", [agent.id], self._prompt)
            receipt: Receipt = given[0].receipt if hasattr(given[0], "receipt") else given[0]
            self._access.notify(f"prompt {receipt.state}", title=f"given back to {clean(agent.name)}")
            self._access.select(agent.id)
            if self.is_attached:
                self.dismiss(None)

        self._access.start(work())

    def action_resolve(self) -> None:
        self._access.shell(self._current())

    def action_request(self) -> None:
        async def work() -> None:
            report: LandingReport = await self._access.call(
                "landing.land", [self._agent.id], strategy="pr", into=self._plan.into
            )
            if report.stopped is not None:
                hint = clean(report.stopped.hint)
                self._access.notify(hint or " ", title=clean(report.stopped.message), severity="error")
                return
            said = [*map(request_outcome, report.requests), *report.notes]
            self._access.notify("; ".join(map(clean, said)) or " ", title="pushed")
            if self.is_attached:
                self.dismiss(None)

        self._access.start(work())

    def action_trash(self) -> None:
        name = clean(self._agent.name)
        running = "" if self._current().status is Status.KILLED else "Stop it and move"

        def answer(yes: bool | None) -> None:
            if yes:
                self._access.start(work())

        async def work() -> None:
            await self._access.call("kill", [self._agent.id])
            self._access.notify("u brings it back", title=f"killed {name}")
            if self.is_attached:
                self.dismiss(None)

        question = (
            f"{running or 'Move'} its worktree to the trash? The branch stays, and u brings all of it back."
        )
        self.app.push_screen(Confirm(f"Trash {name}", question, "trash it"), answer)

    def action_diff(self) -> None:
        self._access.review(self._agent, "")

    def action_diff_of_two(self) -> None:
        self._access.review(self._agent, self._plan.into)
