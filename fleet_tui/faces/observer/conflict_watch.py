"""Keeps the conflict radar up to date while agents work, in a thread of its own because git can be slow.

An agent is read again after it has printed, its status or its number of changed lines has changed, never at intervals; a
project at most every five seconds, and for at most a tenth of the time.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from fleet_tui.errors import FleetError
from fleet_tui.faces.live import ConflictDetails
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.system import priority
from fleet_tui.work import Conflict, ConflictingFile, ConflictReport, Overlap

CHECK_SECONDS = 5.0
"""Between two checks of one project, at least."""
SHARE = 0.1
"""Of the time, at most, for checks of one project."""
BASE_SECONDS = 5.0
"""Between two looks at whether a base branch has moved, which costs a few calls of stat."""
NICE = 10
MOST_DETAILS = 3
"""Conflicts of the selected agent whose lines are read; of others, the files are shown."""


class ConflictWatch:
    """What was found last, and a queue of agents to read again."""

    def __init__(self, open_fleet: Callable[[], Fleet]) -> None:
        self.details = ConflictDetails()
        """Of the agent that was selected last."""
        self._open_fleet = open_fleet
        self._reports: dict[str, ConflictReport] = {}
        """By project."""
        self._members: dict[str, tuple[str, ...]] = {}
        """The agents of each project at its last check."""
        self._seen: dict[str, tuple[tuple[object, ...], object]] = {}
        """What was known of each agent when it was queued last."""
        self._rests_until: dict[str, float] = {}
        self._waiting: set[str] = set()
        """Projects that are queued or being checked."""
        self._base_moved: set[str] = set()
        self._selected = ""
        self._wanted: queue.SimpleQueue[tuple[str, Sequence[Agent]]] = queue.SimpleQueue()

    # ── in the observer's thread ──

    def ask(
        self,
        agents: Sequence[Agent],
        active: Mapping[str, float],
        counts: Mapping[str, object],
        now: float,
        selected: str = "",
    ) -> list[Agent]:
        """Queue the agents that may have changed files since the last time; returns them."""
        asked = []
        projects: dict[str, list[Agent]] = {}
        for agent in agents:
            if agent.has_worktree and agent.started_at is not None:
                projects.setdefault(agent.project, []).append(agent)
        for project, members in projects.items():
            if project in self._waiting or now < self._rests_until.get(project, 0.0):
                continue
            moments = {
                agent.id: ((active.get(agent.id, 0.0), agent.status, agent.run), counts.get(agent.id))
                for agent in members
            }
            changed = [agent for agent in members if self._has_changed(agent.id, *moments[agent.id])]
            self._seen |= moments
            there = tuple(moments)
            if not changed and (there != self._members.get(project) or project in self._base_moved):
                changed = members[:1]
            if changed:
                self._members[project] = there
                self._base_moved.discard(project)
                self._waiting.add(project)
                self._wanted.put((project, changed))
                asked += changed
        if selected != self._selected:
            self._selected = selected
            self._wanted.put(("", ()))
        return asked

    def _has_changed(self, agent: str, moment: tuple[object, ...], count: object) -> bool:
        seen, counted = self._seen.get(agent, ((), None))
        # The first count of its lines says nothing new.
        return moment != seen or counted not in (None, count)

    def conflicts(self, agents: Iterable[Agent]) -> tuple[Conflict, ...]:
        """The conflicts between these agents, and with their base; killed ones have none."""
        there = {agent.id for agent in agents if agent.has_worktree} | {""}
        return tuple(
            one
            for report in list(self._reports.values())
            for one in report.conflicts
            if one.agent in there and one.other in there
        )

    # ── in a thread of its own ──

    def run(self) -> None:
        """Check queued agents; never returns."""
        if sys.platform == "linux":
            # There, this thread alone and the git processes that it starts; elsewhere the whole worker.
            priority.lower(NICE)
        fleet = self._open_fleet()
        while True:
            try:
                project, agents = self._wanted.get(timeout=BASE_SECONDS if self._reports else None)
            except queue.Empty:
                self._base_moved |= set(fleet.conflicts.moved_projects())
                continue
            if project:
                self.check(fleet, project, agents)
            self.read_details(fleet)

    def check(self, fleet: Fleet, project: str, agents: Sequence[Agent]) -> None:
        began = time.monotonic()

        def note(overlaps: Sequence[Overlap]) -> None:
            known = self._reports.get(project, ConflictReport())
            self._reports[project] = ConflictReport(
                known.conflicts, tuple(overlaps), known.bases, known.unread
            )

        # A worktree or repository that cannot be read now is tried again after its next change.
        with contextlib.suppress(FleetError, OSError):
            self._reports[project] = fleet.conflicts.check(agents, note)
        end = time.monotonic()
        self._rests_until[project] = end + max(CHECK_SECONDS, (end - began) / SHARE)
        self._waiting.discard(project)

    def read_details(self, fleet: Fleet) -> None:
        """Read the lines of the selected agent's conflicts, after its files are known."""
        selected = self._selected
        known = self._details_of(selected)
        before = {one: files for one, files in self.details.conflicts if files}
        self.details = known if not known.conflicts else _with_files(known, before)
        found = {}
        for conflict, _ in known.conflicts[:MOST_DETAILS]:
            with contextlib.suppress(FleetError, OSError):
                found[conflict] = fleet.conflicts.details(conflict)
        if found:
            self.details = _with_files(known, found)

    def _details_of(self, agent: str) -> ConflictDetails:
        report = next(
            (
                self._reports[project]
                for project, there in list(self._members.items())
                if agent in there and project in self._reports
            ),
            None,
        )
        if report is None or not agent:
            return ConflictDetails(agent)
        own = [one.seen_from(agent) for one in report.conflicts if one.concerns(agent)]
        # The base branch first, then the newest.
        own.sort(key=lambda one: (bool(one.other), -one.since))
        against = {one.other for one in own}
        merging, shared = [], set()
        for overlap in report.overlaps:
            other = overlap.other_than(agent)
            if other and not report.problem:
                shared |= set(overlap.files)
                if other not in against:
                    merging.append(other)
        base = next(iter(report.bases.values()), "")
        is_compared = not report.problem and agent not in {*report.unread, *report.without_base}
        return ConflictDetails(
            agent,
            tuple((one, ()) for one in own),
            base if is_compared and "" not in against else "",
            tuple(merging),
            tuple(sorted(shared - {path for one in own for path in one.files})),
        )


def _with_files(
    details: ConflictDetails, files: Mapping[Conflict, tuple[ConflictingFile, ...]]
) -> ConflictDetails:
    pairs = tuple((one, files.get(one, known)) for one, known in details.conflicts)
    return ConflictDetails(details.agent, pairs, details.base, details.merging, details.shared)
