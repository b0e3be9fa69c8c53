"""The conflict radar of one repository: which agents' work does not merge, with each other or with the base branch.

Takes snapshots of worktrees and merges them in memory. It keeps what it has found, so that a check after one agent has
worked costs one snapshot and the merges of that agent with the others. Changes neither repository nor worktrees.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from fleet_tui import git
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent
from fleet_tui.review.radar_memory import MergeOutcome, PairOfCommits, RadarMemory
from fleet_tui.work import Conflict, ConflictingFile, ConflictReport, Overlap

AT_ONCE = 2
"""Git processes, when there is much to do."""
MANY = 300
"""Merges that one process is given, at most: it has a time limit."""
SNAPSHOT_SECONDS = 20.0
"""For one worktree: the others wait for it."""


@dataclass(frozen=True, slots=True)
class AgentWork:
    """An agent's work at one moment."""

    agent: str
    head: str
    tree: str
    commit: str
    """The tree as a commit on top of HEAD, in the scratch objects."""
    touched: frozenset[str]
    """The files that differ from the base branch."""
    base: str
    """The base branch's commit that this was compared with."""


class Radar:
    """Remembers the sides of one repository."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._memory = RadarMemory(git_dir)
        self._sides: dict[str, AgentWork] = {}
        self._unread: dict[str, str] = {}
        self._generation = ""
        self._forks: dict[tuple[str, str], str] = {}
        self._parts: dict[tuple[str, str], bool] = {}
        """Whether a commit is part of another's history."""
        self._base: git.BaseBranch | None = None
        self._base_stamp: tuple[object, ...] = ()

    def check(
        self,
        agents: Sequence[Agent],
        changed: Collection[str],
        on_overlaps: Callable[[Sequence[Overlap]], None] = lambda _: None,
    ) -> ConflictReport:
        """Compare these agents; those whose ids are in `changed`, and those not known yet, are read again.

        Overlaps are passed on before anything is merged.
        """
        if not agents:
            return ConflictReport()
        try:
            return self._check(agents, changed, on_overlaps)
        except git.GitFailed:
            # Somebody may have cleaned the cache. What is wrong with the repository itself fails again.
            self._sides.clear()
            return self._check(agents, changed, on_overlaps)

    def _check(
        self,
        agents: Sequence[Agent],
        changed: Collection[str],
        on_overlaps: Callable[[Sequence[Overlap]], None],
    ) -> ConflictReport:
        base = self._read_base()
        if base is None:
            return ConflictReport(problem="the repository has no commit yet")
        with self._opened(agents) as scratch:
            self._look(agents, changed, base.commit, scratch)
            sides = [self._sides[agent.id] for agent in agents if agent.id in self._sides]
            shared = overlaps(sides)
            on_overlaps(shared)
            problem = "" if git.can_merge_in_memory() else git.OLD_GIT
            apart = frozenset(agent.id for agent in agents if not self._lands_on(agent, base.commit))
            found = {} if problem else self._merge(sides, base.commit, apart, scratch)
        name = base.name or base.commit[:10]
        conflicts = self._conflicts(found, name)
        return ConflictReport(
            conflicts,
            tuple(_merging(shared, conflicts)),
            {agent.project: name for agent in agents},
            dict(self._unread),
            problem,
            apart,
        )

    def overlaps(self, agents: Sequence[Agent], changed: Collection[str]) -> Sequence[Overlap]:
        """The files that several of these agents have changed, without merging anything."""
        base = self._read_base()
        if base is None:
            return ()
        with self._opened(agents) as scratch:
            self._look(agents, changed, base.commit, scratch)
        return overlaps([self._sides[agent.id] for agent in agents if agent.id in self._sides])

    def details(self, agents: Sequence[Agent], conflict: Conflict) -> tuple[ConflictingFile, ...]:
        """What conflicts, with the lines in the files of the conflict's first agent."""
        base = self._read_base()
        if base is None or not conflict.files:
            return ()
        with self._opened(agents) as scratch:
            self._look(agents, (), base.commit, scratch)
            one = self._sides.get(conflict.agent)
            other = self._sides.get(conflict.other)
            if one is None or (other is None and conflict.other):
                return ()
            with scratch.throwaway() as objects:
                theirs = other.commit if other is not None else base.commit
                return git.conflicting_files(
                    self._git_dir, one.commit, theirs, base=base.commit, objects=objects
                )

    def has_base_moved(self) -> bool:
        """Whether the base branch may be another one, or have another commit, than at the last look."""
        return git.base_stamp(self._git_dir, self._base) != self._base_stamp

    def _read_base(self) -> git.BaseBranch | None:
        # Once more for a branch of another name: the stamp has to be older than what it stands for.
        for _ in range(2):
            stamp = git.base_stamp(self._git_dir, self._base)
            if stamp != self._base_stamp or self._base is None:
                self._base, self._base_stamp = git.base_branch(self._git_dir), stamp
        return self._base

    @contextmanager
    def _opened(self, agents: Sequence[Agent]) -> Iterator[git.ScratchObjects]:
        there = {agent.id for agent in agents}
        self._sides = {one: side for one, side in self._sides.items() if one in there}
        self._unread = {one: why for one, why in self._unread.items() if one in there}
        with git.scratch_objects(self._git_dir) as scratch:
            if scratch.generation != self._generation or not scratch.generation:
                # The folder was emptied, and the commits are gone.
                self._sides.clear()
                self._generation = scratch.generation
            yield scratch

    # ── reading worktrees ──

    def _look(
        self, agents: Sequence[Agent], changed: Collection[str], base: str, scratch: git.ScratchObjects
    ) -> None:
        wanted = [
            agent
            for agent in agents
            if agent.id in changed or (agent.id not in self._sides and agent.id not in self._unread)
        ]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            shots = list(pool.map(lambda agent: self._snapshot(agent, scratch), wanted))
        fresh: dict[str, git.Snapshot] = {}
        for agent, shot in zip(wanted, shots, strict=True):
            if isinstance(shot, git.Snapshot):
                fresh[agent.id] = shot
                self._unread.pop(agent.id, None)
            else:
                self._unread[agent.id] = str(shot)
                self._sides.pop(agent.id, None)
        self._compare(agents, fresh, base, scratch)

    def _snapshot(self, agent: Agent, scratch: git.ScratchObjects) -> git.Snapshot | FleetError:
        try:
            place = git.place_of(self._git_dir, Path(agent.worktree), agent.id)
            return git.take_snapshot(place, scratch, agent.id, seconds=SNAPSHOT_SECONDS)
        except FleetError as error:
            return error
        except OSError as error:
            return FleetError(error.strerror or str(error), hint="check space and permissions")

    def _compare(
        self,
        agents: Sequence[Agent],
        fresh: Mapping[str, git.Snapshot],
        base: str,
        scratch: git.ScratchObjects,
    ) -> None:
        """Find the files that each has changed: of the agents that were read, and of all when the base has moved."""
        moved: list[tuple[Agent, str, str]] = []
        for agent in agents:
            shot, known = fresh.get(agent.id), self._sides.get(agent.id)
            if shot is not None:
                head, tree = shot.head or agent.base, shot.tree
            elif known is not None and known.base != base:
                head, tree = known.head, known.tree
            else:
                continue
            if known is None or (known.head, known.tree, known.base) != (head, tree, base):
                moved.append((agent, head, tree))
        pairs = [(self._fork(agent, head, base), tree) for agent, head, tree in moved]
        touched = git.touched_files(self._git_dir, pairs, objects=scratch.variables)
        for (agent, head, tree), paths in zip(moved, touched, strict=True):
            commit = scratch.write_commit(tree, head)
            self._sides[agent.id] = AgentWork(agent.id, head, tree, commit, paths, base)

    def _fork(self, agent: Agent, head: str, base: str) -> str:
        if head == agent.base or not self._lands_on(agent, base):
            return agent.base
        if (head, base) not in self._forks:
            self._forks[head, base] = git.fork_point(self._git_dir, base, head) or agent.base
        return self._forks[head, base]

    def _lands_on(self, agent: Agent, base: str) -> bool:
        """Whether the agent started from a commit of the base branch; what it would land on otherwise is not known."""
        if (agent.base, base) not in self._parts:
            self._parts[agent.base, base] = git.has_commit(self._git_dir, agent.base, base)
        return self._parts[agent.base, base]

    # ── merging ──

    def _merge(
        self,
        sides: Sequence[AgentWork],
        base: str,
        apart: Collection[str],
        scratch: git.ScratchObjects,
    ) -> dict[tuple[str, str], MergeOutcome]:
        """The outcome for each pair of agents, and for each but those `apart` with the base, whose id is empty."""
        # Who has changed nothing merges with everybody.
        working = [side for side in sides if side.touched]
        asked: dict[tuple[str, str], PairOfCommits] = {
            (one.agent, other.agent): (one.commit, other.commit)
            for one, other in combinations(working, 2)
            if one.commit != other.commit
        }
        asked |= {(one.agent, ""): (one.commit, base) for one in working if one.agent not in apart}
        self._memory.read()
        missing = sorted({pair for pair in asked.values() if not self._memory.knows(pair)})
        if missing:
            with scratch.throwaway() as objects:
                self._memory.learn(self._merged(missing, base, objects))
        found = {sides: self._memory.outcome(pair) for sides, pair in asked.items()}
        self._memory.forget_all_but(asked.values())
        return found

    def _merged(
        self, pairs: Sequence[PairOfCommits], base: str, objects: Mapping[str, str]
    ) -> dict[PairOfCommits, MergeOutcome]:
        size = MANY if len(pairs) > MANY else max(1, len(pairs))
        shares = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda share: self._outcomes(share, base, objects), shares))
        return {pair: outcome for share in found for pair, outcome in share.items()}

    def _outcomes(
        self, pairs: Sequence[PairOfCommits], base: str, objects: Mapping[str, str]
    ) -> dict[PairOfCommits, MergeOutcome]:
        try:
            merged = git.merge_pairs(self._git_dir, pairs, base=base, objects=objects)
        except git.GitFailed as error:
            if len(pairs) == 1:
                if "unrelated histories" not in str(error):
                    raise
                return {pairs[0]: None}
            # One pair that cannot be merged at all ends git for all of them.
            half = len(pairs) // 2
            return self._outcomes(pairs[:half], base, objects) | self._outcomes(pairs[half:], base, objects)
        return {
            pair: result.paths if not result.is_clean else ()
            for pair, result in zip(pairs, merged, strict=True)
        }

    def _conflicts(self, found: Mapping[tuple[str, str], MergeOutcome], base: str) -> tuple[Conflict, ...]:
        there = {sides: outcome for sides, outcome in found.items() if outcome is None or outcome}
        since = self._memory.since(there, time.time())
        self._memory.write()
        return tuple(Conflict(*sides, base, outcome or (), since[sides]) for sides, outcome in there.items())


def overlaps(sides: Sequence[AgentWork]) -> tuple[Overlap, ...]:
    """The files that two agents have both changed, for each pair with any."""
    found = []
    for one, other in combinations(sides, 2):
        both = one.touched & other.touched
        if both:
            found.append(Overlap(one.agent, other.agent, tuple(sorted(both))))
    return tuple(found)


def _merging(shared: Sequence[Overlap], conflicts: Sequence[Conflict]) -> Iterator[Overlap]:
    """The overlaps without the files that are known to conflict."""
    bad = {frozenset((one.agent, one.other)): set(one.files) for one in conflicts}
    for overlap in shared:
        conflicting = bad.get(frozenset((overlap.agent, overlap.other)), set())
        files = tuple(path for path in overlap.files if path not in conflicting)
        if files:
            yield Overlap(overlap.agent, overlap.other, files)
