"""The agent one was typing to is gone: keys that were meant for it go nowhere, until the person leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events
from textual.widget import Widget

from fleet_tui.tui.keys import event_key, show
from fleet_tui.tui.screens.dialog import Dialog
from fleet_tui.tui.widgets.fields import Label
from fleet_tui.tui.widgets.lines import clean


class GoneDialog(Dialog[None], inherit_bindings=False):
    """Left by the chord that leaves typing, and by no other key: any other may be one that was meant for the agent."""

    explains = "keys go nowhere"

    def __init__(self, name: str, leave: Sequence[str]) -> None:
        super().__init__()
        self.heading = f"{clean(name)} is gone"
        self._leave = leave

    def body(self) -> Iterable[Widget]:
        said = "It was killed from another terminal. What is typed for it now does nothing."
        yield Label(said, markup=False)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ((show(self._leave[0]), "back to the list"),)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key in map(event_key, self._leave):
            self.dismiss(None)
