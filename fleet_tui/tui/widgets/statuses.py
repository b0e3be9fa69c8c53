"""Draw statuses in the dashboard: color roles, urgency and animated glyphs."""

from __future__ import annotations

from fleet_tui.faces.wording import STATUS_LOOKS
from fleet_tui.models import Agent, Status

ROLES = {status: look.role for status, look in STATUS_LOOKS.items()}
NEEDY = frozenset(status for status, look in STATUS_LOOKS.items() if look.needs_look)
"""The statuses that `]` visits."""
MOVING = "◐◓◑◒"


def glyph(agent: Agent, *, tick: int | None = None) -> tuple[str, str]:
    """The glyph and its role; with a tick, the next picture of a program that is printing."""
    look = STATUS_LOOKS[agent.status]
    if tick is not None and agent.status is Status.WORKING:
        return MOVING[tick % len(MOVING)], look.role
    return look.glyph, look.role


def needs(agent: Agent) -> bool:
    """Whether the agent cannot go on until the user answers."""
    return STATUS_LOOKS[agent.status].needs_answer
