"""Find agents whose work is in its base branch already, though it was not landed from here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.review.pull_requests import base_branch
from fleet_tui.store.database import Store
from fleet_tui.work import MergedBranch


def merged_elsewhere(store: Store, agents: Sequence[Agent], base: str = "") -> list[MergedBranch]:
    """The agents of which every commit is in the base branch, or in what was last fetched of it.

    A merged pull request counts, too, if it had the branch's last commit. Nothing is fetched.
    """
    requests = store.pull_requests.all()
    git_dirs = store.agents.git_dirs(agents)
    found = []
    for agent in agents:
        # A repository or a branch that is gone says nothing.
        with suppress(FleetError, KeyError):
            git_dir = git_dirs[agent.id]
            tip = git.commit_of(git_dir, f"refs/heads/{agent.branch}")
            request = requests.get(agent.id)
            if request is not None and request.state == "merged" and request.head == tip:
                found.append(_merged(agent, git_dir, f"#{request.number}", "merged"))
                continue
            for name, target in _targets(git_dir, agent, base):
                how = git.containment(git_dir, start=agent.base, tip=tip, target=target)
                if how:
                    found.append(_merged(agent, git_dir, name, how))
                    break
    return found


def _merged(agent: Agent, git_dir: Path, into: str, how: git.Containment) -> MergedBranch:
    return MergedBranch(agent.id, into, how or "merged", _has_uncommitted(agent, git_dir))


def _targets(git_dir: Path, agent: Agent, base: str) -> Iterator[tuple[str, str]]:
    """The base branch and its counterpart on the remote, by name, each with its commit."""
    name = base_branch(agent, base)
    local = git.commit_of(git_dir, name)
    yield name, local
    counterpart = git.remote_counterpart(git_dir, name)
    if counterpart:
        remote = git.commit_of(git_dir, counterpart)
        if remote != local:
            yield counterpart.removeprefix("refs/remotes/"), remote


def _has_uncommitted(agent: Agent, git_dir: Path) -> bool:
    """Also true if it cannot be told."""
    if not agent.has_worktree or not Path(agent.worktree).is_dir():
        return False
    with suppress(FleetError):
        return bool(git.status(git.place_of(git_dir, Path(agent.worktree), agent.id)))
    return True
