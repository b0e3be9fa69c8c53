"""Find agents whose work is in its base branch already, though it was not landed from here."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.store.database import Store
from fleet_tui.work import MergedBranch, PullRequest


def merged_elsewhere(store: Store, agents: Sequence[Agent], base: str = "") -> list[MergedBranch]:
    """The agents of which every commit is in the base branch, or in what was last fetched of it.

    A merged pull request counts, too, if it had the branch's last commit. Nothing is fetched.
    """
    requests = store.pull_requests.all()
    git_dirs = store.agents.git_dirs(agents)
    targets: dict[str, _Targets] = {}
    found = []
    for agent in agents:
        # A repository or a branch that is gone says nothing.
        with suppress(FleetError, KeyError):
            git_dir = git_dirs[agent.id]
            if agent.project not in targets:
                targets[agent.project] = _targets(git_dir, base)
            one = _looked_at(agent, git_dir, requests.get(agent.id), targets[agent.project])
            found += [one] if one is not None else []
    return found


_Targets = Sequence[tuple[str, str]]


def _looked_at(
    agent: Agent, git_dir: Path, request: PullRequest | None, targets: _Targets
) -> MergedBranch | None:
    tip = git.commit_of(git_dir, f"refs/heads/{agent.branch}")
    if tip == agent.base:
        return None
    if request is not None and request.state == "merged" and request.head == tip:
        return _merged(agent, git_dir, f"#{request.number}", "merged")
    for name, target in targets:
        how = git.containment(git_dir, start=agent.base, tip=tip, target=target)
        if how and name != agent.branch:
            return _merged(agent, git_dir, name, how)
    return None


def _merged(agent: Agent, git_dir: Path, into: str, how: git.Containment) -> MergedBranch:
    return MergedBranch(agent.id, into, how or "merged", _has_uncommitted(agent, git_dir))


def _targets(git_dir: Path, base: str) -> _Targets:
    """The base branch of a repository and its counterpart on the remote, by name, each with its commit."""
    usual = git.base_branch(git_dir)
    name = base or (usual.name if usual is not None else "")
    if not name:
        return ()
    found = [(name, git.commit_of(git_dir, f"refs/heads/{name}"))]
    counterpart = git.remote_counterpart(git_dir, name)
    if counterpart:
        remote = git.commit_of(git_dir, counterpart)
        found += [(counterpart.removeprefix("refs/remotes/"), remote)] if remote != found[0][1] else []
    return found


def _has_uncommitted(agent: Agent, git_dir: Path) -> bool:
    """Also true if it cannot be told."""
    if not agent.has_worktree or not Path(agent.worktree).is_dir():
        return False
    with suppress(FleetError):
        return bool(git.status(git.place_of(git_dir, Path(agent.worktree), agent.id)))
    return True
