"""`fleet.permissions`: how permission requests of agents were decided, and what the rules would decide."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.permissions.decision_log import LoggedDecision
    from fleet_tui.permissions.policy import Decision

_COMMAND_TOOLS = ("Bash", "shell", "exec")


class PermissionVerbs:
    """Reads the log of decisions and asks the rules; deciding itself happens in the holders."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def decisions(self) -> list[LoggedDecision]:
        """Every decision in the log, oldest first."""
        from fleet_tui.permissions import decision_log

        return decision_log.entries(paths.approvals())

    def totals(self) -> str:
        """The number of decisions of each kind, in words."""
        from fleet_tui.permissions import decision_log

        return decision_log.totals(self.decisions())

    def try_out(self, what: str, *, tool: str = "Bash") -> Decision:
        """What the rules decide about a command, or about a path for a tool that takes one."""
        from fleet_tui.permissions.tool_use import ToolUse

        here = self._fleet.project() or str(Path.cwd())
        key = "command" if tool in _COMMAND_TOOLS else "file_path"
        return self._fleet.config().approve.decide(ToolUse(tool, {key: what}, here))
