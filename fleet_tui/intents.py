"""What is to be made for one agent, written down before anything is made, and taken apart by when it was not finished."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import FleetError
from fleet_tui.holder import read_holder
from fleet_tui.models import Agent
from fleet_tui.values import dataclass, known


@dataclass(frozen=True, slots=True)
class Intent:
    """What the launcher is to make for one agent. Kept in the store: it is also what a clean-up goes by."""

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
    """The prompt, where it is to be typed; empty when it stands in the arguments."""
    setup: tuple[str, ...] = ()
    credential_files: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    """The lines of the project's include file, as they were when this was planned."""
    env: Mapping[str, str] | None = None
    permission_mode: str = "ask"
    policy: Mapping[str, Any] | None = None
    """What it may do without asking, by the configuration it was started with."""
    captures_since: float = 0.0
    """The program chooses the id of its conversation, and its records tell which: one that began from then on."""
    cols: int = 100
    rows: int = 30
    scrollback: int = 10_000
    transcript_cap: int = 64 << 20
    fork_of: str = ""
    """The conversation that its own is a copy of."""
    headless: bool = False
    """It runs in its program's headless mode, and is revived in it."""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Intent:
        found = known(cls, values)
        for name in ("argv", "setup", "credential_files", "include"):
            found[name] = tuple(found.get(name, ()))
        try:
            return cls(**found)
        except TypeError as error:
            raise FleetError(
                f"the store does not say what was to be made: {error}", hint="run: fleet doctor"
            ) from error


def undo(agent: Agent, intent: Intent) -> None:
    """Take apart what was made for an agent that never ran."""
    if intent.makes_worktree and read_holder(paths.run(agent.id, agent.run)) is None:
        from fleet_tui import git

        git.undo_add(
            Path(intent.repository),
            path=Path(intent.worktree),
            branch=intent.branch,
            makes_branch=intent.makes_branch,
            base=intent.base,
        )
