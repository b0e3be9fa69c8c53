"""Encoder of input for the program: keys, mouse, paste and focus as bytes, by the program's current modes.

Uses the emulator's own encoders, which follow the terminal's modes. This module adds the cases in which they differ from
xterm-like terminals. It never decides where input goes.
"""

from __future__ import annotations

import re
from typing import Any

from fleet_tui.fast_dataclasses import replace
from fleet_tui.terminal.emulator.native import characters, ffi, has_mode, lib, made, new, number, sized
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent

CELL_PIXELS = (8, 16)
"""The cell size reported to programs that ask for pixels."""

_SHIFT, _CTRL, _ALT, _SUPER = 1, 2, 4, 8
_BUFFER = 256

_NAMES = {
    "up": "ARROW_UP",
    "down": "ARROW_DOWN",
    "left": "ARROW_LEFT",
    "right": "ARROW_RIGHT",
    "pageup": "PAGE_UP",
    "pagedown": "PAGE_DOWN",
    "menu": "CONTEXT_MENU",
    "print_screen": "PRINT_SCREEN",
    "scroll_lock": "SCROLL_LOCK",
    "caps_lock": "CAPS_LOCK",
    "num_lock": "NUM_LOCK",
    "kp_pageup": "NUMPAD_PAGE_UP",
    "kp_pagedown": "NUMPAD_PAGE_DOWN",
    "`": "BACKQUOTE",
    "\\": "BACKSLASH",
    "[": "BRACKET_LEFT",
    "]": "BRACKET_RIGHT",
    ",": "COMMA",
    "=": "EQUAL",
    "-": "MINUS",
    ".": "PERIOD",
    "'": "QUOTE",
    ";": "SEMICOLON",
    "/": "SLASH",
    " ": "SPACE",
}
_PLAIN_NAMES = [
    "tab",
    "enter",
    "escape",
    "space",
    "backspace",
    "home",
    "end",
    "insert",
    "delete",
    "pause",
    "help",
    "copy",
    "cut",
    "paste",
]
_KEYPAD_NAMES = ["enter", "begin", "left", "right", "up", "down", "home", "end", "insert", "delete"]
_KEYPAD_TEXT = {
    **{str(digit): str(digit) for digit in range(10)},
    "multiply": "*",
    "add": "+",
    "separator": ",",
    "subtract": "-",
    "decimal": ".",
    "divide": "/",
    "equal": "=",
}
_KEYS: dict[str, int] = {
    name: getattr(lib, f"GHOSTTY_KEY_{constant}")
    for name, constant in {
        **_NAMES,
        **{name: name.upper() for name in _PLAIN_NAMES},
        **{f"f{index}": f"F{index}" for index in range(1, 26)},
        **{letter: letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"},
        **{digit: f"DIGIT_{digit}" for digit in "0123456789"},
        **{f"kp_{name}": f"NUMPAD_{name.upper()}" for name in (*_KEYPAD_NAMES, *_KEYPAD_TEXT)},
    }.items()
}
_TEXTS = {"space": " ", **{f"kp_{name}": text for name, text in _KEYPAD_TEXT.items()}}
_CODES = {"tab": 9, "enter": 13, "escape": 27, "space": 32, "backspace": 127}
_ACTIONS = {
    "press": lib.GHOSTTY_KEY_ACTION_PRESS,
    "repeat": lib.GHOSTTY_KEY_ACTION_REPEAT,
    "release": lib.GHOSTTY_KEY_ACTION_RELEASE,
}

# The byte for Ctrl with a character, as xterm sends it.
_CONTROLS = {
    **{chr(code): code & 31 for code in range(ord("@"), ord("~"))},
    **dict(zip(" 2345678/-?~`", (0, 0, 27, 28, 29, 30, 31, 127, 31, 31, 127, 30, 0), strict=True)),
}
_C1 = re.compile("[\x80-\x9f]")
_NOT_LEGACY = re.compile(rb"\x1b\[(?:[0-9;:]+u|27;[0-9;]+~)")

_MOUSE_BUTTONS = {
    "left": lib.GHOSTTY_MOUSE_BUTTON_LEFT,
    "middle": lib.GHOSTTY_MOUSE_BUTTON_MIDDLE,
    "right": lib.GHOSTTY_MOUSE_BUTTON_RIGHT,
    "scroll_up": lib.GHOSTTY_MOUSE_BUTTON_FOUR,
    "scroll_down": lib.GHOSTTY_MOUSE_BUTTON_FIVE,
    "scroll_left": lib.GHOSTTY_MOUSE_BUTTON_SIX,
    "scroll_right": lib.GHOSTTY_MOUSE_BUTTON_SEVEN,
}
_MOUSE_ACTIONS = {"release": lib.GHOSTTY_MOUSE_ACTION_RELEASE, "move": lib.GHOSTTY_MOUSE_ACTION_MOTION}


class Encoder:
    """Encodes input for the program in one terminal."""

    def __init__(self, terminal: Any) -> None:
        self._terminal = terminal
        self._keys = made("GhosttyKeyEncoder", lib.ghostty_key_encoder_new)
        self._key = made("GhosttyKeyEvent", lib.ghostty_key_event_new)
        self._mice = made("GhosttyMouseEncoder", lib.ghostty_mouse_encoder_new)
        self._mouse = made("GhosttyMouseEvent", lib.ghostty_mouse_event_new)
        self._out, self._length = characters(_BUFFER), new("size_t")

    def free(self) -> None:
        lib.ghostty_mouse_event_free(self._mouse)
        lib.ghostty_mouse_encoder_free(self._mice)
        lib.ghostty_key_event_free(self._key)
        lib.ghostty_key_encoder_free(self._keys)

    def key(self, event: KeyEvent) -> bytes:
        if not event.key:
            return b"" if event.action == "release" else event.text.encode("utf-8", "replace")
        if len(event.key) == 1 and event.key.isupper() and len(event.key.lower()) == 1:
            event = replace(event, key=event.key.lower(), text=event.text or event.key, shift=True)
        if not number(self._terminal, lib.GHOSTTY_TERMINAL_DATA_KITTY_KEYBOARD_FLAGS):
            return self._legacy_key(event)
        return self._encoded(event)

    def _legacy_key(self, event: KeyEvent) -> bytes:
        """Encode a key for a program without the kitty protocol."""
        if event.action == "release":
            return b""
        if event.base and (event.ctrl or event.alt):  # programs know shortcuts by their latin letter
            event = replace(event, key=event.base, base="", text="")
        encoded = self._encoded(event)
        typed = " " if event.key == "space" else event.key
        control = _CONTROLS.get(typed) if event.ctrl and not event.super else None
        if (control is None and not _NOT_LEGACY.fullmatch(encoded)) or self._takes_other_keys():
            return encoded
        if control is not None:
            return b"\x1b" * event.alt + bytes([control])
        # Programs without that protocol show the encoder's other sequences as text.
        has_escape = event.alt or (event.shift and event.key == "enter")
        code = _unshifted(event)
        return b"\x1b" * has_escape + chr(code).encode() if code else b""

    def _takes_other_keys(self) -> bool:
        """Whether the program enabled xterm's modifyOtherKeys; the emulator shows it only in its encoding."""
        return self._encoded(KeyEvent("i", ctrl=True)).startswith(b"\x1b[27;")

    def _encoded(self, event: KeyEvent) -> bytes:
        event = replace(event, text=_typed(event))
        data = event.text.encode("utf-8", "replace")
        text = ffi.from_buffer(data)  # the emulator's event keeps the pointer only
        mods = _mods(event.shift, event.alt, event.ctrl) | _SUPER * event.super
        is_consumed = bool(event.shift and event.text and not (event.ctrl or event.alt))
        lib.ghostty_key_event_set_action(self._key, _ACTIONS[event.action])
        lib.ghostty_key_event_set_key(self._key, _KEYS.get(event.base or event.key, 0))
        lib.ghostty_key_event_set_mods(self._key, mods)
        lib.ghostty_key_event_set_consumed_mods(self._key, _SHIFT * is_consumed)
        lib.ghostty_key_event_set_utf8(self._key, text, len(data))
        lib.ghostty_key_event_set_unshifted_codepoint(self._key, _unshifted(event))
        lib.ghostty_key_encoder_setopt_from_terminal(self._keys, self._terminal)
        if lib.ghostty_key_encoder_encode(self._keys, self._key, self._out, _BUFFER, self._length):
            return data
        return self._encoded_bytes()

    def _encoded_bytes(self) -> bytes:
        return bytes(ffi.buffer(self._out, self._length[0]))

    def paste(self, text: str) -> bytes:
        # The emulator blanks ASCII control characters in place, so that a paste cannot end its own brackets;
        # what is left are the eight-bit ones.
        text = _C1.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))
        data = text.encode("utf-8", "replace")
        source, room = characters(data), len(data) + 16
        out = characters(room)
        is_bracketed = has_mode(self._terminal, 2004)
        if lib.ghostty_paste_encode(source, len(data), is_bracketed, out, room, self._length):
            return b""
        return bytes(ffi.buffer(out, self._length[0]))

    def focus(self, focused: bool) -> bytes:
        if not has_mode(self._terminal, 1004):
            return b""
        return b"\x1b[I" if focused else b"\x1b[O"

    def mouse(self, event: MouseEvent, cols: int, rows: int) -> bytes:
        if not (0 <= event.x < cols and 0 <= event.y < rows):
            return b""
        self._set_mouse_modes(cols, rows, is_pressed=event.kind == "move" and event.button != "")
        is_scroll = event.kind.startswith("scroll")
        button = _MOUSE_BUTTONS.get(event.kind if is_scroll else event.button)
        action = _MOUSE_ACTIONS.get(event.kind, lib.GHOSTTY_MOUSE_ACTION_PRESS)
        lib.ghostty_mouse_event_set_action(self._mouse, action)
        if button is None:
            lib.ghostty_mouse_event_clear_button(self._mouse)
        else:
            lib.ghostty_mouse_event_set_button(self._mouse, button)
        lib.ghostty_mouse_event_set_mods(self._mouse, _mods(event.shift, event.alt, event.ctrl))
        width, height = CELL_PIXELS
        middle = new("GhosttyMousePosition", ((event.x + 0.5) * width, (event.y + 0.5) * height))
        lib.ghostty_mouse_event_set_position(self._mouse, middle[0])
        if lib.ghostty_mouse_encoder_encode(self._mice, self._mouse, self._out, _BUFFER, self._length):
            return b""
        return self._encoded_bytes()

    def _set_mouse_modes(self, cols: int, rows: int, *, is_pressed: bool) -> None:
        size = sized("GhosttyMouseEncoderSize")
        size.cell_width, size.cell_height = CELL_PIXELS
        size.screen_width, size.screen_height = cols * size.cell_width, rows * size.cell_height
        lib.ghostty_mouse_encoder_setopt_from_terminal(self._mice, self._terminal)
        lib.ghostty_mouse_encoder_setopt(self._mice, lib.GHOSTTY_MOUSE_ENCODER_OPT_SIZE, size)
        pressed = new("bool", is_pressed)
        lib.ghostty_mouse_encoder_setopt(
            self._mice, lib.GHOSTTY_MOUSE_ENCODER_OPT_ANY_BUTTON_PRESSED, pressed
        )


def _mods(shift: bool, alt: bool, ctrl: bool) -> int:
    return _SHIFT * shift | _ALT * alt | _CTRL * ctrl


def _typed(event: KeyEvent) -> str:
    """The text a key types, derived if the viewer does not know it: without it the encoder sends nothing."""
    if event.text:
        return event.text
    if len(event.key) == 1:
        return event.key.upper() if event.shift else event.key
    return "" if event.ctrl or event.super else _TEXTS.get(event.key, "")


def _unshifted(event: KeyEvent) -> int:
    return ord(event.key) if len(event.key) == 1 else _CODES.get(event.key, 0)
