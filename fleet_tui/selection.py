"""Selection of agents by name, glob or batch, with a suggestion if nothing matches.

Pure: the caller passes the agents to choose from.
"""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Sequence

from fleet_tui import names
from fleet_tui.errors import NotFound, UsageError
from fleet_tui.models import Agent, Status

_ONE = "name one agent; stop, kill, restart, prompt, wait and move take patterns"


def one(name: str, agents: Sequence[Agent], project: str | None) -> Agent:
    """The agent with a name, id or branch: this project's and living ones first."""
    found = [agent for agent in agents if name in (agent.name, agent.id, agent.branch)]
    here = [agent for agent in found if agent.project == project] or found
    _refuse_several_projects(name, here)
    # Killed ones last, then the newest.
    here.sort(key=lambda agent: (agent.status is not Status.KILLED, agent.created_at))
    if not here:
        raise NotFound(f"no agent {name!r}", hint=_ONE if names.is_pattern(name) else _near(name, agents))
    return here[-1]


def killed(name: str, waiting: Sequence[Agent], project: str | None) -> Agent:
    """The agent with a name or id among those in the trash, oldest first; by name only within the project, if given."""
    found = [agent for agent in waiting if name in (agent.name, agent.id)]
    if not found:
        listed = "fleet trash -a lists the trash of all projects"
        raise NotFound(f"{name!r} is not in the trash", hint=_ONE if names.is_pattern(name) else listed)
    here = [agent for agent in found if project in (None, agent.project) or agent.id == name]
    if not here:
        raise NotFound(
            f"{name!r} is not in the trash of this project",
            hint=f"it belongs to {found[-1].project}: go there, or run: fleet undo -a {name}",
        )
    _refuse_several_projects(name, here)
    return here[-1]


def some(
    patterns: Sequence[str],
    batch: str | None,
    agents: Sequence[Agent],
    others: Callable[[], Sequence[Agent]],
) -> list[Agent]:
    """The agents whose name or id matches one of the patterns, or a whole batch; `others` serve for suggestions."""
    of_any_batch, of_it = agents, ""
    if batch is not None:
        agents, of_it = _of_batch(agents, batch), f" of the batch {batch!r}"
    if not patterns:
        return _all_of(agents, batch)
    chosen: dict[str, Agent] = {}
    for pattern in patterns:
        matching = [agent for agent in agents if _matches(agent, pattern)]
        if not matching:
            if any(_matches(agent, pattern) for agent in of_any_batch):
                hint = "fleet list -g shows the batches"
            else:
                hint = _elsewhere(pattern, agents, others())
            raise NotFound(f"no agent{of_it} matches {pattern!r}", hint=hint)
        if not names.is_pattern(pattern):
            _refuse_several_projects(pattern, matching)
        chosen |= {agent.id: agent for agent in matching}
    return list(chosen.values())


def batch_labels(agents: Sequence[Agent]) -> dict[tuple[str, str], str]:
    """Labels of the batches of these agents, by project and id, without batches of killed agents."""
    members: dict[tuple[str, str], list[str]] = {}
    for agent in agents:
        if agent.status is not Status.KILLED:
            members.setdefault((agent.project, agent.batch), []).append(agent.name)
    return {place: names.batch_label(place[1], of_it) for place, of_it in members.items()}


def batch_names(agents: Sequence[Agent]) -> dict[tuple[str, str], str]:
    """Names of batches to show: the label, or the id if the label is ambiguous within the project."""
    labels = batch_labels(agents)
    taken = Counter((place[0], name) for place, label in labels.items() for name in {place[1], label})
    return {place: label if taken[place[0], label] == 1 else place[1] for place, label in labels.items()}


def _all_of(agents: Sequence[Agent], batch: str | None) -> list[Agent]:
    if batch is None:
        raise UsageError("which agents?", hint="name some, give a pattern such as 'fix-*', or use -b BATCH")
    if not agents:
        raise NotFound(f"no agent in the batch {batch!r}", hint="fleet list -g shows the batches")
    return list(agents)


def _of_batch(agents: Sequence[Agent], batch: str) -> list[Agent]:
    """The agents of the batch with this id, else with this label."""
    found = {(agent.project, agent.batch) for agent in agents if agent.batch == batch}
    found = found or {place for place, label in batch_labels(agents).items() if label == batch}
    ids, projects = sorted({place[1] for place in found}), sorted({place[0] for place in found})
    if len(ids) > 1:
        raise UsageError(
            f"several batches are called {batch!r}", hint=f"say which by its id: {', '.join(ids)}"
        )
    if len(projects) > 1:
        raise UsageError(
            f"several projects have a batch {batch!r}", hint=f"go to one of {', '.join(projects)}"
        )
    return [agent for agent in agents if (agent.project, agent.batch) in found]


def _refuse_several_projects(name: str, agents: Sequence[Agent]) -> None:
    """Refuse a name that means agents of several projects."""
    projects = sorted({agent.project for agent in agents})
    if len(projects) > 1:
        raise UsageError(
            f"several projects have an agent {name!r}",
            hint=f"go to one of {', '.join(projects)}; or use the id",
        )


def _matches(agent: Agent, pattern: str) -> bool:
    return pattern == agent.id or fnmatch.fnmatchcase(agent.name, pattern)


def _elsewhere(pattern: str, agents: Sequence[Agent], others: Sequence[Agent]) -> str:
    """A suggestion for a pattern that matches nothing here."""
    found = [agent for agent in others if _matches(agent, pattern)]
    for agent in found:
        if agent.status is not Status.KILLED:
            return f"{agent.name} belongs to {agent.project}: go there"
    if found:
        return f"{found[0].name} was killed; to restore it, run: fleet undo {found[0].name}"
    return _near(pattern, agents)


def _near(name: str, agents: Sequence[Agent]) -> str:
    import difflib

    close = difflib.get_close_matches(name, [agent.name for agent in agents], n=1)
    return f"did you mean {close[0]!r}?" if close else "fleet list shows all agents"
