"""Keys of a pane: which go to the agent, and the two chords that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from fleet_tui.tui.host_keys import host_key

if TYPE_CHECKING:
    from fleet_tui.tui.panes.pane import Pane

LEAVE_KEYS = frozenset({"ctrl+q", "f12"})
LEADER_KEYS = frozenset({"ctrl+right_square_bracket", "f11"})


class PaneKeys:
    """The keys of one pane while it is typed into or in copy mode."""

    def __init__(self, pane: Pane) -> None:
        self._pane = pane
        self._is_leaving = False
        """The leave chord was pressed: later keys belong to the list."""
        self._is_led = False
        """The leader was pressed: the next key is a command."""
        self.leave = LEAVE_KEYS
        """As Textual names keys; the dashboard sets them from the keymap."""
        self.leader = LEADER_KEYS

    def reset(self) -> None:
        self._is_leaving = self._is_led = False

    def forget_leader(self) -> None:
        self._is_led = False

    @property
    def are_taken(self) -> bool:
        """Whether keys go to the pane rather than to the list."""
        return (self._pane.is_typing and not self._is_leaving) or self._pane.is_copying

    def are_consumed(self, character: str | None) -> bool:
        if len(character or "") > 1 and (self._is_led or self._pane.is_copying):
            # Several characters in one event: each is a key of its own here.
            return False
        return self.are_taken

    def only_reaches_agent(self, event: events.Key | events.Paste) -> bool:
        if not self.are_taken or self._is_led or self._pane.is_copying:
            return False
        return isinstance(event, events.Paste) or event.key not in self.leave | self.leader

    def press(self, event: events.Key) -> None:
        pane = self._pane
        if self._is_led:
            self._press_after_leader(event)
        elif event.key in self.leave and pane.is_typing:
            self._is_leaving = True
            pane.post_message(pane.LeaveAsked(pane))
        elif event.key in self.leader and pane.is_typing:
            self._is_led = True
            pane.post_message(pane.LeaderPressed(pane))
        elif pane.is_copying:
            pane.scrolling.press(event)
        else:
            pane.scrolling.leave()
            pane.send_keys(host_key(event))

    def _press_after_leader(self, event: events.Key) -> None:
        self._is_led = False
        if event.key in self.leader:
            self._pane.send_keys(host_key(event))
        self._pane.post_message(self._pane.Led(self._pane, event.key, event.character))

    def paste(self, text: str) -> None:
        if not self._pane.is_copying:
            self._pane.scrolling.leave()
            self._pane.send_paste(text)
