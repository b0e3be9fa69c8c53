"""How a status looks and reads everywhere in the dashboard: glyph, word, role, and who comes first."""

from __future__ import annotations

from collections.abc import Iterable

from fleet_tui.listing import GLYPHS, word
from fleet_tui.models import Agent, Status

ROLES = {
    Status.SETUP: "primary",
    Status.STARTING: "primary",
    Status.WORKING: "primary",
    Status.BLOCKED: "bold warning",
    Status.DONE: "success",
    Status.IDLE: "muted",
    Status.LIMITED: "secondary",
    Status.ERROR: "error",
    Status.FAILED: "error",
    Status.LOST: "warning",
    Status.INTERRUPTED: "warning",
    Status.EXITED: "muted",
    Status.STOPPED: "muted",
    Status.KILLED: "muted",
    Status.UNKNOWN: "muted",
}
ORDER = (
    Status.BLOCKED, Status.ERROR, Status.FAILED, Status.LOST, Status.INTERRUPTED, Status.LIMITED, Status.DONE,
    Status.WORKING, Status.SETUP, Status.STARTING, Status.IDLE, Status.UNKNOWN, Status.EXITED, Status.STOPPED, Status.KILLED,
)  # fmt: skip
RANK = {status: place for place, status in enumerate(ORDER)}
NEEDY = frozenset({Status.BLOCKED, Status.ERROR, Status.FAILED, Status.LOST, Status.INTERRUPTED, Status.DONE})
"""Who `]` goes to: what waits, went wrong, or has finished and nobody has looked."""
MOVING = "◐◓◑◒"


def glyph(agent: Agent, *, tick: int | None = None) -> tuple[str, str]:
    """The glyph with its role; with a tick, that of a program which is printing right now."""
    if tick is not None and agent.status is Status.WORKING:
        return MOVING[tick % len(MOVING)], ROLES[agent.status]
    return GLYPHS[agent.status], ROLES[agent.status]


def counts(agents: Iterable[Agent]) -> list[tuple[Status, int]]:
    """How many of each, the most urgent first; none with zero."""
    number: dict[Status, int] = {}
    for agent in agents:
        number[agent.status] = number.get(agent.status, 0) + 1
    return [(status, number[status]) for status in ORDER if status in number]


def needs(agent: Agent) -> bool:
    """Whether somebody has to do something before it can go on."""
    return agent.status is Status.BLOCKED


__all__ = ["MOVING", "NEEDY", "ORDER", "RANK", "ROLES", "counts", "glyph", "needs", "word"]
