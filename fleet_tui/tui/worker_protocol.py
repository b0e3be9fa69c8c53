"""Messages between the dashboard and its worker: frozen data that is pickled. No behavior, no Textual.

Both ends are expected to be the same code. An update can replace the package while a dashboard is open, and the worker
that it spawns next is the new one; so the worker's first message is `greeting`, in which nothing can fail to unpickle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui import __version__
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.landings import LandingProgress
from fleet_tui.models import Agent, LaunchStage

PROTOCOL = 3
"""Raised with every change that an earlier dashboard or worker does not understand."""
UNREADABLE = "fleet-tui worker: unreadable"
"""What a worker sends when it cannot unpickle what the dashboard sends."""


def greeting() -> tuple[str, int, str]:
    """The first message of a worker: built-in types only."""
    return ("fleet-tui worker", PROTOCOL, __version__)


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """A verb to run, by its path in the table of verbs (`faces.calls`)."""

    number: int
    verb: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Watch:
    """Follow this agent's log: it is the selected one."""

    selected: str = ""


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """The result of a call."""

    number: int
    value: Any = None


@dataclass(frozen=True, slots=True)
class WorkerFailure:
    """The error of a call; number 0 is the worker itself."""

    number: int
    message: str
    hint: str = ""
    trace: str = ""
    """The traceback of an unexpected error; empty for a FleetError."""
    kind: str = ""
    """The class of a FleetError, by its name."""
    exit_code: int = 1


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """The progress of one agent that a call starts."""

    number: int
    agent: Agent
    step: LaunchStage
    note: str = ""


@dataclass(frozen=True, slots=True)
class LandingNews:
    """The progress of one agent that a call lands."""

    number: int
    agent: Agent
    progress: LandingProgress
