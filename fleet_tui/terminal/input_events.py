"""Key and mouse events of a viewer, as plain data.

Viewers make these and the screen server encodes them for the program, so nothing here may load the emulator
or the UI toolkit. Pastes and focus changes need no type of their own: a string and a bool.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from fleet_tui.fast_dataclasses import astuple, dataclass

KeyAction = Literal["press", "repeat", "release"]
MouseKind = Literal["press", "release", "move", "scroll_up", "scroll_down", "scroll_left", "scroll_right"]
MouseButton = Literal["", "left", "middle", "right"]


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """One key press: the key's name, the text it types and the modifiers."""

    key: str
    """A character without shift ('a', ';', 'é'), or a name: 'enter', 'up', 'f5', 'backspace', 'tab', 'escape',
    'space', 'pageup', 'kp_5', 'kp_enter'. Empty if `text` comes from no single key (IME, fast typing)."""
    text: str = ""
    """The text it types; '' for a key that types nothing or a chord whose text is unknown."""
    shift: bool = False
    alt: bool = False
    ctrl: bool = False
    super: bool = False
    action: KeyAction = "press"
    base: str = ""
    """The character of the same key on a US layout, if the host reports it (a Cyrillic 'с' has base 'c')."""

    @classmethod
    def named(cls, key: str) -> KeyEvent:
        """A key pressed by itself: a character types itself, a name types nothing."""
        return cls(key, text=key if len(key) == 1 else "")

    def to_wire(self) -> list[Any]:
        return list(astuple(self))

    @classmethod
    def from_wire(cls, wire: list[Any]) -> KeyEvent:
        """The event in `wire`; ValueError when it is malformed. Fields added by a newer viewer are ignored."""
        key, text, shift, alt, ctrl, super_, action, base = wire[:8]
        if action not in get_args(KeyAction) or not all(isinstance(part, str) for part in (key, text, base)):
            raise ValueError(f"not a key event: {wire!r:.80}")
        return cls(key, text, bool(shift), bool(alt), bool(ctrl), bool(super_), action, base)


@dataclass(frozen=True, slots=True)
class MouseEvent:
    """One mouse event over a cell of the screen."""

    kind: MouseKind
    x: int
    """Column of the cell, 0 at the left."""
    y: int
    """Row of the cell, 0 at the top of the screen."""
    button: MouseButton = ""
    """Which button was pressed, released or is held while moving; '' for none and for scrolling."""
    shift: bool = False
    alt: bool = False
    ctrl: bool = False

    def to_wire(self) -> list[Any]:
        return list(astuple(self))

    @classmethod
    def from_wire(cls, wire: list[Any]) -> MouseEvent:
        """The event in `wire`; ValueError when it is malformed. Fields added by a newer viewer are ignored."""
        kind, x, y, button, shift, alt, ctrl = wire[:7]
        if kind not in get_args(MouseKind) or button not in get_args(MouseButton):
            raise ValueError(f"not a mouse event: {wire!r:.80}")
        return cls(kind, int(x), int(y), button, bool(shift), bool(alt), bool(ctrl))
