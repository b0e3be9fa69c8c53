"""`fleet.conflicts`: whose work does not merge, with other agents and with the base branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.models import Agent

if TYPE_CHECKING:
    from fleet_tui.fleet.reader import FleetReader
    from fleet_tui.review.radar import Radar
    from fleet_tui.work import Conflict, ConflictingFile, ConflictReport, Overlap


class ConflictVerbs:
    """Merges the agents' work in memory. Later calls read only what may have changed since the earlier ones."""

    def __init__(self, fleet: FleetReader) -> None:
        self._fleet = fleet
        self._radars: dict[Path, Radar] = {}
        self._checked: dict[str, Radar] = {}
        """By project."""

    def check(
        self, agents: Sequence[Agent], on_change: Callable[[Sequence[Overlap]], None] = lambda _: None
    ) -> ConflictReport:
        """Read these agents' work again, and compare it with that of all other agents of their projects.

        `on_change` gets the files that several agents have changed, before anything is merged.
        """
        from fleet_tui.work import ConflictReport

        report = ConflictReport()
        changed = {agent.id for agent in agents}
        for radar, members in self._projects(agents):
            found = radar.check(members, changed, on_change)
            self._checked |= {agent.project: radar for agent in members}
            report = ConflictReport(
                report.conflicts + found.conflicts,
                report.overlaps + found.overlaps,
                {**report.bases, **found.bases},
                {**report.unread, **found.unread},
                report.problem or found.problem,
                report.without_base | found.without_base,
            )
        return report

    def overlaps(self, agents: Sequence[Agent]) -> list[Overlap]:
        """The files that several agents of these agents' projects have changed, whether they merge or not."""
        changed = {agent.id for agent in agents}
        return [one for radar, members in self._projects(agents) for one in radar.overlaps(members, changed)]

    def moved_projects(self) -> list[str]:
        """The projects that were checked and whose base branch has moved since: a few calls of stat, and no git."""
        return sorted({project for project, radar in self._checked.items() if radar.has_base_moved()})

    def details(self, conflict: Conflict) -> tuple[ConflictingFile, ...]:
        """Each file of a conflict with its kind, lines and function; lines are those of its first agent's file."""
        [agent] = self._fleet.with_ids([conflict.agent])
        for radar, members in self._projects([agent]):
            return radar.details(members, conflict)
        return ()

    def _projects(self, agents: Sequence[Agent]) -> list[tuple[Radar, list[Agent]]]:
        """The radar of each of these agents' repositories, with all agents that have a worktree of it."""
        from fleet_tui.review.radar import Radar

        projects = {agent.project for agent in agents}
        members = [
            agent
            for agent in self._fleet.agents(everywhere=True)
            if agent.project in projects and agent.has_worktree
        ]
        git_dirs: Mapping[str, Path] = self._fleet.store.agents.git_dirs(members)
        grouped: dict[Path, list[Agent]] = {}
        for agent in members:
            if agent.id in git_dirs:
                grouped.setdefault(git_dirs[agent.id], []).append(agent)
        for git_dir in grouped:
            if git_dir not in self._radars:
                self._radars[git_dir] = Radar(git_dir)
        return [(self._radars[git_dir], found) for git_dir, found in grouped.items()]
