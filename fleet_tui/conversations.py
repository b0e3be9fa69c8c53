"""Which conversations are an agent's, found by its worktree in the records of its program.

A program that gives its conversations ids of its own does not say which: here it is found out, so that `revive`
goes on with exactly that one. Reads only, and changes nothing but the id in the store.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence

from fleet_tui import profiles
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent
from fleet_tui.records import MALFORMED, READERS, Conversation
from fleet_tui.store import Store

EVERY = 1.0
"""Seconds between two looks for the conversation of one agent."""

_looked_at: dict[str, float] = {}


def environment(store: Store, agent: Agent, profile: profiles.Profile) -> dict[str, str]:
    """What decides where the agent's program keeps its records."""
    extra = store.intent(agent.id).get("env") or {}
    return {**os.environ, **profile.env, **extra}


def place(agent: Agent) -> str:
    """The worktree as the program sees it."""
    return os.path.realpath(agent.worktree)


def find(store: Store, agent: Agent) -> str:
    """The id of the conversation that this agent began; empty while there is none."""
    since = float(store.intent(agent.id).get("captures_since") or 0.0)
    if not since:
        return ""
    try:
        profile = profiles.load(agent.profile)
    except FleetError:
        return ""
    reader = READERS.get(profile.spending_reader)
    if reader is None:
        return ""
    with contextlib.suppress(*MALFORMED):
        return _first(reader.conversations(environment(store, agent, profile), place(agent), since), since)
    return ""


def has_begun(store: Store, agent: Agent) -> bool:
    """Whether there is anything to go on with: a program first writes down what it was first asked for."""
    profile = profiles.load(agent.profile)
    reader = READERS.get(profile.spending_reader)
    if profile.session != "mint" or reader is None:
        return True
    try:
        found = reader.conversations(environment(store, agent, profile), place(agent), 0.0)
    except MALFORMED:
        return True
    return any(one.id == agent.session_id for one in found)


def _first(found: Sequence[Conversation], since: float) -> str:
    """What began first after the program did: what it began later, a person has asked it to."""
    own = [one for one in found if one.id and one.is_main and one.started_at >= since]
    return min(own, key=lambda one: one.started_at).id if own else ""


def capture(store: Store, agents: Sequence[Agent], *, at_once: bool = False) -> list[Agent]:
    """Write down the conversations of agents that have begun one; those that were looked at just now wait."""
    now = time.monotonic()
    captured = []
    for agent in agents:
        if not at_once and now - _looked_at.get(agent.id, -EVERY) < EVERY:
            continue
        _looked_at[agent.id] = now
        session = find(store, agent)
        if session and _write_down(store, agent, session):
            captured.append(store.agent(agent.id))
    return captured


def _write_down(store: Store, agent: Agent, session: str) -> bool:
    with store.transaction(uses_reserve=False):
        current = store.agent(agent.id)
        if current.session_id or current.run != agent.run:
            return False
        return store.change(agent.id, time.time(), session_id=session)
