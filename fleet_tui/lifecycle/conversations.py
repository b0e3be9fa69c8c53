"""Find an agent's conversation by its worktree in the records of its program.

Some programs choose the id of a conversation themselves. Capturing it lets `revive` continue exactly that one. Programs'
records are only read; in the store, only the id is written.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.programs import profiles
from fleet_tui.programs.record_readers import RECORD_READERS, environment, place
from fleet_tui.programs.records import MALFORMED, Conversation
from fleet_tui.store.database import Store

INTERVAL = 1.0
"""Seconds between searches for one agent's conversation."""

_searched_at: dict[str, float] = {}


def find(store: Store, agent: Agent) -> str:
    """The id of the conversation that this agent began; empty if there is none yet."""
    since = float(store.agents.intent(agent.id).get("captures_since") or 0.0)
    if not since:
        return ""
    try:
        profile = profiles.load(agent.profile)
    except FleetError:
        return ""
    reader = RECORD_READERS.get(profile.spending_reader)
    if reader is None:
        return ""
    with contextlib.suppress(*MALFORMED):
        return _first(
            reader.conversations(
                environment(profile.env, store.agents.intent(agent.id).get("env") or {}),
                place(agent.worktree),
                since,
            ),
            since,
        )
    return ""


def has_begun(store: Store, agent: Agent) -> bool:
    """Whether there is a conversation to continue: programs record one only at the first prompt."""
    profile = profiles.load(agent.profile)
    reader = RECORD_READERS.get(profile.spending_reader)
    if profile.session != "mint" or reader is None:
        return True
    try:
        found = reader.conversations(
            environment(profile.env, store.agents.intent(agent.id).get("env") or {}),
            place(agent.worktree),
            0.0,
        )
    except MALFORMED:
        return True
    return any(one.id == agent.session_id for one in found)


def _first(found: Sequence[Conversation], since: float) -> str:
    """The first conversation after the program's start; the user opened later ones."""
    own = [one for one in found if one.id and one.is_main and one.started_at >= since]
    return min(own, key=lambda one: one.started_at).id if own else ""


def capture(store: Store, agents: Sequence[Agent], *, at_once: bool = False) -> list[Agent]:
    """Record the conversations of agents that have begun one; skips agents searched less than a second ago."""
    now = time.monotonic()
    captured = []
    for agent in agents:
        if not at_once and now - _searched_at.get(agent.id, -INTERVAL) < INTERVAL:
            continue
        _searched_at[agent.id] = now
        session = find(store, agent)
        if session and _record(store, agent, session):
            captured.append(store.agents.get(agent.id))
    return captured


def _record(store: Store, agent: Agent, session: str) -> bool:
    with store.transaction(uses_reserve=False):
        current = store.agents.get(agent.id)
        if current.session_id or current.run != agent.run:
            return False
        return store.agents.change(agent.id, time.time(), session_id=session)
