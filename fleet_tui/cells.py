"""What a screen shows and what its program said, as plain data: rows, cursor, modes and notes.

Servers and viewers share these, so nothing here may load the emulator or the UI toolkit.
"""

from __future__ import annotations

from typing import Literal

from fleet_tui.values import dataclass

Style = tuple[int, int, int, int]
"""(foreground, background, attributes, underline colour). A colour is -1 for the default, 0..255 for a palette
entry, or TRUECOLOR | 0xRRGGBB. Attributes are the bits below, with the kind of underline (0..5: none, single,
double, curly, dotted, dashed) from UNDERLINE_SHIFT up."""
Row = list[tuple[str, Style | None, int]]
"""Runs of (text, style or None for the default, width in cells), without trailing default blanks. A cell of
several code points is a run of its own, since a viewer may measure it differently."""

TRUECOLOR = 0x1000000
BOLD, FAINT, ITALIC, BLINK, INVERSE, INVISIBLE, STRIKE, OVERLINE = (1 << bit for bit in range(8))
UNDERLINE_SHIFT = 8


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next character goes, and how the program wants that shown."""

    x: int
    y: int
    visible: bool
    shape: Literal["block", "bar", "underline"]
    blink: bool


@dataclass(frozen=True, slots=True)
class Modes:
    """What the program has asked of its terminal, as far as the server or a viewer cares."""

    alternate: bool = False
    """The alternate screen is shown: there is no history to scroll."""
    bracketed_paste: bool = False
    focus_events: bool = False
    app_cursor: bool = False
    app_keypad: bool = False
    mouse: Literal["", "x10", "normal", "button", "any"] = ""
    kitty_flags: int = 0
    alternate_scroll: bool = False
    """The wheel means arrow keys while the alternate screen is shown and `mouse` is empty."""
    reverse: bool = False
    """Default foreground and background are swapped on the whole screen."""


@dataclass(frozen=True, slots=True)
class Bell:
    """The program rang; several in a row are one."""


@dataclass(frozen=True, slots=True)
class Title:
    """The program named its window; of several in a row only the last is kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Notification:
    """The program wants the user told something (OSC 9, OSC 777)."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Clipboard:
    """The program copied something (OSC 52). What it asks to read is never answered."""

    text: str


@dataclass(frozen=True, slots=True)
class Progress:
    """The program's progress bar (OSC 9;4); of several in a row only the last is kept."""

    state: Literal["none", "normal", "error", "indeterminate", "paused"]
    percent: int | None
    """0 to 100, None when the program did not say."""


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """A report of the program about itself (OSC 7501), uninterpreted: all that follows '7501;'."""

    payload: str


Note = Bell | Title | Notification | Clipboard | Progress | ProgramStatus
