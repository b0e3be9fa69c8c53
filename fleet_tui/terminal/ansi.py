"""ANSI output: paints a mirrored screen for a host terminal, only changed rows, cropped to the host's size.

Pure: a View in, bytes out. A Painter remembers what its host shows, so each host needs its own. Only characters and
styles of the program reach the host: no sequence, no control character, no query.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from unicodedata import east_asian_width

from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute, Style
from fleet_tui.terminal.view import Run, View
from fleet_tui.text import blanked, flat

MIN_COLS, MIN_ROWS = 10, 3
"""A smaller host gets a message instead of the screen."""
TOO_SMALL = "too small"

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?2026l"
_UNSURE = re.compile(r"[^\x00-\u02ff]+")
"""Characters whose width differs between hosts."""
_JOINING = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
"""Characters that combine with a neighbor."""
_MAX_STYLES = 4096
_ATTRIBUTES = (
    (Attribute.BOLD, "1"),
    (Attribute.FAINT, "2"),
    (Attribute.ITALIC, "3"),
    (Attribute.BLINK, "5"),
    (Attribute.INVERSE, "7"),
    (Attribute.INVISIBLE, "8"),
    (Attribute.STRIKE, "9"),
    (Attribute.OVERLINE, "53"),
)
_SHAPES = {"block": 2, "underline": 4, "bar": 6}
_MOUSE = {"x10": 1000, "normal": 1000, "button": 1002, "any": 1003}
_CUBE = (0, 95, 135, 175, 215, 255)


class Painter:
    def __init__(self, cols: int, rows: int, *, has_truecolor: bool) -> None:
        self._sgr = StyleSequences(has_truecolor=has_truecolor)
        self._shape = ""
        self._mouse = 0
        self._scrolls: bool | None = None
        self.left, self.top = 0, 0
        """The cell of the screen at the host's top left corner."""
        self.resize(cols, rows)

    def resize(self, cols: int, rows: int) -> None:
        self.cols, self.rows = cols, rows
        self.repaint()

    def repaint(self) -> None:
        """Forget what the host shows, so that everything is painted again."""
        self._is_stale = True
        self._shape = ""
        self._hinted = ""

    @property
    def has_room(self) -> bool:
        return self.cols >= MIN_COLS and self.rows >= MIN_ROWS

    def frame(self, view: View, changed: Iterable[int], hint: str = "") -> bytes:
        """The bytes that turn what the host shows into this view; empty if nothing changes."""
        if not self.has_room:
            return self._too_small()
        is_all = self._follow_cursor(view) or self._is_stale
        self._is_stale = False
        rows = set(range(self.rows)) if is_all else {y - self.top for y in changed}
        if hint != self._hinted:
            rows.add(self.rows - 1)
        parts = [_BEGIN]
        parts += [self._row(view, y) for y in sorted(rows) if 0 <= y < self.rows]
        if hint and (self.rows - 1 in rows):
            parts.append(self._hint_line(hint))
        self._hinted = hint
        parts += (*self._modes(view), self._cursor(view), _END)
        return "".join(parts).encode("utf-8", "replace")

    def _too_small(self) -> bytes:
        self._is_stale = True
        return f"{_BEGIN}\x1b[0m\x1b[2J\x1b[H{TOO_SMALL[: self.cols]}{_END}".encode()

    def _follow_cursor(self, view: View) -> bool:
        """Crop so that the cursor is visible, preferring the left and bottom edges; True if the crop moved."""
        x, y = view.cursor[:2]
        left = _window(0, x, self.cols, view.cols)
        top = _window(view.rows - self.rows, y, self.rows, view.rows)
        moved = (left, top) != (self.left, self.top)
        self.left, self.top = left, top
        return moved

    def _row(self, view: View, y: int) -> str:
        start = f"\x1b[{y + 1};1H"
        line = view.lines[y + self.top] if y + self.top < len(view.lines) else []
        parts, used = [start], 0
        for text, style, width in _cropped(line, self.left, self.cols):
            parts.append(self._sgr[style])
            parts.append(_placed(text, width, used))
            used += width
        if used < self.cols:
            parts.append("\x1b[0m\x1b[K")
        return "".join(parts)

    def _hint_line(self, hint: str) -> str:
        text = f" {flat(hint)} "[: self.cols]
        return f"\x1b[{self.rows};1H\x1b[0;7m{text}\x1b[0m"

    def _modes(self, view: View) -> Iterator[str]:
        mouse = _MOUSE.get(view.mouse, 0)
        if mouse != self._mouse:
            if self._mouse:
                yield f"\x1b[?{self._mouse}l"
            yield f"\x1b[?1006h\x1b[?{mouse}h" if mouse else "\x1b[?1006l"
            self._mouse = mouse
        # Many hosts send arrow keys for the wheel on their alternate screen, where this is painted.
        scrolls = view.is_alternate and view.scrolls_alternate and not mouse
        if scrolls != self._scrolls:
            yield f"\x1b[?1007{'h' if scrolls else 'l'}"
            self._scrolls = scrolls

    def _cursor(self, view: View) -> str:
        x, y, is_visible, shape, is_blinking = view.cursor
        x, y = x - self.left, y - self.top
        if not (is_visible and 0 <= y < self.rows and 0 <= x <= self.cols):
            return ""
        shown = f"\x1b[{_SHAPES.get(shape, 2) - is_blinking} q"
        change, self._shape = (shown if shown != self._shape else ""), shown
        return f"{change}\x1b[{y + 1};{min(x, self.cols - 1) + 1}H\x1b[?25h"


def _window(wanted: int, at: int, size: int, total: int) -> int:
    """The start of a window into a row or column: near the wanted start, and containing the cursor."""
    return max(0, min(max(wanted, at - size + 1), at, total - size))


# ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _placed(text: str, width: int, column: int) -> str:
    """The text of a run at a column, written so that the next run is at the right place on any host."""
    text = blanked(text)
    if text.isascii():
        return text
    widths = cell_widths(text, width)
    if widths is None:
        return _clamped(text, width, column)
    parts: list[str] = []
    done = 0
    for match in _UNSURE.finditer(text):
        at = column + sum(widths[: match.start()])
        parts += (text[done : match.start()], _clamped(match[0], sum(widths[slice(*match.span())]), at))
        done = match.end()
    return "".join((*parts, text[done:]))


def _clamped(text: str, width: int, column: int) -> str:
    """Text that a host may draw too narrow or too wide: erase its cells first, and set the cursor after it."""
    blank = f"\x1b[{width}X" if width != len(text) or _JOINING.search(text) else ""
    return f"{blank}{text}\x1b[{column + width + 1}G"


def cell_widths(text: str, width: int) -> list[int] | None:
    """The width of each character; None if the widths do not add up, as for a cluster of several code points."""
    if _JOINING.search(text):
        return None
    if len(text) == width:
        return [1] * width
    widths = [2 if east_asian_width(character) in {"W", "F"} else 1 for character in text]
    if sum(widths) == width:
        return widths
    return [2] * len(text) if 2 * len(text) == width else None


def _cropped(line: list[Run], left: int, cols: int) -> Iterator[Run]:
    """The parts of the runs within a number of columns from the left one on."""
    at, end = 0, left + cols
    for run in line:
        text, style, width = run
        if at >= left and at + width <= end:
            yield run
        elif at + width > left and at < end:
            yield _cut(text, style, width, max(left - at, 0), min(end - at, width))
        at += width
        if at >= end:
            return


def _cut(text: str, style: Style | None, width: int, start: int, end: int) -> Run:
    """Cells from start to end of a run; half of a wide character becomes a blank."""
    widths = cell_widths(text, width)
    if widths is None:
        return " " * (end - start), style, end - start
    kept, at = [], 0
    for character, cells in zip(text, widths, strict=True):
        inside = min(at + cells, end) - max(at, start)
        if inside > 0:
            kept.append(character if inside == cells else " " * inside)
        at += cells
    return "".join(kept), style, end - start


# ── styles ──────────────────────────────────────────────────────────────────────────────────────────────────────


class StyleSequences(dict[Style | None, str]):
    """The sequence that sets a style, independent of what was set before."""

    def __init__(self, *, has_truecolor: bool) -> None:
        super().__init__({None: "\x1b[0m"})
        self._has_truecolor = has_truecolor

    def __missing__(self, style: Style | None) -> str:
        if style is None:
            return "\x1b[0m"
        if len(self) >= _MAX_STYLES:
            self.clear()
        foreground, background, attributes, line_color = style
        codes = ["0", *(code for bit, code in _ATTRIBUTES if attributes & bit)]
        underline = attributes >> UNDERLINE_SHIFT
        if underline:
            codes.append("4")
        codes += self._color(foreground, 30)
        codes += self._color(background, 40)
        sequence = f"\x1b[{';'.join(codes)}m"
        if underline and self._has_truecolor:
            sequence += _underline(underline, line_color)
        self[style] = sequence
        return sequence

    def _color(self, color: int, base: int) -> Iterator[str]:
        if color < 0:
            return
        if color & TRUECOLOR:
            red, green, blue = _components(color)
            if self._has_truecolor:
                yield f"{base + 8};2;{red};{green};{blue}"
                return
            color = nearest_of_256(red, green, blue)
        if color < 16:
            yield str(base + color if color < 8 else base + 60 + color - 8)
        else:
            yield f"{base + 8};5;{color}"


def _underline(kind: int, color: int) -> str:
    """Kind and color of an underline in colon form, which hosts without support skip as a whole."""
    shape = f"\x1b[4:{kind}m" if kind > 1 else ""
    if color < 0:
        return shape
    if color & TRUECOLOR:
        red, green, blue = _components(color)
        return f"{shape}\x1b[58:2::{red}:{green}:{blue}m"
    return f"{shape}\x1b[58:5:{color}m"


def _components(color: int) -> tuple[int, int, int]:
    return color >> 16 & 255, color >> 8 & 255, color & 255


def nearest_of_256(red: int, green: int, blue: int) -> int:
    """The nearest entry of the xterm palette, in its color cube or its grays."""
    steps = [min(range(6), key=lambda step: abs(_CUBE[step] - part)) for part in (red, green, blue)]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    gray = max(0, min(23, round(((red + green + blue) / 3 - 8) / 10)))
    level = 8 + 10 * gray
    to_cube = sum((_CUBE[step] - part) ** 2 for step, part in zip(steps, (red, green, blue), strict=True))
    to_gray = sum((level - part) ** 2 for part in (red, green, blue))
    return 232 + gray if to_gray < to_cube else cube
