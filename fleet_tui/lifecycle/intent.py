"""The launch request of one agent, stored before creation so that a failed or interrupted launch can be rolled back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import asdict, dataclass, known
from fleet_tui.holder.run_folder import read_holder
from fleet_tui.models import Agent, RunSettings


@dataclass(frozen=True, slots=True)
class Intent:
    """What the launcher is to create for one agent. The store keeps it for rollback and for later runs."""

    repository: str
    git_dir: str
    branch: str
    base: str
    worktree: str
    makes_worktree: bool
    makes_branch: bool
    profile: str
    argv: tuple[str, ...]
    prompt: str = ""
    pasted_prompt: str = ""
    """The prompt, if it is typed; empty if it is in the arguments."""
    setup: tuple[str, ...] = ()
    credential_files: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """The lines of the project's include file at the time of planning."""
    settings: RunSettings = RunSettings()
    captures_since: float = 0.0
    """Nonzero if the program chooses the id of its conversation: find the one that began at this time or later."""
    cols: int = 100
    rows: int = 30
    fork_of: str = ""
    """The conversation that this agent continues a copy of."""
    headless: bool = False
    """Run in the program's headless mode, also when revived."""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Intent:
        """Read a request that this or another version has stored."""
        found = known(cls, values)
        found["settings"] = RunSettings.from_plain(values)
        for name in ("argv", "setup", "credential_files", "include"):
            found[name] = tuple(found.get(name, ()))
        try:
            return cls(**found)
        except TypeError as error:
            raise FleetError(
                f"the stored launch request is incomplete: {error}", hint="run: fleet doctor"
            ) from error

    def to_plain(self) -> dict[str, Any]:
        """The request as stored. Settings are on the same level as the other keys, where every version reads them."""
        plain = asdict(self)
        settings: dict[str, Any] = plain.pop("settings")
        return plain | settings


def roll_back(agent: Agent, intent: Intent) -> None:
    """Remove what was created for an agent that never ran."""
    if intent.makes_worktree and read_holder(paths.run(agent.id, agent.run)) is None:
        from fleet_tui import git

        git.roll_back_add(
            Path(intent.repository),
            path=Path(intent.worktree),
            branch=intent.branch,
            makes_branch=intent.makes_branch,
            base=intent.base,
        )
