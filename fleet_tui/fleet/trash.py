"""`fleet.trash`: the killed agents whose worktrees can still be restored, and what deletes them for good."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import selection
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.models import Agent, Status
from fleet_tui.trashed import TrashReport

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config
    from fleet_tui.fleet import Fleet


class TrashVerbs:
    """Lists, inspects and empties the trash. `Fleet.kill` fills it and `Fleet.undo` restores from it."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def agents(self, *, everywhere: bool = False) -> list[Agent]:
        """Killed agents whose worktrees can be restored, the newest last."""
        waiting = [
            agent
            for agent in self._fleet.agents(everywhere=everywhere)
            if agent.status is Status.KILLED and (agent.trash or Path(agent.worktree).is_dir())
        ]
        return sorted(waiting, key=lambda agent: agent.ended_at or 0.0)

    def find(self, name: str, *, everywhere: bool = False) -> Agent:
        """The agent of that name or id in the trash: of this project, or with `everywhere` of any."""
        try:
            project = None if everywhere else self._fleet.project()
            return selection.killed(name, self.agents(everywhere=True), project)
        except NotFound as missing:
            raise self._deleted(name) or missing from None

    def _deleted(self, name: str) -> NotFound | None:
        """For an agent whose worktree was deleted from the trash: the error that says how to recover its work."""
        from fleet_tui.lifecycle import trash

        emptied = [
            agent
            for agent in self._fleet.agents()
            if agent.status is Status.KILLED and not agent.trash and name in (agent.name, agent.id)
        ]
        return trash.has_left(emptied[-1]) if emptied else None

    def last_killed(self, *, everywhere: bool = False) -> list[Agent]:
        """All agents of the last kill in this project, or with `everywhere` in any."""
        found = self.agents(everywhere=everywhere)
        if not found:
            raise NotFound("the trash is empty", hint="fleet trash -a lists the trash of all projects")
        # All agents of one kill have the same time of end.
        return [agent for agent in self.agents(everywhere=True) if agent.ended_at == found[-1].ended_at]

    def report(self, agents: Sequence[Agent]) -> TrashReport:
        """What the trashed worktrees of these agents hold, and when each is deleted."""
        from fleet_tui.lifecycle import tidy

        return tidy.report(self._fleet.store, list(agents), self._limits(), now=time.time())

    def archives(self, *, everywhere: bool = False) -> list[tuple[Path, float]]:
        """The archives of ignored files of deleted worktrees, each with the time when it is deleted."""
        from fleet_tui.lifecycle import tidy

        return tidy.archives(self._fleet.agents(everywhere=everywhere), self._limits())

    def empty(self, agents: Sequence[Agent]) -> Iterator[tuple[Agent, str]]:
        """Delete trashed worktrees; yields the ref that the work of each was saved under, empty if already deleted.

        Errors are raised after all others have been deleted.
        """
        from fleet_tui.lifecycle import trash

        failures: list[FleetError] = []
        for agent in [agent for agent in agents if agent.trash]:
            try:
                yield agent, trash.empty_trash(self._fleet.store, agent)
            except FleetError as error:
                failures.append(error)
        if len(failures) > 1:
            message = "; ".join(error.message for error in failures)
            raise Refused(
                f"{len(failures)} stay in the trash: {message}", hint="fleet trash shows what to do"
            )
        if failures:
            raise failures[0]

    def idle_branches(self, *, everywhere: bool = False) -> list[Agent]:
        """Killed agents whose branches have no commit that is not on another branch, tag or remote."""
        from fleet_tui.lifecycle import branches

        return branches.idle(self._fleet.agents(everywhere=everywhere))

    def prune_branches(self, agents: Sequence[Agent]) -> Iterator[tuple[Agent, str]]:
        """Delete these agents' branches; yields the ref that keeps each for an undo."""
        from fleet_tui.lifecycle import branches

        failures: list[FleetError] = []
        for agent in agents:
            try:
                yield agent, branches.put_aside(agent)
            except FleetError as error:
                failures.append(error)
        if failures:
            raise failures[0]

    def over_limit(self, killed: Sequence[Agent], *, seconds: float) -> str:
        """A warning that this kill put the trash over its limit; empty if not, or not known within the time."""
        from fleet_tui.lifecycle import tidy

        limits = self._limits()
        if not tidy.is_over(self._fleet.store.agents.all(), list(killed), limits, seconds=seconds):
            return ""
        return (
            f"the trash is over its limit of {limits.trash_mb} MB now: "
            "merged work leaves it after its first day, the oldest first (fleet trash)"
        )

    def _limits(self) -> Config:
        """The user's own settings: a project sets no limit on what all projects share."""
        from fleet_tui.config.settings import Config

        try:
            return self._fleet.settings.of_user()
        except FleetError:
            return Config()
