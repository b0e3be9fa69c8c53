"""What has happened, as messages that any screen may handle. Widgets keep their own messages to themselves."""

from __future__ import annotations

from textual.message import Message

from fleet_tui.models import FleetState
from fleet_tui.tui.exchange import Sights


class FleetChanged(Message):
    """Agents or batches are not as they were, whoever did it."""

    def __init__(self, state: FleetState) -> None:
        super().__init__()
        self.state = state

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FleetChanged)


class SightsChanged(Message):
    """Usage, last lines, logs or line counts have moved."""

    def __init__(self, sights: Sights) -> None:
        super().__init__()
        self.sights = sights

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, SightsChanged)


class WorkerFailed(Message):
    """Something nobody foresaw happened in the worker."""

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__()
        self.summary = summary
        self.trace = trace
