"""What the compare screen shows: the comparison, the checks that run, the selected and the marked agents.

Asks the worker for the comparison only when something may have changed, and for running checks alone meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.comparison import SORT_KEYS, ComparedAgent, Comparison, SortKey
from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import Agent, Status
from fleet_tui.tui.compare.surroundings import CompareSurroundings
from fleet_tui.work import CheckRun

READ_SECONDS = 5.0
"""Between two comparisons while an agent works."""
MOST_MARKED = 2
_WORKING = frozenset({Status.SETUP, Status.STARTING, Status.WORKING})


class CompareModel:
    def __init__(self, agents: Sequence[Agent], around: CompareSurroundings) -> None:
        self.ids = [agent.id for agent in agents]
        self._around = around
        self.found: Comparison | None = None
        self.order: SortKey = "rank"
        self.selected = ""
        self.marked: tuple[str, ...] = ()
        self._seen: tuple[object, ...] = ()
        self._read_at = 0.0

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────

    async def read(self, *, is_forced: bool = False) -> bool:
        """Bring the comparison up to date; whether it was read anew or a check has moved on."""
        state = self._state()
        is_due = self._is_working() and self._around.now() - self._read_at >= READ_SECONDS
        if is_forced or is_due or self.found is None or state != self._seen:
            self._seen, self._read_at = state, self._around.now()
            self.take(await self._around.call("comparison.of", self.ids))
            return True
        if self.running:
            runs = await self._around.call("checks.runs", self.ids)
            return await self._take_runs(runs)
        return False

    async def _take_runs(self, runs: dict[str, CheckRun]) -> bool:
        """Take how checks stand; one that has begun or ended changes reasons, and may change ranks."""
        states = {one.id: one.check.state for one in self.running if one.check is not None}
        if any(
            (run := runs.get(agent)) is not None and run.state is not was for agent, was in states.items()
        ):
            return await self.read(is_forced=True)
        if self.found is not None:
            agents = tuple(replace(one, check=runs.get(one.id, one.check)) for one in self.found.agents)
            self.found = replace(self.found, agents=agents)
        return True

    def take(self, found: Comparison) -> None:
        self.found = found.sorted_by(self.order)
        there = {one.id for one in found.agents}
        if self.selected not in there:
            self.selected = self.found.agents[0].id if self.found.agents else ""
        self.marked = tuple(one for one in self.marked if one in there)

    def _state(self) -> tuple[object, ...]:
        """What the list shows of these agents: a change means that their work may have changed."""
        return tuple((agent.id, agent.status, agent.name) for agent in self.listed)

    def _is_working(self) -> bool:
        return any(agent.status in _WORKING for agent in self.listed)

    # ── agents ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def listed(self) -> list[Agent]:
        """The agents as the list knows them now."""
        wanted = set(self.ids)
        return [agent for agent in self._around.agents() if agent.id in wanted]

    def agent(self, agent_id: str) -> Agent | None:
        return next((agent for agent in self.listed if agent.id == agent_id), None)

    @property
    def compared(self) -> Sequence[ComparedAgent]:
        return self.found.agents if self.found is not None else ()

    @property
    def current(self) -> ComparedAgent | None:
        """The selected one."""
        return next((one for one in self.compared if one.id == self.selected), None)

    @property
    def running(self) -> list[ComparedAgent]:
        """Those whose check runs or waits."""
        return [one for one in self.compared if one.check is not None and not one.check.is_over]

    @property
    def unchecked(self) -> list[str]:
        """The ids of agents at rest whose work has no check of its own yet."""
        running = {one.id for one in self.running}
        return [
            one.id
            for one in self.compared
            if not (one.problem or one.is_working or one.is_check_current or one.is_empty)
            and one.id not in running
        ]

    # ── what the user does ──────────────────────────────────────────────────────────────────────────────────────

    def step(self, by: int) -> None:
        ids = [one.id for one in self.compared]
        if ids:
            place = ids.index(self.selected) if self.selected in ids else 0
            self.selected = ids[max(0, min(len(ids) - 1, place + by))]

    def mark(self) -> None:
        """Mark the selected agent or take its mark away; of three, the first mark goes."""
        if self.selected in self.marked:
            self.marked = tuple(one for one in self.marked if one != self.selected)
        elif self.selected:
            self.marked = (*self.marked, self.selected)[-MOST_MARKED:]

    def next_order(self) -> SortKey:
        self.order = SORT_KEYS[(SORT_KEYS.index(self.order) + 1) % len(SORT_KEYS)]
        if self.found is not None:
            self.found = self.found.sorted_by(self.order)
        return self.order
