"""Listens to the holders of all living agents: each agent's last line, and hints that the store should be read."""

from __future__ import annotations

import selectors
import time
from collections.abc import Sequence

from fleet_tui import paths
from fleet_tui.errors import HolderGone
from fleet_tui.holder import wire
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.session import Session
from fleet_tui.models import Agent

RETRY_SECONDS = 1.0
CONNECT_SECONDS = 0.2


class HolderLines:
    """One session with each living agent's holder."""

    def __init__(self) -> None:
        self.lines: dict[str, str] = {}
        """The last line of each agent."""
        self.active: dict[str, float] = {}
        """When each agent last printed."""
        self.has_news = True
        """A holder has sent something other than lines, or has ended: the store should be read."""
        self._sessions: dict[str, Session] = {}
        self._selector = selectors.DefaultSelector()
        self._retry_at: dict[str, float] = {}

    def is_connected(self, agent: Agent) -> bool:
        return agent.id in self._sessions

    def connect(self, living: Sequence[Agent], now: float) -> None:
        """Connect to exactly these agents' holders; a failed attempt is repeated after RETRY_SECONDS."""
        wanted = {agent.id: agent for agent in living if agent.keeper_pid}
        for gone in self._sessions.keys() - wanted.keys():
            self._disconnect(gone)
        for agent in wanted.values():
            if agent.id not in self._sessions and now >= self._retry_at.get(agent.id, 0.0):
                self._open(agent, now)

    def _open(self, agent: Agent, now: float) -> None:
        self._retry_at[agent.id] = now + RETRY_SECONDS
        lock = paths.lock(agent.id)
        if not is_held(lock):
            return
        try:
            session = Session.open(
                paths.run(agent.id, agent.run), lock, agent.name, rate=0.0, seconds=CONNECT_SECONDS
            )
        except (HolderGone, OSError):
            return
        self._sessions[agent.id] = session
        self._selector.register(session, selectors.EVENT_READ, agent.id)
        self._read(agent.id, session.arrived(), None)

    def _disconnect(self, agent: str) -> None:
        session = self._sessions.pop(agent)
        self._selector.unregister(session)
        session.close()

    def wait(self, until: float) -> None:
        """Receive from the holders until that moment, or until there is news."""
        while (left := until - time.monotonic()) > 0 and not self.has_news:
            if not self._sessions:
                time.sleep(left)
                return
            for key, _ in self._selector.select(left):
                self._receive(str(key.data))

    def _receive(self, agent: str) -> None:
        try:
            messages = self._sessions[agent].receive()
        except HolderGone:
            self._disconnect(agent)
            self.has_news = True
            return
        self._read(agent, messages, time.time())

    def _read(self, agent: str, messages: Sequence[wire.Message], now: float | None) -> None:
        """Take lines and hints from messages; `now` is None for those from before we connected."""
        for message in messages:
            if message["t"] != "tail":
                self.has_news = True
                continue
            self.lines[agent] = last_words(message["lines"])
            if now is not None:
                self.active[agent] = now


def last_words(lines: Sequence[str]) -> str:
    """The last line that contains a word; prompt signs and rulers do not."""
    return next((line.strip() for line in reversed(lines) if sum(map(str.isalnum, line)) >= 2), "")
