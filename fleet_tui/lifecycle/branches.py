"""Branches of killed agents: find idle ones, put them aside, bring them back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.lifecycle.worktree_location import mark
from fleet_tui.models import Agent, Status


def idle(agents: Sequence[Agent]) -> list[Agent]:
    """Killed agents whose branches were made for them and have no commits of their own; one agent per branch."""
    found: list[Agent] = []
    used = {(agent.project, agent.branch) for agent in agents if agent.status is not Status.KILLED}
    for project in sorted({agent.project for agent in agents}):
        killed = {
            agent.branch: agent
            for agent in agents
            if agent.project == project
            and agent.status is Status.KILLED
            and agent.branch_made
            and (project, agent.branch) not in used
        }
        # Skip a repository that is gone or unreadable.
        with contextlib.suppress(FleetError):
            if killed and Path(project).exists():
                git_dir = git.discover(Path(project)).git_dir
                found += [killed[name] for name in git.idle_branches(git_dir, killed)]
    return found


def put_aside(agent: Agent) -> str:
    """Move a killed agent's branch out of refs/heads; returns the ref that keeps it for an undo."""
    return git.set_branch_aside(git.discover(Path(agent.project)).git_dir, agent.branch, mark(agent))


def bring_back(agent: Agent) -> None:
    """Restore a branch that was put aside. Do this before restoring the worktree, which is detached without it."""
    with contextlib.suppress(FleetError):
        git.restore_branch(git.discover(Path(agent.project)).git_dir, agent.branch, mark(agent))
