"""Pull requests of agents' branches: push and open one, and look at all of them with one call for each repository."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.models import Agent
from fleet_tui.review import code_hosts
from fleet_tui.review.gh import GitHub
from fleet_tui.review.glab import GitLab
from fleet_tui.review.host_program import HostProgramFailed
from fleet_tui.review.hosted import HostedRequest
from fleet_tui.store.database import Store
from fleet_tui.text import cut, one_line
from fleet_tui.work import PullRequest

MOST_TITLE = 250
"""Hosts take at most 255 or 256 characters."""
MOST_BODY = 60_000
"""GitHub takes at most 65,536 characters."""


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """A request as recorded, and what its host said of it just now."""

    request: PullRequest
    hosted: HostedRequest | None = None
    host: GitHub | GitLab | None = None


def route(git_dir: Path, branch: str, base: str) -> str:
    """Where a branch would be pushed, and with what a request would be opened; without asking the host."""
    plan = code_hosts.with_real_hosts(git.push_plan(git_dir, branch, base))
    place = f" ({plan.target.host}/{plan.target.path})" if plan.target.host else ""
    return f"to {plan.remote}{place}, {code_hosts.likely_program(plan)}"


def open_request(store: Store, agent: Agent, title: str, body: str, base: str, *, draft: bool) -> PullRequest:
    """Push an agent's branch and open a request for it, or find the open one.

    If no program can open it, the request is `pushed`: its address is the page to open it on, its note says why.
    """
    git_dir = _git_dir(store, agent)
    plan = code_hosts.with_real_hosts(git.push_plan(git_dir, agent.branch, base))
    tip = _tip(git_dir, agent)
    if not git.has_own_commits(git_dir, agent.base, tip):
        raise Refused(
            f"{agent.name} has no commits to push", hint=f"see its changes: fleet diff {agent.name}"
        )
    pushed = git.push(_place(git_dir, agent), plan.remote, agent.branch)
    request = PullRequest(
        agent.id,
        code_hosts.page_to_open(plan, agent.branch, pushed.pages),
        0, "pushed", "", "", 0, time.time(), head=tip,
    )  # fmt: skip
    host = code_hosts.program_for(plan)
    if host is None:
        request = replace(request, note=code_hosts.missing_program(plan))
    else:
        try:
            request = _opened(host, plan, request, agent.branch, (title or agent.name, body), draft=draft)
        except HostProgramFailed as error:
            request = replace(request, note=error.message)
    with store.transaction():
        store.pull_requests.put(request)
    return store.pull_requests.all()[agent.id]


def _opened(
    host: GitHub | GitLab,
    plan: git.PushPlan,
    request: PullRequest,
    branch: str,
    text: tuple[str, str],
    *,
    draft: bool,
) -> PullRequest:
    found = [one for one in host.requests([branch]) if one.state == "open" and _is_ours(one, plan, branch)]
    if found:
        # What the host knows of the new commit comes with the next look.
        return replace(
            request, number=found[0].number, url=found[0].url, state="open", review=found[0].review
        )
    title, body = text
    number, url = host.create(branch, cut(one_line(title), MOST_TITLE), cut(body, MOST_BODY), draft=draft)
    return replace(request, number=number, url=url, state="open")


def look(store: Store, agents: Sequence[Agent], base: str = "") -> dict[str, SeenRequest]:
    """Ask the hosts for the requests of these agents, one call for each repository, and record what they say.

    A host that cannot be asked is no error: the request stays as it was last seen, and its note says why.
    """
    known = store.pull_requests.all()
    found: dict[str, SeenRequest] = {}
    for group in _by_repository(store, agents, base):
        found |= _look_at(group, known)
    with store.transaction(uses_reserve=False):
        for seen in found.values():
            store.pull_requests.put(seen.request)
    now = store.pull_requests.all()
    return {agent: replace(seen, request=now[agent]) for agent, seen in found.items() if agent in now}


@dataclass(frozen=True, slots=True)
class _Group:
    """The agents whose branches are pushed to the same repository."""

    git_dir: Path
    plan: git.PushPlan
    agents: tuple[Agent, ...]


def _by_repository(store: Store, agents: Sequence[Agent], base: str) -> Iterator[_Group]:
    git_dirs = store.agents.git_dirs(agents)
    groups: dict[tuple[Path, git.PushPlan], list[Agent]] = {}
    for project in dict.fromkeys(agent.project for agent in agents):
        members = [agent for agent in agents if agent.project == project and agent.id in git_dirs]
        # A repository that is gone, or has no remote, has no requests.
        with suppress(FleetError, IndexError):
            git_dir = git_dirs[members[0].id]
            into = base or _usual_base(git_dir)
            plans = git.push_plans(git_dir, [agent.branch for agent in members], into)
            for agent in members:
                groups.setdefault((git_dir, plans[agent.branch]), []).append(agent)
    for (git_dir, plan), some in groups.items():
        yield _Group(git_dir, code_hosts.with_real_hosts(plan), tuple(some))


def _look_at(group: _Group, known: Mapping[str, PullRequest]) -> dict[str, SeenRequest]:
    host = code_hosts.program_for(group.plan)
    if host is None:
        return {}
    now = time.time()
    try:
        listed = host.requests(sorted({agent.branch for agent in group.agents}))
    except HostProgramFailed as error:
        return {
            agent.id: SeenRequest(replace(known[agent.id], note=error.message))
            for agent in group.agents
            if agent.id in known
        }
    found: dict[str, SeenRequest] = {}
    for agent in group.agents:
        before = known.get(agent.id)
        hosted = _request_of(agent, group, listed, before)
        if hosted is not None:
            found[agent.id] = SeenRequest(_recorded(agent, hosted, now), hosted, host)
        elif before is not None:
            found[agent.id] = SeenRequest(
                replace(before, at=now, note=before.note if not before.number else "")
            )
    return found


def _request_of(
    agent: Agent, group: _Group, listed: Sequence[HostedRequest], before: PullRequest | None
) -> HostedRequest | None:
    """The request of an agent's branch: the open one; an ended one only if it had the agent's own commits."""
    ours = [one for one in listed if _is_ours(one, group.plan, agent.branch)]
    for one in ours:
        if one.state == "open":
            return one
    for one in ours:
        is_known = before is not None and before.number == one.number
        if is_known or _has_commit(group.git_dir, agent, one.head):
            return one
    return None


def _has_commit(git_dir: Path, agent: Agent, head: str) -> bool:
    """Whether a commit is one that the agent made: names of branches are used again."""
    with suppress(FleetError):
        return git.is_between(git_dir, agent.base, head, _tip(git_dir, agent))
    return False


def _is_ours(one: HostedRequest, plan: git.PushPlan, branch: str) -> bool:
    """Whether it is of the branch in the repository that it is pushed to, not of one with the same name in a fork."""
    return one.branch == branch and one.owner.lower() in ("", plan.source.owner.lower())


def _recorded(agent: Agent, hosted: HostedRequest, now: float) -> PullRequest:
    return PullRequest(
        agent.id, hosted.url, hosted.number, hosted.state, hosted.checks, hosted.review, 0, now, head=hosted.head,
        failed=cut(", ".join(one_line(check.name) for check in hosted.failures), 500),
    )  # fmt: skip


def push_more(store: Store, agent: Agent, seen: PullRequest, base: str = "") -> str:
    """Push what an agent has committed since its request was last seen; the new head, empty if there is nothing.

    Raises Refused if the branch does not continue the request's commits.
    """
    git_dir = _git_dir(store, agent)
    tip = _tip(git_dir, agent)
    if tip == seen.head or git.is_between(git_dir, agent.base, tip, seen.head):
        return ""
    if not git.is_between(git_dir, agent.base, seen.head, tip):
        raise Refused(
            f"{agent.branch} does not continue the commits of #{seen.number}, so it was not pushed",
            hint="push it by hand, if it is right",
        )
    plan = git.push_plan(git_dir, agent.branch, base or _usual_base(git_dir))
    return tip if git.push(_place(git_dir, agent), plan.remote, agent.branch).has_changed else ""


def _usual_base(git_dir: Path) -> str:
    """The name of the base branch; empty while none is checked out, and then the usual remote is meant."""
    found = git.base_branch(git_dir)
    return found.name if found is not None else ""


def _git_dir(store: Store, agent: Agent) -> Path:
    found = store.agents.git_dirs([agent]).get(agent.id)
    if found is None:
        raise NotFound(f"the repository of {agent.name} is not known", hint="run: fleet doctor")
    return found


def _tip(git_dir: Path, agent: Agent) -> str:
    return git.commit_of(git_dir, f"refs/heads/{agent.branch}")


def _place(git_dir: Path, agent: Agent) -> git.GitPlaces:
    """The agent's worktree, where its hooks belong; without one, the repository itself."""
    worktree = Path(agent.worktree)
    if agent.has_worktree and worktree.is_dir():
        return git.place_of(git_dir, worktree, agent.id)
    return git.GitPlaces(git_dir, git_dir, git_dir / "no work tree")
