"""Wait until agents have finished, need the user, or have another wanted status.

The agents' holders announce each change, so that it is noticed at once and quiet agents cost nothing.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from fleet_tui import paths
from fleet_tui.errors import HolderGone
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import Session
from fleet_tui.models import Agent, PromptSummary, Status

SETTLED = frozenset({Status.IDLE, Status.DONE, Status.BLOCKED, Status.ERROR})
"""The statuses in which a living agent does nothing until the user acts."""
RESTING = frozenset({Status.IDLE, Status.DONE})
"""The same status for a wait: they differ only in whether the user has looked."""

CONNECT_SECONDS = 0.2
REFRESH_SECONDS = 2.0
"""How often the store is read while connected to all holders and none sends news."""
RETRY_SECONDS = 0.1
"""The same while a holder does not answer because it is starting or ending."""
NEWS = frozenset({"status", "receipt", "exit"})
"""Messages of a holder after which the store should be read."""


@dataclass(frozen=True, slots=True)
class Waited:
    """An agent that was waited for, as it is when the wait ends."""

    agent: Agent
    has_arrived: bool
    """It has a wanted status, or has ended: waiting longer would change nothing."""


def has_arrived(agent: Agent, prompts: PromptSummary, wanted: AbstractSet[Status]) -> bool:
    """Whether the wait for an agent is over.

    An idle agent with a prompt still on its way has not finished.
    """
    if agent.has_ended:
        return True
    if agent.status in RESTING:
        return not prompts.is_under_way and not RESTING.isdisjoint(wanted)
    if agent.status is Status.ERROR and prompts.queued:
        return False
    return agent.status in wanted


def wait(
    look: Callable[[], Sequence[tuple[Agent, PromptSummary]]],
    wanted: AbstractSet[Status],
    *,
    first: bool = False,
    seconds: float | None = None,
    on_change: Callable[[Agent, PromptSummary], None] | None = None,
) -> list[Waited]:
    """Wait until all agents have arrived, or with `first` one of them; `look` refreshes and reads them."""
    deadline = None if seconds is None else time.monotonic() + seconds
    shown: Mapping[str, object] = {}
    with Holders() as holders:
        while True:
            found = look()
            if on_change is not None:
                for agent, prompts in found:
                    if shown and shown[agent.id] != _shown(agent, prompts):
                        on_change(agent, prompts)
                shown = {agent.id: _shown(agent, prompts) for agent, prompts in found}
            result = [Waited(agent, has_arrived(agent, prompts, wanted)) for agent, prompts in found]
            arrived = sum(one.has_arrived for one in result)
            left = None if deadline is None else deadline - time.monotonic()
            if arrived == len(result) or (first and arrived) or (left is not None and left <= 0):
                return result
            living = [agent for agent, _ in found if not agent.has_ended]
            if not holders.listen(living):
                holders.wait(left)


def _shown(agent: Agent, prompts: PromptSummary) -> object:
    return (agent.status, agent.status_detail, prompts.unstated_wait(agent.status))


class Holders:
    """Sessions with the holders of several agents. Their messages say when to read the store."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, int], Session] = {}
        self._selector = selectors.DefaultSelector()
        self._is_complete = False
        """There is a session with every agent's holder."""

    def __enter__(self) -> Holders:
        return self

    def __exit__(self, *_: object) -> None:
        for key in list(self._sessions):
            self._close(key)
        self._selector.close()

    def listen(self, agents: Sequence[Agent]) -> bool:
        """Listen to exactly these agents. True if one of them is new: its last change may have been missed."""
        wanted = {(agent.id, agent.run): agent for agent in agents}
        for gone in self._sessions.keys() - wanted.keys():
            self._close(gone)
        opened = [self._open(key, agent) for key, agent in wanted.items() if key not in self._sessions]
        self._is_complete = all(opened)
        return any(opened)

    def _open(self, key: tuple[str, int], agent: Agent) -> bool:
        lock = paths.lock(agent.id)
        if not is_held(lock):
            return False
        try:
            session = Session.open(
                paths.run(agent.id, agent.run), lock, agent.name, rate=0.0, seconds=CONNECT_SECONDS
            )
        except (HolderGone, OSError):
            return False
        self._sessions[key] = session
        self._selector.register(session, selectors.EVENT_READ, key)
        return True

    def _close(self, key: tuple[str, int]) -> None:
        session = self._sessions.pop(key)
        self._selector.unregister(session)
        session.close()

    def wait(self, seconds: float | None) -> bool:
        """Wait until the store should be read, or for that many seconds; returns whether a holder sent news."""
        longest = REFRESH_SECONDS if self._is_complete else RETRY_SECONDS
        until = time.monotonic() + (longest if seconds is None else min(longest, seconds))
        has_news = False
        while not has_news and (left := until - time.monotonic()) > 0:
            if not self._sessions:
                time.sleep(left)
                break
            has_news = any(self._has_news(key.data) for key, _ in self._selector.select(left))
        return has_news

    def _has_news(self, key: tuple[str, int]) -> bool:
        try:
            return any(message["t"] in NEWS for message in self._sessions[key].receive())
        except HolderGone:
            self._close(key)
            return True
