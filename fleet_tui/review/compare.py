"""Measure the work of several agents of one repository: files, tests, commits, and what does not merge.

Worktrees are read as snapshots and merged in memory; neither they nor the repository change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

from fleet_tui import git
from fleet_tui.comparison import ComparedAgent
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.models import Agent, Status
from fleet_tui.review import checks
from fleet_tui.review.added_tests import count_tests, looked_through
from fleet_tui.review.diff import git_dir_of
from fleet_tui.store.database import Store
from fleet_tui.work import CheckRun

AT_ONCE = 4
"""Threads; each waits for git most of the time."""
_AT_WORK = frozenset({Status.SETUP, Status.STARTING, Status.WORKING})
_AT_REST = frozenset({Status.IDLE, Status.DONE, Status.BLOCKED, Status.ERROR, Status.LIMITED})


@dataclass(frozen=True, slots=True)
class _Side:
    """An agent's work as a tree, and the same as a commit in the scratch objects."""

    compared: ComparedAgent
    tree: str
    commit: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of agents of one repository."""

    agents: tuple[ComparedAgent, ...]
    base: str
    """The name of the branch that they would land on."""
    problem: str = ""
    """Why nothing was merged."""


def measure(store: Store, agents: Sequence[Agent], *, now: float) -> Measured:
    """Measure these agents, which are of one project."""
    labels = _labels([agent.name for agent in agents])
    bare = [_bare(agent, label, now) for agent, label in zip(agents, labels, strict=True)]
    git_dir = next((found for agent in agents if (found := _git_dir(store, agent)) is not None), None)
    base = git.base_branch(git_dir) if git_dir is not None else None
    if git_dir is None or base is None:
        reason = "its worktree is gone" if git_dir is None else "the repository has no commit"
        return Measured(tuple(replace(one, problem=one.problem or reason) for one in bare), "")
    newest = checks.newest(store, agents)
    with git.scratch_objects(git_dir) as scratch, ThreadPoolExecutor(AT_ONCE) as pool:
        sides = list(
            pool.map(
                lambda pair: _side(git_dir, scratch, pair[0], pair[1], newest.get(pair[0].id)),
                zip(agents, bare, strict=True),
            )
        )
        conflicts, problem = _conflicts(git_dir, scratch, base.commit, sides)
    name = base.name or base.commit[:10]
    return Measured(tuple(_with_conflicts(side.compared, conflicts) for side in sides), name, problem)


def _bare(agent: Agent, label: str, now: float) -> ComparedAgent:
    """What an agent's row says."""
    if agent.has_ended and agent.ended_at:
        end = agent.ended_at
    else:
        end = agent.status_since if agent.status in _AT_REST else now
    profile = agent.profile.rpartition("/")[2]
    problem = "" if agent.has_worktree else f"no worktree: it is {agent.status}"
    return ComparedAgent(
        agent.id, agent.name, label, profile, str(agent.status), agent.status in _AT_WORK,
        seconds=max(0.0, end - agent.created_at), problem=problem,
    )  # fmt: skip


def _git_dir(store: Store, agent: Agent) -> Path | None:
    try:
        return git_dir_of(store, agent)
    except FleetError:
        return None


def _side(
    git_dir: Path,
    scratch: git.ScratchObjects,
    agent: Agent,
    bare: ComparedAgent,
    check: CheckRun | None,
) -> _Side:
    if bare.problem:
        return _Side(bare, "", "")
    try:
        place = git.place_of(git_dir, Path(agent.worktree), agent.id)
        shot = git.take_snapshot(place, scratch, agent.id)
        head = shot.head or agent.base
        start = git.work_start(git_dir, agent.base, head, agent.branch)
        files = tuple(git.changed_files(git_dir, start, shot.tree, objects=scratch.variables))
        unsaved = {
            one.path
            for one in git.changed_files(git_dir, head, shot.tree, counts=False, objects=scratch.variables)
        }
        files = tuple(replace(one, is_uncommitted=one.path in unsaved) for one in files)
        named = looked_through(files)
        patch = (
            git.patch(git_dir, start, shot.tree, named, context=0, objects=scratch.variables) if named else ""
        )
        commits = git.commit_count(git_dir, start, head) if head != start else 0
    except (FleetError, OSError) as error:
        reason = error.message if isinstance(error, FleetError) else error.strerror or str(error)
        return _Side(replace(bare, problem=reason), "", "")
    compared = replace(
        bare,
        files=files,
        commits=commits,
        tests=count_tests(patch),
        check=check,
        is_check_current=check is not None and check.is_over and check.counts_for(shot.tree),
    )
    return _Side(compared, shot.tree, scratch.write_commit(shot.tree, head))


# ── merging ─────────────────────────────────────────────────────────────────────────────────────────────────────

_Conflicts = Mapping[tuple[str, str], tuple[str, ...]]
"""The files that do not merge, by two ids; the second is empty for the base branch."""


def _conflicts(
    git_dir: Path, scratch: git.ScratchObjects, base: str, sides: Sequence[_Side]
) -> tuple[_Conflicts, str]:
    """What does not merge, and why nothing was merged if it was not."""
    changed = [side for side in sides if side.compared.files]
    pairs = {(one.compared.id, ""): (one.commit, base) for one in changed}
    pairs |= {
        (one.compared.id, other.compared.id): (one.commit, other.commit)
        for one, other in combinations(changed, 2)
        if one.tree != other.tree
    }
    if not pairs:
        return {}, ""
    if not git.can_merge_in_memory():
        return {}, git.OLD_GIT
    try:
        with scratch.throwaway() as objects:
            merged = git.merge_pairs(git_dir, list(pairs.values()), base=base, objects=objects)
    except git.GitFailed as error:
        return {}, error.message
    return {
        sides: result.paths for sides, result in zip(pairs, merged, strict=True) if not result.is_clean
    }, ""


def _with_conflicts(one: ComparedAgent, conflicts: _Conflicts) -> ComparedAgent:
    others = {
        other if first == one.id else first: files
        for (first, other), files in conflicts.items()
        if other and one.id in (first, other)
    }
    return replace(one, base_conflicts=conflicts.get((one.id, ""), ()), conflicts=others)


# ── names ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _labels(names: Sequence[str]) -> list[str]:
    """Names without the part up to a dash that all share: fix-A and fix-B become A and B."""
    heads = {name.rpartition("-")[0] for name in names}
    tails = [name.rpartition("-")[2] for name in names]
    are_alike = len(names) > 1 and len(heads) == 1 and "" not in heads and all(tails)
    return tails if are_alike and len(set(tails)) == len(tails) else list(names)
