"""Recognize the chords that `fleet attach` keeps; all other keys go to the agent."""

from __future__ import annotations

from fleet_tui.terminal.input_events import KeyEvent

LEADER_HINT = "Ctrl+] d detaches, Ctrl+] Ctrl+] sends Ctrl+]"

# The key d of the US layout in Cyrillic and Korean, for hosts that do not report the US key.
_DETACH_LETTERS = ("d", "в", "ㅇ")


class Chords:
    """Takes key presses, and keeps the chords that detach."""

    def __init__(self) -> None:
        self._is_led = False
        self.wants_detach = False
        self.hint = ""
        """A hint about the last key, if there is one to show."""

    def press(self, event: KeyEvent) -> list[KeyEvent]:
        """The keys to send to the agent."""
        self.hint = ""
        if event.action == "release":
            return [event]
        if self._is_led:
            return self._after_leader(event)
        if _is_chord(event, "q") or _is_plain(event, "f12"):
            self.wants_detach = True
            return []
        if _is_chord(event, "]"):
            self._is_led = True
            self.hint = LEADER_HINT
            return []
        return [event]

    def _after_leader(self, event: KeyEvent) -> list[KeyEvent]:
        self._is_led = False
        if _is_chord(event, "]"):
            return [event]
        if _is_chord(event, "q") or _is_plain(event, "f12") or _is_detach_letter(event):
            self.wants_detach = True
        else:
            self.hint = f"unknown key; {LEADER_HINT}"
        rest = event.text[1:] if not event.key else ""
        return [KeyEvent("", rest)] if rest and not self.wants_detach else []


def _is_chord(event: KeyEvent, character: str) -> bool:
    is_ctrl_alone = event.ctrl and not (event.shift or event.alt or event.super)
    return is_ctrl_alone and (event.base or event.key) == character


def _is_detach_letter(event: KeyEvent) -> bool:
    first = (event.base or event.text)[:1].lower()
    return first in _DETACH_LETTERS and not (event.ctrl or event.alt or event.super)


def _is_plain(event: KeyEvent, key: str) -> bool:
    return event.key == key and not (event.shift or event.alt or event.ctrl or event.super)
