"""Undo what ended agents last: a kill, or a landing, which is taken back and its agent restored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError, Refused
from fleet_tui.models import Agent, Status

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet


def undo(fleet: Fleet, agents: Sequence[Agent], *, everywhere: bool, unland: bool) -> list[tuple[Agent, str]]:
    """Restore agents, and with `unland` take back what they have landed; each with a note on what was done."""
    from fleet_tui.fleet.stop_and_kill import raise_first
    from fleet_tui.lifecycle import trash

    if unland:
        fleet.landing.settle()
    if not agents:
        last = fleet.landing.last(everywhere=everywhere) if unland else None
        if last is not None:
            if fleet.landing.has_moved_on(last):
                name = fleet.store.agents.get(last.agent).name
                raise Refused(
                    f"{last.into} has moved on since {name} was landed",
                    hint=f"fleet undo {name} takes it back with a commit that reverts it",
                )
            return [fleet.landing.undo(last)]
        agents = fleet.trash.last_killed(everywhere=everywhere)
    failures: list[FleetError] = []
    restored: list[tuple[Agent, str]] = []
    for agent in agents:
        try:
            landing = fleet.landing.of(agent) if unland else None
            if landing is not None and (agent.status is Status.KILLED or len(agents) == 1):
                restored.append(fleet.landing.undo(landing))
                continue
            note = trash.undo(fleet.store, agent, now=time.time())
        except FleetError as error:
            failures.append(error)
        else:
            restored.append((fleet.store.agents.get(agent.id), note))
    raise_first(failures, "restored", [agent for agent, _ in restored])
    return restored
