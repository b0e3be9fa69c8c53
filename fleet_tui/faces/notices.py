"""Decide which status changes to notify the user of, and write the notices.

Pure: fleet states, what the user is looking at and the time go in; notices come out. Changes that come together share
a notice, a status that flaps causes none, and agents that the user is looking at are left out. The dashboard's notifier
delivers notices.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence

from fleet_tui.faces.wording import STATUS_LOOKS, word
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import NOTICE_KINDS, Agent, FleetState, NoticeKind, Status
from fleet_tui.text import cut, in_sequence

BatchKey = tuple[str, str]
"""Project and batch id."""

SETTLE_SECONDS = 1.0
"""A change that is undone within this time is dropped; others that come within it share its notice."""
GAP_SECONDS = 5.0
"""The least time between two notices."""
REPEAT_SECONDS = 30.0
"""The same text about the same agent is not repeated within this time."""
TITLE_LIMIT, TEXT_LIMIT = 80, 200
"""Characters."""
NAMED_AGENTS = 4
"""Agents that one notice names; the others are counted."""


@dataclass(frozen=True, slots=True)
class NotifySettings:
    """Which notices the user wants, and how they are delivered: the `notify.*` keys of the configuration."""

    on: tuple[str, ...] = NOTICE_KINDS
    terminal: str = "auto"
    command: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    batches: tuple[str, ...] = ()

    def wants(self, agent: Agent, kind: NoticeKind) -> bool:
        profile = agent.profile.rsplit("/", 1)[-1]
        return kind in self.on and _passes(self.profiles, profile) and _passes(self.batches, agent.batch)


def _passes(patterns: Sequence[str], name: str) -> bool:
    """Whether the patterns let a name pass. The first match decides; `!pattern` excludes.

    A name that nothing matches passes only if all patterns exclude.
    """
    for pattern in patterns:
        if fnmatch.fnmatchcase(name, pattern.removeprefix("!")):
            return not pattern.startswith("!")
    return all(pattern.startswith("!") for pattern in patterns)


@dataclass(frozen=True, slots=True)
class UserFocus:
    """What the user is looking at."""

    agents: frozenset[str] = frozenset()
    """The ids of the agents that are selected or typed into."""
    has_focus: bool = True
    """Whether the host terminal has the focus."""

    def sees(self, agent: Agent) -> bool:
        return self.has_focus and agent.id in self.agents


@dataclass(frozen=True, slots=True)
class Notice:
    """The title and text of one notice."""

    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class StatusChange:
    """An agent has reached a status that the user may want to know about."""

    agent: Agent
    kind: NoticeKind


def notice_kind(agent: Agent) -> NoticeKind | None:
    """The kind of notice that an agent's status is worth; None if it was requested or all goes well."""
    if agent.status is Status.EXITED:
        return "done" if agent.exit_code == 0 else "error"
    return STATUS_LOOKS[agent.status].notice


def status_changes(old: FleetState, new: FleetState) -> list[StatusChange]:
    """The agents whose status is worth a notice now and was not, or was another, before."""
    before = {agent.id: agent for agent in old.agents}
    found = []
    for agent in new.agents:
        kind, was = notice_kind(agent), before.get(agent.id)
        # An ended agent that has another end now, as after an undo, is no news.
        if kind is None or (
            was is not None and (_is_same(was, agent) or (was.has_ended and agent.has_ended))
        ):
            continue
        found.append(StatusChange(agent, kind))
    return found


def _is_same(was: Agent, agent: Agent) -> bool:
    return was.status is agent.status and (
        agent.status is not Status.BLOCKED or status_text(was) == status_text(agent)
    )


def status_text(agent: Agent) -> str:
    """What an agent says about its status, on one line that is safe inside a control sequence."""
    text = agent.evidence.text if agent.evidence is not None and agent.evidence.text else agent.status_detail
    return in_sequence(text)


@dataclass(slots=True)
class NoticeTracker:
    """Follows the states of the fleet and decides when a notice is due."""

    settings: NotifySettings
    muted: set[BatchKey] = field(default_factory=set)
    """Batches without notices, until the dashboard is closed."""
    _state: FleetState | None = None
    _pending: dict[str, tuple[StatusChange, float]] = field(default_factory=dict)
    _shown_at: dict[tuple[str, NoticeKind, str], float] = field(default_factory=dict)
    _last_at: float = float("-inf")

    def begin(self, state: FleetState) -> None:
        """Take this state as known; only later changes are news."""
        self._state = state
        self._pending.clear()

    def take(self, state: FleetState, focus: UserFocus, now: float) -> None:
        """Note the changes since the last state; before `begin` there are none."""
        old, self._state = self._state, state if self._state is not None else None
        if old is None:
            return
        for change in status_changes(old, state):
            if self._is_wanted(change, focus, now):
                self._pending[change.agent.id] = (change, now)
        self._forget_what_passed(state)

    def _is_wanted(self, change: StatusChange, focus: UserFocus, now: float) -> bool:
        agent = change.agent
        if focus.sees(agent) or (agent.project, agent.batch) in self.muted:
            return False
        shown_at = self._shown_at.get((agent.id, change.kind, status_text(agent)), float("-inf"))
        return self.settings.wants(agent, change.kind) and now - shown_at >= REPEAT_SECONDS

    def _forget_what_passed(self, state: FleetState) -> None:
        now_is = {agent.id: notice_kind(agent) for agent in state.agents}
        gone = [one for one, (change, _) in self._pending.items() if now_is.get(one) != change.kind]
        for one in gone:
            del self._pending[one]

    def due(self, focus: UserFocus, now: float) -> Notice | None:
        """The notice to show now, with all pending changes; None if nothing is due."""
        if not self._pending or now - self._last_at < GAP_SECONDS:
            return None
        if now - min(at for _, at in self._pending.values()) < SETTLE_SECONDS:
            return None
        changes = [change for change, _ in self._pending.values() if not focus.sees(change.agent)]
        self._pending.clear()
        if not changes:
            return None
        self._last_at = now
        self._shown_at = {key: at for key, at in self._shown_at.items() if now - at < REPEAT_SECONDS}
        self._shown_at |= {(one.agent.id, one.kind, status_text(one.agent)): now for one in changes}
        return notice(changes)


def notice(changes: Sequence[StatusChange]) -> Notice:
    """Write a notice: of one agent what it says, of several their counts and names."""
    ranked = sorted(changes, key=lambda change: NOTICE_KINDS.index(change.kind))
    if len(ranked) == 1:
        agent = ranked[0].agent
        title = f"{in_sequence(agent.name)} {_predicate(agent)}"
        return Notice(cut(title, TITLE_LIMIT), cut(status_text(agent), TEXT_LIMIT))
    names = [in_sequence(change.agent.name) for change in ranked]
    more = f" and {len(names) - NAMED_AGENTS} more" if len(names) > NAMED_AGENTS else ""
    return Notice(
        cut(counts_by_kind(ranked), TITLE_LIMIT), cut(", ".join(names[:NAMED_AGENTS]) + more, TEXT_LIMIT)
    )


def _predicate(agent: Agent) -> str:
    if agent.status is Status.EXITED:
        return STATUS_LOOKS[Status.DONE].announcement if agent.exit_code == 0 else word(agent)
    said = STATUS_LOOKS[agent.status].announcement
    is_asking = agent.status is Status.BLOCKED and agent.status_detail
    return f"{said} ({in_sequence(agent.status_detail)})" if is_asking else said


def counts_by_kind(changes: Sequence[StatusChange]) -> str:
    """The number of changes of each kind: 2 wait for you, 1 with an error, 1 rate limited, 3 done."""
    parts = []
    for kind in NOTICE_KINDS:
        number = sum(change.kind == kind for change in changes)
        if number:
            parts.append(f"{number} {_COUNTED[kind][number > 1]}")
    return ", ".join(parts)


_COUNTED: Mapping[NoticeKind, tuple[str, str]] = {
    "blocked": ("waits for you", "wait for you"),
    "error": ("with an error", "with errors"),
    "limited": ("rate limited", "rate limited"),
    "done": ("done", "done"),
}
"""What to say of one agent and of several."""
