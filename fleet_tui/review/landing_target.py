"""What an agent's landing is about: its worktree, its commits, and the branch that they land on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Status
from fleet_tui.store.database import Store


@dataclass(frozen=True, slots=True)
class LandingTarget:
    """An agent's work, and where it goes."""

    agent: Agent
    repo: git.Repository
    place: git.GitPlaces | None
    """The agent's worktree; None if its folder is gone, and then only its branch can land."""
    head: str
    """The agent's last commit."""
    on: str
    """The branch that its worktree is on; empty for a detached HEAD."""
    into: str
    tip: str
    """The commit of that branch."""

    @property
    def git_dir(self) -> Path:
        return self.repo.git_dir

    @property
    def base_place(self) -> git.GitPlaces | None:
        """The worktree that has the branch checked out."""
        return git.checkout_of(self.git_dir, self.into, self.repo.root)


def find_target(store: Store, agent: Agent, into: str = "") -> LandingTarget:
    """Resolve what lands where. Raises Refused or NotFound with what to do."""
    if agent.status is Status.KILLED:
        raise Refused(f"{agent.name} was killed", hint=f"fleet undo {agent.name} restores it, then land it")
    if not agent.has_worktree:
        raise Refused(f"{agent.name} has no worktree yet", hint="see: fleet list")
    repo = git.discover(Path(agent.project))
    git_dir = store.agents.git_dirs([agent]).get(agent.id, repo.git_dir)
    place, head, on = _work(git_dir, agent)
    into = into or default_into(repo, agent, others=[one.branch for one in store.agents.all()])
    if into == agent.branch:
        raise Refused(f"{into} is the branch of {agent.name} itself", hint="name another with --into")
    found = git.branches(repo.git_dir, [into]).get(into)
    if found is None:
        raise NotFound(f"there is no branch {into!r}", hint="git branch lists the branches")
    return LandingTarget(agent, repo, place, head, on, into, found.commit)


def _work(git_dir: Path, agent: Agent) -> tuple[git.GitPlaces | None, str, str]:
    """The agent's worktree, its last commit, and the branch that it is on."""
    if Path(agent.worktree).is_dir():
        place = git.place_of(git_dir, Path(agent.worktree), agent.id)
        head, on = git.head_and_branch(place)
        if not head:
            raise Refused(f"{agent.name} has no commit to land", hint="see git status in its worktree")
        return place, head, on
    found = git.branches(git_dir, [agent.branch]).get(agent.branch)
    if found is None:
        raise NotFound(
            f"the worktree and the branch of {agent.name} are gone",
            hint=f"remove it with: fleet kill {agent.name}",
        )
    return None, found.commit, agent.branch


def default_into(repo: git.Repository, agent: Agent, *, others: Sequence[str] = ()) -> str:
    """The branch to land on: the base branch, if the agent started from a commit of it; else the only branch with that
    commit that is no agent's."""
    base = git.base_branch(repo.git_dir)
    if base is not None and base.name and git.has_commit(repo.git_dir, agent.base, base.commit):
        return base.name
    agents = {agent.branch, *others}
    found = sorted(git.branches_with(repo.git_dir, agent.base) - agents)
    if len(found) == 1:
        return found[0]
    said = (
        f"{', '.join(found[:5])} have the commit it started from"
        if found
        else "no branch has the commit it started from"
    )
    raise Refused(f"it is not clear where {agent.name} lands: {said}", hint="name the branch with --into")
