"""`fleet.checks`: run the project's check command on agents' work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.errors import Refused
from fleet_tui.models import Agent
from fleet_tui.work import CheckRun

if TYPE_CHECKING:
    from fleet_tui.fleet.reader import FleetReader
    from fleet_tui.review.checks import CheckSettings

OUTPUT_LINES = 200
NO_COMMAND = "this project has no check command"
SET_COMMAND = 'set one: fleet config set land.check "make test"'


class CheckVerbs:
    """Checks of agents' work. They run detached: closing a face stops none."""

    def __init__(self, fleet: FleetReader) -> None:
        self._fleet = fleet

    def command(self, agent: Agent) -> str:
        """The check command of an agent's project; empty if it has none that the user has trusted."""
        try:
            return self.settings(agent).command
        except Refused:
            return ""

    def missing(self, agents: Sequence[Agent]) -> str:
        """Why these agents cannot be checked, in one line; empty if they can."""
        for agent in agents:
            try:
                self.settings(agent)
            except Refused as refusal:
                return str(refusal)
        return ""

    def settings(self, agent: Agent) -> CheckSettings:
        """How an agent's work is checked. Raises Refused without a command, and Untrusted if it is not trusted."""
        from fleet_tui.config.load import load
        from fleet_tui.review.checks import CheckSettings

        config = load(Path(agent.project))
        if untrusted := {key: value for key, value in config.untrusted.items() if key == "land.check"}:
            from fleet_tui.lifecycle import trust

            raise trust.untrusted(untrusted, instead="leave it out: --no-check")
        if not config.check.strip():
            raise Refused(NO_COMMAND, hint=SET_COMMAND)
        return CheckSettings(
            config.check, config.check_minutes, config.checks_at_once, max(config.nice, 10), config.env
        )

    def start(self, agents: Sequence[Agent]) -> list[CheckRun]:
        """Start a check of each agent's work in its worktree; the checks that still run for them are cancelled."""
        from fleet_tui.review import checks

        current = [self._fleet.current(agent) for agent in agents]
        # Nothing is started unless all can be.
        settings = {agent.project: self.settings(agent) for agent in current}
        return [
            run
            for project, one in settings.items()
            for run in checks.start(
                self._fleet.store, [agent for agent in current if agent.project == project], one
            )
        ]

    def runs(self, agents: Sequence[Agent]) -> dict[str, CheckRun]:
        """The newest check of each agent's work, by the agent's id."""
        from fleet_tui.review import checks

        return checks.newest(self._fleet.store, agents)

    def cancel(self, agents: Sequence[Agent]) -> list[CheckRun]:
        """End the checks of these agents, with all their processes."""
        from fleet_tui.review import checks

        return checks.cancel(self._fleet.store, agents, "")

    def output(self, agent: Agent, *, lines: int = OUTPUT_LINES) -> list[str]:
        """The last lines that the newest check of an agent has printed."""
        from fleet_tui.review import checks

        run = self.runs([agent]).get(agent.id)
        return checks.output(run, lines) if run is not None else []

    def wait(
        self,
        runs: Sequence[CheckRun],
        *,
        seconds: float | None = None,
        on_change: Callable[[CheckRun], None] = lambda _: None,
    ) -> list[CheckRun]:
        """Wait until these checks are over, or for so many seconds."""
        from fleet_tui.review import checks

        return checks.wait(self._fleet.store, runs, seconds=seconds, on_change=on_change)

    def screen(self, agent: Agent) -> tuple[Path, Path] | None:
        """Where the newest check of an agent's work shows its terminal: the run folder and the lock of its holder."""
        from fleet_tui.review import check_folder

        run = self.runs([agent]).get(agent.id)
        return (check_folder.run(run), check_folder.lock(run)) if run is not None else None
