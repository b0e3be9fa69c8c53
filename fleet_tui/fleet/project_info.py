"""Describes the current folder for a first screen: repository, settings, programs, memory, trust."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui import paths
from fleet_tui.errors import FleetError, NothingToStartFrom
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.fleet.profiles import AgentProgram
from fleet_tui.models import TrustRequest

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """The folder that a face was opened in, and what can be started there."""

    project: str = ""
    name: str = ""
    branch: str = ""
    uncommitted: int = 0
    has_config: bool = False
    default_profile: str = ""
    setup: tuple[str, ...] = ()
    programs: tuple[AgentProgram, ...] = ()
    problem: str = ""
    """Why there is no project; empty if there is one."""
    advice: str = ""
    """What to do about the problem."""
    can_prepare: bool = False
    """Only a repository, or its first commit, is missing."""
    memory_free: int = 0
    memory_total: int = 0
    asked: TrustRequest | None = None
    """What the project's files ask for and the user has not trusted."""


def describe(fleet: Fleet) -> ProjectInfo:
    """The project as the first screen and the dialogs of a face show it."""
    from fleet_tui.system.usage import Sampler

    try:
        config = fleet.config()
    except FleetError:
        config = fleet.config(trusted=False)
    machine = Sampler().machine()
    found = ProjectInfo(
        default_profile=config.agent_default,
        setup=() if config.quick else config.setup_commands,
        programs=tuple(fleet.profiles.programs()),
        memory_free=machine.memory_total - machine.memory_used,
        memory_total=machine.memory_total,
    )
    try:
        repository = fleet.repository
    except FleetError as error:
        can_prepare = isinstance(error, NothingToStartFrom)
        return replace(found, problem=error.message, advice=error.hint, can_prepare=can_prepare)
    return replace(
        found,
        project=str(repository.root),
        name=repository.name,
        branch=repository.head_branch or "a detached HEAD",
        uncommitted=fleet.uncommitted(),
        has_config=paths.project_config(Path(repository.root)).is_file(),
        asked=_asked(fleet),
    )


def _asked(fleet: Fleet) -> TrustRequest | None:
    """What needs trust here. Files that cannot be read are reported when an agent is started with them."""
    try:
        return fleet.trust.asked()
    except FleetError:
        return None
