"""The compare screen: a ranking of agents above, and below why, what landing means, the prompt and the files touched.

Draws the model and turns keys into calls of it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.screen import Screen

from fleet_tui.comparison import ORDER_RULE, ComparedAgent, Comparison
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.quantities import clock, counted, dollars
from fleet_tui.tui.compare.compare_help import CompareHelp
from fleet_tui.tui.compare.compare_model import CompareModel
from fleet_tui.tui.compare.keys import bound, footer_keys
from fleet_tui.tui.compare.panels import (
    CompareHeader,
    ComparePanel,
    across,
    landing,
    matrix,
    ordinal,
    prompt_lines,
    reasons,
)
from fleet_tui.tui.compare.ranking_table import RankingTable, TableLook
from fleet_tui.tui.compare.surroundings import CompareSurroundings
from fleet_tui.tui.dialogs.confirm import Confirm
from fleet_tui.tui.dialogs.logs import LogScreen
from fleet_tui.tui.widgets.error_boundary import ErrorBoundary
from fleet_tui.tui.widgets.footer import Footer, FooterKey
from fleet_tui.tui.widgets.frame import Frame
from fleet_tui.tui.widgets.lines import Line, clean

LIVE_SECONDS = 0.5
"""How often it looks whether a check or an agent has moved on."""
NARROW, LOW = 100, 32
"""Below this, one panel is shown below the table instead of three."""
PROMPT_LINES = 6


class CompareScreen(ErrorBoundary, Screen[None]):
    AUTO_FOCUS: ClassVar[str | None] = ""
    BINDINGS = [Binding(key, action, says, show=False) for key, action, says in bound()]  # noqa: RUF012 - Textual's own way

    def __init__(self, agents: list[Agent], surroundings: CompareSurroundings) -> None:
        super().__init__()
        self.model = CompareModel(agents, surroundings)
        self._around = surroundings
        self._failure: FleetError | None = None
        self._is_asking = False
        self._has_begun = False
        """The checks that were missing have been started."""

    # ── composing ───────────────────────────────────────────────────────────────────────────────────────────────

    def compose(self) -> ComposeResult:
        yield CompareHeader(id="header")
        with Frame(id="ranking"):
            yield RankingTable(id="table")
        with Container(id="below"):
            with Container(id="left"):
                with Frame(id="why"):
                    yield ComparePanel(id="reasons")
                with Frame(id="prompt"):
                    yield ComparePanel(id="text")
            with Frame(id="files"):
                yield ComparePanel(id="matrix")
        yield Footer(id="footer")

    def on_mount(self) -> None:
        self._fit()
        self._draw()
        self.set_interval(LIVE_SECONDS, self._look)
        self._look()

    def on_resize(self) -> None:
        self._fit()
        self._draw()

    def _fit(self) -> None:
        width, height = self.app.size
        is_small = width < NARROW or height < LOW
        self.set_class(is_small, "-small")
        count = len(self.model.compared) or len(self.model.ids)
        rows = count * 3 + 2 if height >= count * 3 + 29 else count * 2 + 1
        self.query_one("#ranking").styles.height = min(rows, height - (9 if is_small else 14)) + 2

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _look(self) -> None:
        if not self._is_asking:
            self._is_asking = True
            self._around.start(self._read())

    async def _read(self, *, is_forced: bool = False) -> None:
        try:
            has_changed = await self.model.read(is_forced=is_forced)
            self._failure = None
        except FleetError as error:
            self._failure, has_changed = error, True
        finally:
            self._is_asking = False
        if not self.is_attached:
            return
        if has_changed:
            self._fit()
            self._draw()
        if not self._has_begun and self.model.found is not None:
            self._has_begun = True
            await self._check_missing()

    async def _check_missing(self) -> None:
        """Check the work that has no check of its own, as soon as it is looked at."""
        found = self.model.found
        if found is not None and found.command and self.model.unchecked:
            await self._start_checks(self.model.unchecked)

    async def _start_checks(self, ids: list[str]) -> None:
        await self._around.call("checks.start", ids)
        await self._read(is_forced=True)

    # ── drawing ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _draw(self) -> None:
        if not self.is_attached:
            return
        found, current = self.model.found, self.model.current
        look = TableLook(self.model.selected, frozenset(self.model.marked), self._around.now())
        self.query_one(RankingTable).show(found, look, self._sentence())
        self._draw_header()
        order = ORDER_RULE if self.model.order == "rank" else f"by {self.model.order}"
        self.query_one("#ranking", Frame).title((("Ranking", "bold foreground"),), ((order, "muted"),))
        self.query_one("#ranking", Frame).foot(self._notice(), ())
        if found is not None and current is not None:
            self._draw_panels(found, current)
        name = clean(current.label) if current is not None else "it"
        self.query_one(Footer).show_list(
            footer_keys(name, is_narrow=self.size.width < NARROW),
            FooterKey("?", "help", ("?",)),
            chip="COMPARE",
        )

    def _draw_header(self) -> None:
        found = self.model.found
        if found is None:
            self.query_one(CompareHeader).show(((counted(len(self.model.ids), "agent"), "muted"),), ())
            return
        said = f"  {counted(len(found.agents), 'agent')}{', one prompt' if found.prompt else ''}"
        left: Line = (
            (clean(found.batch) or "agents", "bold"),
            (said, "muted"),
            (f"  onto {clean(found.base)}", "muted"),
        )
        total = sum(one.cost or 0.0 for one in found.agents)
        longest = max((one.seconds for one in found.agents), default=0.0)
        spent: Line = ((dollars(total), ""), (" spent   ", "muted")) if total else ()
        self.query_one(CompareHeader).show(left, (*spent, (clock(longest), ""), (" longest ", "muted")))

    def _draw_panels(self, found: Comparison, current: ComparedAgent) -> None:
        rank = found.ranks[current.id]
        leaders = sum(one.place == 1 for one in found.ranks.values())
        leads = "why it leads" if leaders == 1 else f"why it leads, with {leaders - 1} more"
        place = leads if rank.place == 1 else f"why it is {ordinal(rank.place)}"
        why = self.query_one("#why", Frame)
        why.title(((clean(current.label), "bold foreground"), (f"  {place}", "muted")))
        self.query_one("#reasons", ComparePanel).show(
            lambda width, _height: [reasons(found, current, width), landing(found, current, "m")]
        )
        files = self.query_one("#files", Frame)
        files.title((("Files touched", "bold foreground"),), (("lines changed", "muted"),))
        self.query_one("#matrix", ComparePanel).show(
            lambda width, height: [matrix(found, current.id, width, height), across(found)]
        )
        self.query_one("#prompt").display = bool(found.prompt) and not self.has_class("-small")
        prompt = self.query_one("#prompt", Frame)
        prompt.title((("Prompt", "bold foreground"),))
        self.query_one("#text", ComparePanel).show(
            lambda width, height: [prompt_lines(found.prompt, width, height)]
        )
        lines = len(prompt_lines(found.prompt, max(20, self.app.size.width // 2 - 4), PROMPT_LINES))
        prompt.styles.height = lines + 2

    def _sentence(self) -> Line:
        if self._failure is None:
            return (("  reading", "muted"),)
        return (("  ✗ ", "error"), (clean(str(self._failure)), ""))

    def _notice(self) -> Line:
        found, running = self.model.found, self.model.running
        if self._failure is not None and found is not None:
            return (("! ", "error"), (f"not up to date: {clean(self._failure.message)}", "muted"))
        if running and found is not None:
            return (("● ", "primary"), (f"{counted(len(running), 'check')}: {clean(found.command)}", "muted"))
        if found is not None and found.no_checks:
            return ((f"not checked: {clean(found.no_checks)}", "muted"),)
        if found is not None and found.problem:
            return ((f"conflicts are not known: {clean(found.problem)}", "muted"),)
        return ()

    # ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────

    def action_step(self, by: int) -> None:
        self.model.step(by)
        self._draw()

    def action_edge(self, direction: int) -> None:
        self.action_step(direction * len(self.model.ids))

    @on(RankingTable.Clicked)
    def _clicked(self, event: RankingTable.Clicked) -> None:
        self.model.selected = event.agent
        self._draw()

    def action_mark(self) -> None:
        self.model.mark()
        self._draw()

    def action_order(self) -> None:
        self.model.next_order()
        self._draw()

    def action_side(self) -> None:
        self.toggle_class("-files")

    def action_help(self) -> None:
        self.app.push_screen(CompareHelp())

    def action_leave(self) -> None:
        self.dismiss(None)

    def action_diff(self) -> None:
        if agent := self._selected():
            self._around.review(agent, "")

    def action_diff_of_two(self) -> None:
        """Review one marked agent against the other; with one mark, against the selected agent."""
        ids = [*self.model.marked, *([self.model.selected] if len(self.model.marked) == 1 else [])]
        pair = [agent for one in dict.fromkeys(ids) if (agent := self.model.agent(one)) is not None]
        if len(pair) == 2:
            self._around.review(pair[0], pair[1].name)
        else:
            self.notify("mark two agents with space first", severity="warning", timeout=3)

    def action_check(self) -> None:
        """Run the checks of all again."""
        found = self.model.found
        if found is None:
            return
        if found.no_checks:
            self.notify(clean(found.no_checks), severity="warning")
            return
        self._around.start(self._start_checks([one.id for one in found.agents if not one.problem]))

    def action_cancel(self) -> None:
        if not self.model.running:
            self.notify("no check is running", timeout=3)
            return

        async def work() -> None:
            await self._around.call("checks.cancel", self.model.ids)
            await self._read(is_forced=True)

        self._around.start(work())

    def action_output(self) -> None:
        """Follow what the selected agent's check prints."""
        agent, current = self._selected(), self.model.current
        if agent is None or current is None:
            return
        if current.check is None:
            self.notify("it was not checked yet", timeout=3)
            return
        self.app.push_screen(LogScreen(agent, self._read_output, what="check"))

    async def _read_output(self, agent_id: str, count: int) -> list[str]:
        lines: list[str] = await self._around.call("checks.output", agent_id, lines=count)
        return lines

    def action_land(self) -> None:
        if agent := self._selected():
            self._around.land(agent)

    def action_keep(self) -> None:
        """Keep the selected agent and move the others to the trash, after a question."""
        agent = self._selected()
        others = [one for one in self.model.listed if agent is not None and one.id != agent.id]
        if agent is None or not others:
            return
        names = ", ".join(clean(one.name) for one in others[:5]) + (" …" if len(others) > 5 else "")
        question = f"Keep {clean(agent.name)} and move {names} to the trash? Their branches stay, and u brings them back."

        def keep(is_sure: bool | None) -> None:
            if is_sure:
                self._around.start(self._keep(agent, others))

        self.app.push_screen(Confirm("Keep one", question, f"keep {clean(agent.name)}"), keep)

    async def _keep(self, agent: Agent, others: list[Agent]) -> None:
        warnings: list[Any] = await self._around.call("comparison.keep", agent.id, [one.id for one in others])
        self.app.notify(f"kept {clean(agent.name)}; {counted(len(others), 'other')} in the trash")
        for warning in warnings:
            self.app.notify(clean(str(warning)), severity="warning", timeout=8)
        if self.is_attached:
            self.dismiss(None)

    def _selected(self) -> Agent | None:
        """The selected agent as the list knows it; a toast if it is gone."""
        agent = self.model.agent(self.model.selected)
        if agent is None and self.model.found is not None:
            self.notify("it is no longer in the list", severity="warning", timeout=3)
        return agent
