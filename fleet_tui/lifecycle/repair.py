"""Repair the fleet: restore lost rows, follow moved repositories and worktrees, fix links. Removes nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git
from fleet_tui.lifecycle import rebuild, reconcile, worktree_location
from fleet_tui.models import Agent
from fleet_tui.store.database import Store


def repair(store: Store, repository: git.Repository | None) -> list[str]:
    """Repair all rows, and the worktrees of this repository; returns a note on each agent found or missing."""
    restored = rebuild.restore(store)
    reconcile.reconcile(store)
    notes = [f"restored: {agent.name}" for agent in restored]
    if repository is None:
        return notes
    notes += [f"moved to this repository: {agent.name}" for agent in _adopt_moved(store, repository)]
    notes += _follow_worktrees(store, repository)
    agents = store.agents.all(str(repository.root))
    here = [agent for agent in agents if os.path.lexists(Path(agent.worktree) / ".git")]
    notes += _reconnect(store, here)
    replaced = _replaced(store, agents)
    notes += [
        f"{agent.name}: {agent.worktree} was replaced by a link (put its folder back, then run this again)"
        for agent in replaced
    ]
    if not replaced:
        # Git would write through the link into an unrelated folder.
        notes += git.repair(repository, [Path(agent.worktree) for agent in here])
    return notes + [_missing(agent) for agent in agents if agent.has_worktree and agent not in here]


def _reconnect(store: Store, agents: Sequence[Agent]) -> list[str]:
    """Restore `.git` files that agents have changed: git follows them and writes where they lead."""
    git_dirs = store.agents.git_dirs(agents)
    notes = []
    for agent in agents:
        problem = git.link_problems(git_dirs, [agent]).get(agent.id, "")
        if problem and git.relink(git_dirs[agent.id], Path(agent.worktree), agent.id):
            notes.append(f"{agent.name}: {problem}; repaired")
        elif problem and not Path(agent.worktree).is_symlink():
            notes.append(f"{agent.name}: {problem} (move {agent.worktree}/.git away, then run this again)")
    return notes


def _replaced(store: Store, agents: Sequence[Agent]) -> list[Agent]:
    """Agents whose worktree was replaced by a link to another folder."""
    links = [agent for agent in agents if Path(agent.worktree).is_symlink()]
    problems = git.link_problems(store.agents.git_dirs(links), links)
    return [agent for agent in links if agent.id in problems]


def _adopt_moved(store: Store, repository: git.Repository) -> list[Agent]:
    """Move agents to this repository if it is theirs at a new path."""
    here_now = {str(entry.path) for entry in git.worktrees(repository)}
    gone = {
        agent.project
        for agent in store.agents.all()
        if agent.worktree in here_now and not Path(agent.project).exists()
    }
    with store.transaction():
        taken = [agent for project in gone for agent in store.agents.all(project)]
        for project in gone:
            store.batches.move_project(
                project, str(repository.root), name=repository.name,
                git_dir=str(repository.git_dir), at=time.time(),
            )  # fmt: skip
    return _now(store, taken)


def _follow_worktrees(store: Store, repository: git.Repository) -> list[str]:
    """Record where worktrees are that were moved by git or by hand, or are in the trash; returns notes."""
    notes = [
        worktree_location.correct(store, agent, now=time.time())
        for agent in store.agents.all(str(repository.root))
    ]
    return [note for note in notes if note]


def _now(store: Store, agents: Sequence[Agent]) -> list[Agent]:
    return [store.agents.get(agent.id) for agent in agents]


def _missing(agent: Agent) -> str:
    """The note on a worktree that was not found."""
    if not Path(agent.worktree).is_dir():
        return (
            f"{agent.name}: its worktree {agent.worktree} is gone (fleet kill {agent.name} cleans up; "
            "if it was moved: git worktree repair PATH, then run this again)"
        )
    return f"{agent.name}: {agent.worktree} is no longer a worktree: it has no .git (fleet kill {agent.name} keeps its files)"
