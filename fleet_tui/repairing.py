"""Finds again what the store has lost and what was moved: rows, repositories and worktrees. Removes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git, land, rebuilding, reconcile
from fleet_tui.models import Agent
from fleet_tui.store import Store


def repair(store: Store, repository: git.Repository | None) -> list[str]:
    """What was found, and what was not, in words; of git only what belongs to the repository."""
    restored = rebuilding.restore(store)
    reconcile.reconcile(store)
    notes = [f"found again: {agent.name}" for agent in restored]
    if repository is None:
        return notes
    notes += [f"moved here: {agent.name}" for agent in _take_along(store, repository)]
    notes += _follow_worktrees(store, repository)
    agents = store.agents(str(repository.root))
    here = [agent for agent in agents if os.path.lexists(Path(agent.worktree) / ".git")]
    notes += _reconnect(store, here)
    replaced = _replaced(store, agents)
    notes += [
        f"{agent.name}: {agent.worktree} was replaced by a link (put its folder back, then this again)"
        for agent in replaced
    ]
    if not replaced:
        # Git would write through such a link, into whatever folder it leads to.
        notes += git.repair(repository, [Path(agent.worktree) for agent in here])
    return notes + [_missing(agent) for agent in agents if agent.has_worktree and agent not in here]


def _reconnect(store: Store, agents: Sequence[Agent]) -> list[str]:
    """Put links right that agents have changed. Git would follow them, and write where they lead to."""
    git_dirs = store.git_dirs(agents)
    notes = []
    for agent in agents:
        problem = git.link_problems(git_dirs, [agent]).get(agent.id, "")
        if problem and git.relink(git_dirs[agent.id], Path(agent.worktree), agent.id):
            notes.append(f"{agent.name}: {problem}, and leads to its repository again")
        elif problem and not Path(agent.worktree).is_symlink():
            notes.append(f"{agent.name}: {problem} (move {agent.worktree}/.git away, then this again)")
    return notes


def _replaced(store: Store, agents: Sequence[Agent]) -> list[Agent]:
    """Agents whose worktree is a link to a folder that is not theirs."""
    links = [agent for agent in agents if Path(agent.worktree).is_symlink()]
    problems = git.link_problems(store.git_dirs(links), links)
    return [agent for agent in links if agent.id in problems]


def _take_along(store: Store, repository: git.Repository) -> list[Agent]:
    """The agents of a repository that is gone, when it is this one that was moved."""
    here_now = {str(entry.path) for entry in git.worktrees(repository)}
    gone = {
        agent.project
        for agent in store.agents()
        if agent.worktree in here_now and not Path(agent.project).exists()
    }
    with store.transaction():
        taken = [agent for project in gone for agent in store.agents(project)]
        for project in gone:
            store.move_project(
                project, str(repository.root), name=repository.name,
                git_dir=str(repository.git_dir), at=time.time(),
            )  # fmt: skip
    return _now(store, taken)


def _follow_worktrees(store: Store, repository: git.Repository) -> list[str]:
    """Find worktrees that were moved by git or by hand, or lie in the trash; what is new of each."""
    notes = [land.mend(store, agent, now=time.time()) for agent in store.agents(str(repository.root))]
    return [note for note in notes if note]


def _now(store: Store, agents: Sequence[Agent]) -> list[Agent]:
    return [store.agent(agent.id) for agent in agents]


def _missing(agent: Agent) -> str:
    """What is to be said about a worktree that git cannot find again."""
    if not Path(agent.worktree).is_dir():
        return (
            f"{agent.name}: its worktree {agent.worktree} is gone (fleet kill {agent.name} tidies up; "
            "if it was moved: git worktree repair PLACE, then this again)"
        )
    return f"{agent.name}: {agent.worktree} is no worktree any more, it has no .git (fleet kill {agent.name} keeps what is in it)"
