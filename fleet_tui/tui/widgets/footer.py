"""The bottom line: the mode, then keys by importance. Entries are dropped whole, never cut; a click presses the key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events

from fleet_tui.tui.host_keys import key_message, named_key
from fleet_tui.tui.keys import event_key
from fleet_tui.tui.widgets.lines import CHIP_HERE, CHIP_QUIET, Line, LineView, both_ends, clean, key, length


class FooterKey(NamedTuple):
    """An entry of the footer."""

    shown: str
    """The chord as displayed."""
    label: str
    chords: tuple[str, ...] = ()
    """The keys that a click presses, in order."""


class Footer(LineView):
    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes="bar bottom")
        self._chip = ""
        self._chip_role = CHIP_QUIET
        self._entries: Sequence[FooterKey] = ()
        self._right: Line = ()
        self._pinned: FooterKey | None = None
        self._places: list[tuple[int, int, FooterKey]] = []
        """The first cell of each visible entry, and the one after its last."""

    def show_list(
        self, entries: Sequence[FooterKey], pinned: FooterKey | None, *, chip: str = "LIST"
    ) -> None:
        self._chip, self._chip_role, self._entries = f" {chip} ", CHIP_QUIET, entries
        self._pinned = pinned
        self._right = (*key(pinned.shown, pinned.label), (" ", "")) if pinned else ()
        self.redraw()

    def show_typing(self, name: str, entries: Sequence[FooterKey], said: str, *, has_ended: bool) -> None:
        mode, role = ("ENDED", CHIP_QUIET) if has_ended else ("TYPING", CHIP_HERE)
        self._chip, self._chip_role, self._entries = f" {mode} → {clean(name)} ", role, entries
        self._pinned = None
        self._right = ((said, "muted"), (" ", ""))
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        left: Line = ((self._chip, self._chip_role), (" ", ""))
        right = self._right
        must = sum(length(key(entry.shown, entry.label)) + 2 for entry in self._entries[:2])
        if length(left) + must + length(right) + 1 > width:
            right = ()
        self._places = []
        for entry in self._entries:
            said = key(entry.shown, entry.label)
            longer = (*left, (" ", ""), *said, (" ", ""))
            if length(longer) + length(right) + 1 > width:
                break
            self._places.append((length(left) + 1, length(longer) - 1, entry))
            left = longer
        if right and self._pinned is not None:
            self._places.append((width - length(right), width, self._pinned))
        return [both_ends(left, right, width, gap=0 if not right else 1)]

    def on_click(self, event: events.Click) -> None:
        """Press the clicked key, with its effect in the current mode."""
        event.stop()
        clicked = next((entry for start, end, entry in self._places if start <= event.x < end), None)
        for chord in clicked.chords if clicked is not None else ():
            self.app.post_message(pressed(chord))


def pressed(chord: str) -> events.Key:
    """The event of a chord, as if the user had pressed it."""
    return key_message(named_key(event_key(chord), chord if len(chord) == 1 else None))
