"""What a caller asks to have started: new agents, or another run of an ended one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Batch

if TYPE_CHECKING:
    from fleet_tui.config.settings import Config
    from fleet_tui.git import Repository


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One new agent."""

    name: str
    prompt: str
    profile: str
    """A profile's name, or a program's name or path; empty for the configured one."""
    fork_of: str = ""
    """The conversation to continue a copy of."""


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """New agents of one batch."""

    repository: Repository
    settings: Config
    batch: Batch
    agents: tuple[AgentRequest, ...]
    here: Path
    """The folder that relative paths of programs start from."""
    size: tuple[int, int]
    """Columns and rows of each terminal."""
    quick: bool = False
    """Skip the setup commands."""
    base: str = ""
    existing: bool = False
    """Work on a branch that exists."""
    headless: bool = False


@dataclass(frozen=True, slots=True)
class RevivalRequest:
    """Another run of an ended agent."""

    prompt: str
    size: tuple[int, int]
    fresh: bool = False
    """Begin a new conversation."""
    own_settings: bool = False
    """Ignore what the project's files ask for."""
