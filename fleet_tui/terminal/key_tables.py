"""Tables of the keys that terminals send: control characters, final letters, numbers and code points → key names."""

from __future__ import annotations

from fleet_tui.terminal.input_events import KeyAction

CONTROLS = {0x00: "space", 0x09: "tab", 0x0D: "enter", 0x1B: "escape", 0x7F: "backspace"}
PLAIN_CONTROLS = frozenset({0x09, 0x0D, 0x1B, 0x7F})
LETTERS = {
    "A": "up",
    "B": "down",
    "C": "right",
    "D": "left",
    "E": "kp_begin",
    "F": "end",
    "H": "home",
    "P": "f1",
    "Q": "f2",
    "R": "f3",
    "S": "f4",
}
EDITING = ("home", "insert", "delete", "end", "pageup", "pagedown", "home", "end")
F_CODES = (11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 23, 24, 25, 26, 28, 29, 31, 32, 33, 34)
TILDE = {
    **dict(enumerate(EDITING, start=1)),
    **{code: f"f{number}" for number, code in enumerate(F_CODES, start=1)},
}
KEYPAD = {
    "M": "kp_enter",
    "X": "kp_equal",
    "j": "kp_multiply",
    "k": "kp_add",
    "l": "kp_separator",
    "m": "kp_subtract",
    "n": "kp_decimal",
    "o": "kp_divide",
    **{chr(ord("p") + digit): f"kp_{digit}" for digit in range(10)},
}
KEYPAD_TEXT = dict(zip((KEYPAD[final] for final in "Xjklmnopqrstuvwxy"), "=*+,-./0123456789", strict=True))
KITTY_KEYPAD = (
    *(f"kp_{digit}" for digit in range(10)),
    *(
        "kp_decimal",
        "kp_divide",
        "kp_multiply",
        "kp_subtract",
        "kp_add",
        "kp_enter",
        "kp_equal",
        "kp_separator",
    ),
    *("kp_left", "kp_right", "kp_up", "kp_down", "kp_pageup", "kp_pagedown", "kp_home", "kp_end"),
    *("kp_insert", "kp_delete", "kp_begin"),
)
KITTY = {
    8: "backspace",
    9: "tab",
    13: "enter",
    27: "escape",
    32: "space",
    127: "backspace",
    57361: "print_screen",
    57362: "pause",
    57363: "menu",
    **{57376 + number: f"f{13 + number}" for number in range(23)},
    **dict(enumerate(KITTY_KEYPAD, start=57399)),
}
PRIVATE_USE = range(57344, 63744)
ACTIONS: dict[int, KeyAction] = {2: "repeat", 3: "release"}

# Modifier bits: a sequence's second number minus one. Hyper, caps lock and num lock are ignored.
SHIFT, ALT, CTRL, SUPER, META = 1, 2, 4, 8, 32
