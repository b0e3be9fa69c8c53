"""The dialog shown when the typed-to agent is gone: it swallows the keys that were meant for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual import events
from textual.widget import Widget

from fleet_tui.tui.dialogs.dialog import Dialog
from fleet_tui.tui.keys import event_key, show
from fleet_tui.tui.widgets.fields import Label
from fleet_tui.tui.widgets.lines import clean


class GoneDialog(Dialog[None], inherit_bindings=False):
    """Closes on the chord that leaves typing and on no other key, which may have been meant for the agent."""

    explains = "keys have no effect"

    def __init__(self, name: str, leave: Sequence[str]) -> None:
        super().__init__()
        self.heading = f"{clean(name)} is gone"
        self._leave = leave

    def body(self) -> Iterable[Widget]:
        said = "It was killed in another terminal. Keys that you type for it have no effect."
        yield Label(said, markup=False)

    def hints(self) -> Sequence[tuple[str, str]]:
        return ((show(self._leave[0]), "back to the list"),)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        if event.key in map(event_key, self._leave):
            self.dismiss(None)
