"""Which changes of the fleet a person should hear of, and in what words.

Pure: states, where the person looks and the time go in, notices come out. What comes together is one notice, what flaps
is none, and who is looked at is not announced. How a notice reaches a person is the herald's business.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from typing import Literal

from fleet_tui.listing import word
from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.text import in_sequence
from fleet_tui.values import dataclass, field

Kind = Literal["blocked", "error", "limited", "done"]
KINDS: tuple[Kind, ...] = ("blocked", "error", "limited", "done")
"""The most urgent first."""
Batch = tuple[str, str]
"""A batch by its project and its name."""

SETTLE_SECONDS = 1.0
"""A change that is gone again by then was none; others that come meanwhile are told with it."""
GAP_SECONDS = 5.0
"""Between two notices, at the least."""
REPEAT_SECONDS = 30.0
"""The same said again of the same agent within this time is not said."""
TITLE_LIMIT, TEXT_LIMIT, NAMES = 80, 200, 4

_STATUSES: Mapping[Status, Kind] = {
    Status.BLOCKED: "blocked",
    Status.DONE: "done",
    Status.LIMITED: "limited",
    Status.ERROR: "error",
    Status.FAILED: "error",
    Status.LOST: "error",
    Status.INTERRUPTED: "error",
}


@dataclass(frozen=True, slots=True)
class Switches:
    """What the user wants to hear of, and how."""

    on: tuple[str, ...] = ("blocked", "done", "error", "limited")
    terminal: str = "auto"
    command: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()

    def wants(self, agent: Agent, kind: Kind) -> bool:
        profile = agent.profile.rsplit("/", 1)[-1]
        return kind in self.on and _passes(self.profiles, profile) and _passes(self.batches, agent.batch)


def _passes(patterns: Sequence[str], name: str) -> bool:
    """`!pattern` mutes; where others are listed, only they pass. The first that matches decides."""
    for pattern in patterns:
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!")):
            return not pattern.startswith("!")
    return all(pattern.startswith("!") for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Gaze:
    """Where the person looks."""

    agents: frozenset[str] = frozenset()
    """Selected, or typed into."""
    has_focus: bool = True
    """The host terminal has the keyboard."""

    def sees(self, agent: Agent) -> bool:
        return self.has_focus and agent.id in self.agents


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """An agent has come to something that a person may want to hear of."""

    agent: Agent
    kind: Kind


def kind_of(agent: Agent) -> Kind | None:
    """What a status means to a person who is elsewhere; nothing for what was asked for or goes well."""
    if agent.status is Status.EXITED:
        return "done" if agent.exit_code == 0 else "error"
    return _STATUSES.get(agent.status)


def changes(old: FleetState, new: FleetState) -> list[Change]:
    """Who has come to be blocked, done, limited or wrong between two states."""
    before = {agent.id: agent for agent in old.agents}
    found = []
    for agent in new.agents:
        kind, was = kind_of(agent), before.get(agent.id)
        # From one end to another, as after an undo, nothing has happened.
        if kind is None or (
            was is not None and (_is_same(was, agent) or (was.has_ended and agent.has_ended))
        ):
            continue
        found.append(Change(agent, kind))
    return found


def _is_same(was: Agent, agent: Agent) -> bool:
    return was.status is agent.status and (
        agent.status is not Status.BLOCKED or said_of(was) == said_of(agent)
    )


def said_of(agent: Agent) -> str:
    """What an agent says about its state, on one line without anything that a terminal would act on."""
    text = agent.evidence.text if agent.evidence is not None and agent.evidence.text else agent.status_detail
    return in_sequence(text)


@dataclass(slots=True)
class Attention:
    """Goes from state to state and says when there is something to tell."""

    switches: Switches
    muted: set[Batch] = field(default_factory=set)
    """Batches that are not announced until the dashboard is left."""
    _state: FleetState | None = None
    _pending: dict[str, tuple[Change, float]] = field(default_factory=dict)
    _told: dict[tuple[str, Kind, str], float] = field(default_factory=dict)
    _last_at: float = float("-inf")

    def begin(self, state: FleetState) -> None:
        """Everything up to here is old."""
        self._state = state
        self._pending.clear()

    def take(self, state: FleetState, gaze: Gaze, now: float) -> None:
        """Note what has changed; before `begin` nothing is news."""
        old, self._state = self._state, state if self._state is not None else None
        if old is None:
            return
        for change in changes(old, state):
            if self._is_wanted(change, gaze, now):
                self._pending[change.agent.id] = (change, now)
        self._forget_what_passed(state)

    def _is_wanted(self, change: Change, gaze: Gaze, now: float) -> bool:
        agent = change.agent
        if gaze.sees(agent) or (agent.project, agent.batch) in self.muted:
            return False
        told_at = self._told.get((agent.id, change.kind, said_of(agent)), float("-inf"))
        return self.switches.wants(agent, change.kind) and now - told_at >= REPEAT_SECONDS

    def _forget_what_passed(self, state: FleetState) -> None:
        now_is = {agent.id: kind_of(agent) for agent in state.agents}
        gone = [one for one, (change, _) in self._pending.items() if now_is.get(one) != change.kind]
        for one in gone:
            del self._pending[one]

    def due(self, gaze: Gaze, now: float) -> Notice | None:
        """What is to be told now, all of it at once."""
        if not self._pending or now - self._last_at < GAP_SECONDS:
            return None
        if now - min(at for _, at in self._pending.values()) < SETTLE_SECONDS:
            return None
        told = [change for change, _ in self._pending.values() if not gaze.sees(change.agent)]
        self._pending.clear()
        if not told:
            return None
        self._last_at = now
        self._told = {key: at for key, at in self._told.items() if now - at < REPEAT_SECONDS}
        self._told |= {(one.agent.id, one.kind, said_of(one.agent)): now for one in told}
        return notice(told)


def notice(told: Sequence[Change]) -> Notice:
    """One agent with what it says; several as counts and names."""
    ranked = sorted(told, key=lambda change: KINDS.index(change.kind))
    if len(ranked) == 1:
        agent = ranked[0].agent
        title = f"{in_sequence(agent.name)} {_predicate(agent, ranked[0].kind)}"
        return Notice(_cut(title, TITLE_LIMIT), _cut(said_of(agent), TEXT_LIMIT))
    names = [in_sequence(change.agent.name) for change in ranked]
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    return Notice(_cut(counted(ranked), TITLE_LIMIT), _cut(", ".join(names[:NAMES]) + more, TEXT_LIMIT))


def _predicate(agent: Agent, kind: Kind) -> str:
    if kind == "blocked":
        asks = f" ({in_sequence(agent.status_detail)})" if agent.status_detail else ""
        return f"waits for you{asks}"
    if kind == "error":
        return {Status.LOST: "is lost", Status.INTERRUPTED: "was interrupted"}.get(
            agent.status, _went_wrong(agent)
        )
    return "is limited" if kind == "limited" else "is done"


def _went_wrong(agent: Agent) -> str:
    if agent.status is Status.ERROR:
        return "has an error"
    return "has failed" if agent.status is Status.FAILED else f"has {word(agent)}"


def counted(told: Sequence[Change]) -> str:
    """How many of each kind: 2 wait for you, 1 failed, 3 done."""
    parts = []
    for kind in KINDS:
        number = sum(change.kind == kind for change in told)
        if number:
            says = {"blocked": "waits for you" if number == 1 else "wait for you", "error": "went wrong"}
            parts.append(f"{number} {says.get(kind, kind)}")
    return ", ".join(parts)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
