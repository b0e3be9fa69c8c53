"""`fleet.worktrees`: paths, changes and link problems of the agents' worktrees."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError, NotFound
from fleet_tui.models import Agent, Status

if TYPE_CHECKING:
    from fleet_tui.fleet.reader import FleetReader
    from fleet_tui.git import GitPlaces


class WorktreeVerbs:
    """Reads worktrees, found by the store's records and never by what lies in them."""

    def __init__(self, fleet: FleetReader) -> None:
        self._fleet = fleet

    def path(self, agent: Agent) -> Path:
        """The folder of an agent's worktree; raises NotFound if it does not exist."""
        agent = self._fleet.current(agent)
        if agent.status is Status.KILLED:
            where = f"its worktree is in the trash: {agent.trash}" if agent.trash else "it has no worktree"
            raise NotFound(f"{agent.name} was killed, {where}", hint=f"fleet undo {agent.name} restores it")
        folder = Path(agent.worktree)
        if not folder.is_dir():
            is_made = agent.status is Status.SETUP
            raise NotFound(
                f"the worktree of {agent.name} {'is still being created' if is_made else 'does not exist'}: {folder}",
                hint="fleet list shows its progress"
                if is_made
                else "fleet list --repair finds one that was moved",
            )
        return folder

    def uncommitted(self, agent: Agent) -> int:
        """The number of changed files in an agent's worktree; 0 without a readable one."""
        try:
            place = self._place(agent)
        except FleetError:
            return 0
        return changed_files(place)

    def diff_stats(self, agents: Sequence[Agent]) -> dict[str, tuple[int, int, int]]:
        """Lines added and removed since the base, committed or not, and the number of commits, by agent id.

        Agents without a readable worktree are omitted.
        """
        from fleet_tui import git

        stats = {}
        for agent in agents:
            with contextlib.suppress(FleetError, OSError):
                found = git.diff_stat(self._place(agent), agent.base)
                stats[agent.id] = (found.added, found.removed, found.ahead)
        return stats

    def link_problems(self, agents: Sequence[Agent]) -> dict[str, str]:
        """By agent id, why a worktree's `.git` no longer leads to its repository. Git is not run in those worktrees."""
        from fleet_tui import git

        return git.link_problems(self._fleet.store.agents.git_dirs(agents), agents)

    def _place(self, agent: Agent) -> GitPlaces:
        """Where git looks for an agent's work, by the store alone; raises WorktreeChanged if the worktree says otherwise."""
        from fleet_tui import git

        git_dir = self._fleet.store.agents.git_dirs([agent]).get(agent.id)
        if git_dir is None:
            raise NotFound(f"{agent.name} has no worktree", hint="run: fleet list --repair")
        return git.place_of(git_dir, Path(agent.worktree), agent.id)


def changed_files(place: GitPlaces) -> int:
    """The number of files that differ from HEAD, without our own settings; 0 where there is no work tree."""
    from fleet_tui import git

    try:
        changes = git.status(place)
    except FleetError:
        return 0
    return sum(not change.path.startswith(".aifleet/") for change in changes)
