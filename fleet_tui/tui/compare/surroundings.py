"""What the compare screen needs of the dashboard that opens it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent


@dataclass(frozen=True, slots=True)
class CompareSurroundings:
    """The dashboard, as far as a comparison knows it."""

    call: Callable[..., Awaitable[Any]]
    """Calls a verb in the worker."""
    start: Callable[[Coroutine[Any, Any, None]], None]
    """Runs work in the background and shows its failures."""
    agents: Callable[[], Sequence[Agent]]
    """The agents that the list knows now."""
    review: Callable[[Agent, str], None]
    """Opens the review of an agent, against another agent by its name, or its base."""
    land: Callable[[Agent], None]
    """Opens the landing of an agent."""
    now: Callable[[], float]
