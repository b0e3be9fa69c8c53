"""What the dashboard and its worker say to each other: frozen data that can be sent. No behaviour, no Textual."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.models import Agent, Asked, Deed, Spending, Usage
from fleet_tui.values import dataclass, field


@dataclass(frozen=True, slots=True)
class Call:
    number: int
    verb: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """Whom the person is looking at: its log is followed."""

    selected: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    number: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class Failure:
    number: int
    message: str
    hint: str = ""
    trace: str = ""
    """Of an error nobody foresaw; empty for a FleetError."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far an agent that is being made has come."""

    number: int
    agent: Agent
    step: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sights:
    """What changes all the time and is in no store."""

    usage: Mapping[str, Usage] = field(default_factory=dict)
    tails: Mapping[str, str] = field(default_factory=dict)
    """The last line each agent shows."""
    active: Mapping[str, float] = field(default_factory=dict)
    """When each agent last printed something."""
    diffs: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Lines added and removed since the base."""
    log: tuple[str, tuple[str, ...]] = ("", ())
    """The selected agent and its last lines."""
    cores: float = 0.0
    memory: int = 0
    spending: Mapping[str, Spending] = field(default_factory=dict)
    """Of those agents whose programs have written it down."""
    output: tuple[float, ...] = ()
    """Bytes a second that the selected agent has printed, the newest last."""
    deeds: tuple[Deed, ...] = ()
    """What the agent of the log has done of late, the newest last."""
    ahead: int | None = None
    """How many commits the selected agent's branch has beyond its base; None while that is not known."""
    link_problems: Mapping[str, str] = field(default_factory=dict)
    """Of agents whose `.git` no longer leads to their repository: what was found. Their changes are not counted."""


@dataclass(frozen=True, slots=True)
class Tool:
    """An agent program that could be run here."""

    name: str
    path: str = ""
    """Empty when it is not installed."""
    install: str = ""
    version: str = ""
    """As it says itself; empty while it has not been asked."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the dashboard was opened, and what could be done here."""

    project: str = ""
    name: str = ""
    branch: str = ""
    uncommitted: int = 0
    has_config: bool = False
    default_profile: str = ""
    setup: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()
    problem: str = ""
    """Why there is no project; empty when there is one."""
    advice: str = ""
    """What to do about it."""
    can_begin: bool = False
    """A repository, or its first commit, is all that is missing."""
    memory_free: int = 0
    memory_total: int = 0
    asked: Asked | None = None
    """What the project's files ask for, while the user has not trusted it."""
