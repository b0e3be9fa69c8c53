"""Cells of a screen, its cursor and modes, and notes from its program, as plain data.

Servers and viewers share these, so nothing here may load the emulator or the UI toolkit.
"""

from __future__ import annotations

from typing import Literal

from fleet_tui.fast_dataclasses import dataclass

Style = tuple[int, int, int, int]
"""(foreground, background, attributes, underline color). A color is -1 for the default, 0..255 for a palette
entry, or TRUECOLOR | 0xRRGGBB. Attributes are the bits of `Attribute`, with the kind of underline (0..5: none, single,
double, curly, dotted, dashed) from UNDERLINE_SHIFT up."""
Row = list[tuple[str, Style | None, int]]
"""Runs of (text, style or None for the default, width in cells), without trailing default blanks. A cell of
several code points is a run of its own, since a viewer may measure it differently."""

TRUECOLOR = 0x1000000
UNDERLINE_SHIFT = 8


class Attribute:
    """Bits of a style's attributes. Plain integers, as every style is tested for them: an `IntFlag` is ten times slower."""

    BOLD = 1 << 0
    FAINT = 1 << 1
    ITALIC = 1 << 2
    BLINK = 1 << 3
    INVERSE = 1 << 4
    INVISIBLE = 1 << 5
    STRIKE = 1 << 6
    OVERLINE = 1 << 7


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next character goes, and how the cursor looks."""

    x: int
    y: int
    visible: bool
    shape: Literal["block", "bar", "underline"]
    blink: bool


@dataclass(frozen=True, slots=True)
class Modes:
    """Terminal modes that the program has set, as far as the screen server or a viewer needs them."""

    alternate: bool = False
    """The alternate screen is shown: there is no history to scroll."""
    bracketed_paste: bool = False
    focus_events: bool = False
    mouse: Literal["", "x10", "normal", "button", "any"] = ""
    kitty_flags: int = 0
    """Keyboard protocol; a client that leaves a terminal has to leave it at 0."""
    alternate_scroll: bool = False
    """The wheel sends arrow keys while the alternate screen is shown and `mouse` is empty."""


@dataclass(frozen=True, slots=True)
class Bell:
    """The program rang the bell; several in a row are one."""


@dataclass(frozen=True, slots=True)
class Title:
    """The program set its title; of several in a row only the last is kept."""

    text: str


@dataclass(frozen=True, slots=True)
class Notification:
    """The program wants to notify the user (OSC 9, OSC 777)."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Clipboard:
    """The program copied text (OSC 52). Requests to read the clipboard are never answered."""

    text: str


@dataclass(frozen=True, slots=True)
class ProgressBar:
    """The program's progress bar (OSC 9;4); of several in a row only the last is kept."""

    state: Literal["none", "normal", "error", "indeterminate", "paused"]
    percent: int | None
    """0 to 100; None if the program did not say."""


@dataclass(frozen=True, slots=True)
class ProgramStatus:
    """A status report of the program (OSC 7501), unparsed: everything after '7501;'."""

    payload: str


Note = Bell | Title | Notification | Clipboard | ProgressBar | ProgramStatus
