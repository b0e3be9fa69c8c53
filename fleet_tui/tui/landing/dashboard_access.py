"""What the screens of a landing need of the dashboard that opens them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent


@dataclass(frozen=True, slots=True)
class DashboardAccess:
    """The dashboard, as far as a landing knows it."""

    call: Callable[..., Awaitable[Any]]
    """Calls a verb in the worker."""
    start: Callable[[Coroutine[Any, Any, None]], None]
    """Runs work in the background and shows its failures."""
    agents: Callable[[], Sequence[Agent]]
    """The agents that the list knows now."""
    notify: Callable[..., None]
    review: Callable[[Agent, str], None]
    """Opens the review of an agent, against another agent or branch if one is named."""
    shell: Callable[[Agent], None]
    """Opens a shell in an agent's worktree."""
    select: Callable[[str], None]
    """Selects an agent in the list."""
    now: Callable[[], float]

    def names(self) -> dict[str, str]:
        """The agents' names, by id."""
        return {agent.id: agent.name for agent in self.agents()}
