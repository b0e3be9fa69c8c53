"""Rows of a mirrored screen as Textual's strips, and panes painted together.

Colours stay the program's own: palette entries are not turned into fixed colours, and cells in the terminal's
default colours carry no style at all. Caches are bounded. Knows nothing of sessions, keys or agents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.terminal_theme import TerminalTheme
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from fleet_tui.cells import (
    BLINK,
    BOLD,
    FAINT,
    INVERSE,
    INVISIBLE,
    ITALIC,
    OVERLINE,
    STRIKE,
    TRUECOLOR,
    UNDERLINE_SHIFT,
)
from fleet_tui.paint import cell_widths
from fleet_tui.session import Run, Style
from fleet_tui.text import blanked

MAX_STYLES = 4096
DOUBLE = 2

_SYSTEM = ColorSystem.TRUECOLOR
DIM = RichStyle(dim=True)
REVERSE = RichStyle(reverse=True)
MARKED = RichStyle(reverse=True, bold=True)

_JOINING = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
"""Characters that become one with a neighbour, on hosts that know how."""


class Styles(dict[Style | None, RichStyle | None]):
    """Rich's style for each of a screen's; all of them dimmed, for a pane that is to stand back."""

    def __init__(self, *, is_dim: bool = False) -> None:
        super().__init__()
        self._is_dim = is_dim
        self._none = DIM if is_dim else None

    def __missing__(self, style: Style | None) -> RichStyle | None:
        if len(self) >= MAX_STYLES:
            self.clear()
        made = self._none if style is None else _rich_style(style, is_dim=self._is_dim)
        self[style] = made
        return made


class FixedStyles(Styles):
    """The same in colours that are known: a scrim cannot be mixed with what the host is to choose."""

    def __init__(self, foreground: Color, palette: TerminalTheme) -> None:
        super().__init__()
        self._foreground = foreground
        self._palette = palette

    def __missing__(self, style: Style | None) -> RichStyle | None:
        chosen = super().__missing__(style) or RichStyle()
        colour = self._fixed(chosen.color, is_text=True) or self._foreground
        made = chosen + RichStyle.from_color(colour, self._fixed(chosen.bgcolor, is_text=False))
        self[style] = made
        return made

    def _fixed(self, colour: Color | None, *, is_text: bool) -> Color | None:
        if colour is None or colour.is_default:
            return None
        return Color.from_triplet(colour.get_truecolor(self._palette, foreground=is_text))


def _rich_style(style: Style, *, is_dim: bool) -> RichStyle:
    foreground, background, attributes, line_colour = style
    underline = attributes >> UNDERLINE_SHIFT
    made = RichStyle(
        color=_colour(foreground),
        bgcolor=_colour(background),
        bold=_on(attributes & BOLD),
        dim=_on(attributes & FAINT or is_dim),
        italic=_on(attributes & ITALIC),
        underline=_on(underline and underline != DOUBLE),
        underline2=_on(underline == DOUBLE),
        blink=_on(attributes & BLINK),
        reverse=_on(attributes & INVERSE),
        conceal=_on(attributes & INVISIBLE),
        strike=_on(attributes & STRIKE),
        overline=_on(attributes & OVERLINE),
    )
    if underline > DOUBLE or (underline and line_colour >= 0):
        _draw_underline(made, underline, line_colour)
    return made


def _on(value: int) -> bool | None:
    return True if value else None


def _colour(colour: int) -> Color | None:
    if colour < 0:
        return None
    if colour & TRUECOLOR:
        return Color.from_rgb(colour >> 16 & 255, colour >> 8 & 255, colour & 255)
    return Color.from_ansi(colour)


def _draw_underline(style: RichStyle, kind: int, colour: int) -> None:
    """Curly, dotted and coloured underlines do not exist in Rich; a host that knows none of them skips the codes."""
    codes = [part for part in (RichStyle._make_ansi_codes(style, _SYSTEM),) if part]
    if kind > DOUBLE:
        codes.append(f"4:{kind}")
    if colour >= 0:
        codes.append(_underline_colour(colour))
    style._ansi = ";".join(codes)


def _underline_colour(colour: int) -> str:
    if colour & TRUECOLOR:
        return f"58:2::{colour >> 16 & 255}:{colour >> 8 & 255}:{colour & 255}"
    return f"58:5:{colour}"


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────


def strip(runs: Sequence[Run], left: int, width: int, styles: Styles, *, draws_clusters: bool) -> Strip:
    """The cells of a row from `left` on, exactly `width` of them."""
    segments: list[Segment] = []
    cells = 0
    for text, style, run_cells in runs:
        if not (text.isascii() and text.isprintable()):
            text = fitted(text, run_cells, draws_clusters)
        segments.append(Segment(text, styles[style]))
        cells += run_cells
    if cells < left + width:
        segments.append(Segment(" " * (left + width - cells), styles[None]))
        cells = left + width
    row = Strip(segments, cells)
    return row if cells == width else row.crop(left, left + width)


@lru_cache(maxsize=8192)
def fitted(text: str, cells: int, draws_clusters: bool) -> str:
    """The text in exactly so many cells, on a host that may give it another width than the program's terminal."""
    text = blanked(text)
    is_cluster = _JOINING.search(text) is not None
    if cell_len(text) == cells and (draws_clusters or not is_cluster):
        return text
    widths = cell_widths(text, cells)
    if widths is None:
        return _padded(text[:1], cells)
    return "".join(_padded(character, width) for character, width in zip(text, widths, strict=True))


def _padded(character: str, cells: int) -> str:
    spare = cells - cell_len(character)
    return character + " " * spare if spare >= 0 else " " * cells


def marked(row: Strip, start: int, end: int, style: RichStyle = REVERSE) -> Strip:
    """The row with the cells from start up to end in another style."""
    width = row.cell_length
    start, end = max(0, start), min(end, width)
    if start >= end:
        return row
    parts = (row.crop(0, start), row.crop(start, end).apply_style(style), row.crop(end, width))
    return Strip.join([part for part in parts if part.cell_length])


# ── painting ────────────────────────────────────────────────────────────────────────────────────────────────────


def paint_rows(screen: Screen[object], panes: Iterable[tuple[Widget, Iterable[int]]]) -> None:
    """Have these rows of these widgets painted now, in one pass over the screen.

    What `refresh` does through several messages and a timer, which a key's echo has no time for.
    """
    for pane, rows in panes:
        width = pane.size.width
        pane._set_dirty(*(Region(0, y, width, 1) for y in rows))
        screen._dirty_widgets.add(pane)
    screen._on_timer_update()
