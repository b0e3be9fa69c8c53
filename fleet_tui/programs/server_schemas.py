"""Registry of the schemas of programs' event servers, by the name that a profile gives in `status.stream.schema`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from fleet_tui.programs.opencode import server_schema as opencode


class ConversationOwner(Protocol):
    """Sorts the events of one server by the conversation they belong to."""

    session_id: str
    """The agent's conversation that was active last; empty while none is known."""

    def owner(self, event: Mapping[str, Any]) -> Literal["own", "helper", "other"]: ...


class ServerSchema(Protocol):
    """What the events of one program's server mean. Each program's module `server_schema` is one."""

    def ConversationFilter(self, folder: str) -> ConversationOwner:  # noqa: N802 - a class of the module
        """For the events of an agent in this folder."""
        ...

    def as_events(self, known_as: str, body: Any) -> list[dict[str, Any]]:
        """What is open now, as the events that would have announced it."""
        ...


SERVER_SCHEMAS: Mapping[str, ServerSchema] = {"opencode": opencode}
