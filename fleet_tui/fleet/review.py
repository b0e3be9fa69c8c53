"""`fleet.review`: what agents have changed, and what the user said of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui.models import Agent

if TYPE_CHECKING:
    from fleet_tui.fleet.reader import FleetReader
    from fleet_tui.work import Diff


class ReviewVerbs:
    """Diffs, reviewed files and comments."""

    def __init__(self, fleet: FleetReader) -> None:
        self._fleet = fleet

    def diff(self, agent: Agent, *, against: str = "") -> Diff:
        """What an agent has changed, committed or not, since its base, a commit or another agent."""
        from fleet_tui.review import diff

        with diff.opened(self._fleet.store, self._fleet.current(agent), self._other(against)) as found:
            return found.diff

    def patch(self, agent: Agent, *, against: str = "", files: Sequence[str] = ()) -> str:
        """An agent's changes as a patch that `git apply` takes."""
        from fleet_tui.review import diff

        with diff.opened(self._fleet.store, self._fleet.current(agent), self._other(against)) as found:
            return found.patch(files)

    def stat(self, agent: Agent, *, against: str = "", width: int = 80) -> str:
        """How many lines an agent has changed in each file, as `git diff --stat` prints it."""
        from fleet_tui.review import diff

        with diff.opened(self._fleet.store, self._fleet.current(agent), self._other(against)) as found:
            return found.stat(width)

    def _other(self, name: str) -> Agent | str:
        """The agent of that name, or the name itself for a branch or commit."""
        from fleet_tui.errors import NotFound

        if not name:
            return ""
        try:
            return self._fleet.find(name)
        except NotFound:
            return name
