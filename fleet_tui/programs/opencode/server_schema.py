"""Schema of OpenCode's server: which conversation an event belongs to, and lists of what is open as events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from fleet_tui.programs.json_values import at_path

SESSION_LIMIT = 1000
ID_LIMIT = 200


class ConversationFilter:
    """Tells events of the agent's own conversation from those of its helpers and of other conversations."""

    def __init__(self, folder: str, session_id: str = "") -> None:
        self._folder = folder
        self.session_id = session_id
        """The own conversation that was active last; empty while none is known."""
        self._foreign: set[str] = set()
        self._helpers: set[str] = set()

    def owner(self, event: Mapping[str, Any]) -> Literal["own", "helper", "other"]:
        info = at_path(event, "properties.info")
        if at_path(event, "type") in ("session.created", "session.updated") and isinstance(info, dict):
            self._learn(info)
        session = at_path(event, "properties.sessionID")
        if not isinstance(session, str) or not 0 < len(session) <= ID_LIMIT or session in self._foreign:
            return "other"
        if session in self._helpers:
            return "helper"
        self.session_id = session
        return "own"

    def _learn(self, info: dict[str, Any]) -> None:
        session, folder = info.get("id"), info.get("directory")
        if not isinstance(session, str) or len(self._foreign) + len(self._helpers) >= SESSION_LIMIT:
            return
        if isinstance(folder, str) and folder != self._folder:
            self._foreign.add(session)
        elif info.get("parentID"):
            self._helpers.add(session)


def as_events(known_as: str, body: Any) -> list[dict[str, Any]]:
    """What is open now, as the events that would have announced it: a list of requests, or statuses by session."""
    if isinstance(body, list):
        return [{"type": known_as, "properties": one} for one in body if isinstance(one, dict)]
    if not isinstance(body, dict):
        return []
    open_ones = [{"sessionID": name, "status": status} for name, status in body.items()]
    return [{"type": known_as, "properties": one} for one in open_ones] or [{"type": f"{known_as}.none"}]
