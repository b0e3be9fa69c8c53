"""Messages to the app. Messages of a widget are in its class."""

from __future__ import annotations

from textual.message import Message

from fleet_tui.faces.live import LiveData
from fleet_tui.models import FleetState


class FleetChanged(Message):
    """The store changed."""

    def __init__(self, state: FleetState) -> None:
        super().__init__()
        self.state = state

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, FleetChanged)


class LiveDataChanged(Message):
    """The worker sent new live data."""

    def __init__(self, live: LiveData) -> None:
        super().__init__()
        self.live = live

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, LiveDataChanged)


class WorkerFailed(Message):
    """An internal error happened in the worker."""

    def __init__(self, summary: str, trace: str) -> None:
        super().__init__()
        self.summary = summary
        self.trace = trace
