"""Rows of the list: project, batch, agent; grouped, filtered and ordered. Pure: state in, rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rich.cells import cell_len

from fleet_tui import names
from fleet_tui.faces.totals import RANK
from fleet_tui.faces.wording import word
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Agent, Batch, FleetState, Status
from fleet_tui.tui.widgets.lines import clean
from fleet_tui.tui.widgets.statuses import needs

Order = Literal["batch", "need"]


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of the list: words, s:status, b:batch, a:profile."""

    text: str = ""
    needing_only: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.text.strip() and not self.needing_only

    def passes(self, agent: Agent, batch: str) -> bool:
        if self.needing_only and not needs(agent):
            return False
        return all(_matches(term.lower(), agent, batch) for term in self.text.split())


def _matches(term: str, agent: Agent, batch: str) -> bool:
    kind, found, value = term.partition(":")
    if found and kind in ("s", "b", "a"):
        texts = {"s": (str(agent.status), word(agent)), "b": (batch, agent.batch), "a": (agent.profile,)}[
            kind
        ]
        return any(value in text.lower() for text in texts)
    return any(term in text.lower() for text in (agent.name, agent.prompt, batch, agent.branch))


@dataclass(frozen=True, slots=True)
class ProjectRow:
    name: str


@dataclass(frozen=True, slots=True)
class BatchRow:
    key: tuple[str, str]
    """Project and batch id."""
    project: str
    name: str
    members: tuple[Agent, ...]
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class AgentRow:
    agent: Agent
    short: str
    name_width: int = 11


ListRow = ProjectRow | BatchRow | AgentRow


@dataclass(frozen=True, slots=True)
class RowFilter:
    """What selects and orders the rows."""

    filter: Filter = field(default_factory=Filter)
    folded: frozenset[tuple[str, str]] = frozenset()
    order: Order = "batch"
    here: str = ""
    """The project whose agents come first."""


def project_name(project: str) -> str:
    return project.rstrip("/").rsplit("/", 1)[-1].removesuffix(".git")


def batch_name(batch: str, members: Sequence[Agent]) -> str:
    return names.batch_label(batch, [agent.name for agent in members])


def short_name(agent: Agent, batch: str) -> str:
    return agent.name.removeprefix(f"{batch}-") or agent.name


def rows(state: FleetState, shown: RowFilter) -> tuple[ListRow, ...]:
    """All rows, in a stable order: a status change does not move an agent."""
    groups = _groups(state, shown)
    if shown.order == "need":
        return tuple(_by_need(groups))
    found: list[ListRow] = []
    last = ""
    for batch, members in groups:
        if batch.project != last:
            found.append(ProjectRow(project_name(batch.project)))
            last = batch.project
        found += _batch_rows(batch, members, shown)
    return tuple(found)


def _groups(state: FleetState, shown: RowFilter) -> list[tuple[Batch, list[Agent]]]:
    batches = {(batch.project, batch.id): batch for batch in state.batches}
    grouped: dict[tuple[str, str], list[Agent]] = {}
    for agent in state.agents:
        if agent.status is not Status.KILLED or "killed" in shown.filter.text:
            grouped.setdefault((agent.project, agent.batch), []).append(agent)
    found = []
    for place, members in grouped.items():
        batch = batches.get(place) or Batch(place[1], place[0], members[0].created_at)
        name = batch_name(batch.id, members)
        passing = [agent for agent in members if shown.filter.passes(agent, name)]
        if passing:
            found.append((batch, passing))
    firsts: dict[str, float] = {}
    for batch, _ in found:
        firsts[batch.project] = min(firsts.get(batch.project, batch.created_at), batch.created_at)
    found.sort(
        key=lambda one: (
            one[0].project != shown.here,
            firsts[one[0].project],
            one[0].project,
            one[0].created_at,
        )
    )
    return found


def _batch_rows(batch: Batch, members: Sequence[Agent], shown: RowFilter) -> Iterator[ListRow]:
    place = (batch.project, batch.id)
    name = batch_name(batch.id, members)
    is_folded = place in shown.folded and shown.filter.is_empty
    yield BatchRow(place, project_name(batch.project), name, tuple(members), is_folded)
    if not is_folded:
        shorts = [short_name(agent, name) for agent in members]
        width = _name_width(shorts)
        for agent, short in zip(members, shorts, strict=True):
            yield AgentRow(agent, short, width)


def _name_width(shown: Sequence[str]) -> int:
    return min(24, max((cell_len(clean(name)) for name in shown), default=10) + 1)


def _by_need(groups: Iterable[tuple[Batch, list[Agent]]]) -> list[ListRow]:
    agents = [agent for _, members in groups for agent in members]
    agents.sort(key=lambda agent: (RANK[agent.status], agent.created_at))
    width = _name_width([agent.name for agent in agents])
    return [AgentRow(agent, agent.name, width) for agent in agents]


def agents_of(found: Iterable[ListRow]) -> list[Agent]:
    """The agents in the order of the list, those of folded batches left out."""
    return [row.agent for row in found if isinstance(row, AgentRow)]
