"""`fleet.comparison`: put the work of several agents side by side, and keep the best."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui import selection
from fleet_tui.comparison import Comparison
from fleet_tui.errors import Refused, UsageError
from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import Agent, Spending

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.trash import KillResult


class ComparisonVerbs:
    """Agents of one project, ranked by what can be measured of their work."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def of(self, agents: Sequence[Agent]) -> Comparison:
        """Compare agents: checks, conflicts, lines, tests, time and cost, in the order of their ranks.

        Runs no check; `checks.start` does.
        """
        from fleet_tui.review import compare, ranking

        current = [self._fleet.current(agent) for agent in agents]
        if len({agent.project for agent in current}) > 1:
            raise UsageError(
                "agents of several projects cannot be compared", hint="name those of one project"
            )
        if not current:
            raise UsageError("which agents?", hint="name a batch or several agents")
        measured = compare.measure(self._fleet.store, current, now=time.time())
        spent = self._fleet.spending(current)
        compared = [
            replace(one, tokens=_tokens(spent[one.id]), cost=spent[one.id].cost) if one.id in spent else one
            for one in measured.agents
        ]
        ranks = ranking.ranked(compared, measured.base)
        found = {one.id: one for one in compared}
        prompts = {agent.prompt for agent in current}
        return Comparison(
            batch=self._batch(current),
            project=current[0].project,
            base=measured.base,
            prompt=prompts.pop() if len(prompts) == 1 else "",
            agents=tuple(found[rank.agent] for rank in ranks),
            ranks=ranking.by_agent(ranks),
            differences=tuple(ranking.differences([found[rank.agent] for rank in ranks])),
            command=self._fleet.checks.command(current[0]),
            no_checks=self._fleet.checks.missing(current[:1]),
            problem=measured.problem,
        )

    def keep(self, winner: Agent, others: Sequence[Agent]) -> list[KillResult]:
        """Keep one agent, and move the others' worktrees to the trash; `undo` restores them."""
        left = [agent for agent in others if agent.id != winner.id]
        if not left:
            raise Refused(
                f"there is no other agent than {winner.name}", hint="name those to move to the trash"
            )
        return self._fleet.kill(left, why="compare")

    def _batch(self, agents: Sequence[Agent]) -> str:
        """The name of the batch that all of them are of; empty if they are of several."""
        batches = {agent.batch for agent in agents}
        if len(batches) > 1:
            return ""
        names = selection.batch_names(self._fleet.agents(everywhere=True))
        return names.get((agents[0].project, agents[0].batch), agents[0].batch)


def _tokens(spent: Spending) -> int:
    return spent.input_tokens + spent.cached_tokens + spent.output_tokens
