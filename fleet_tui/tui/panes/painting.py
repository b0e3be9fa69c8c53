"""Rows of an agent's screen as Textual strips.

Keeps the program's own colors: palette entries are not turned into fixed colors, and cells in the terminal's default
colors carry no style at all. Caches are bounded. Knows no connections, keys or agents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style as RichStyle
from rich.terminal_theme import TerminalTheme
from textual.strip import Strip

from fleet_tui.terminal.ansi import cell_widths
from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute, Style
from fleet_tui.terminal.view import Run
from fleet_tui.text import blanked

MAX_STYLES = 4096
DOUBLE = 2

_SYSTEM = ColorSystem.TRUECOLOR
DIM = RichStyle(dim=True)
REVERSE = RichStyle(reverse=True)
MARKED = RichStyle(reverse=True, bold=True)

_JOINING = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
"""Characters that merge with their neighbor on hosts that support it."""


class Styles(dict[Style | None, RichStyle | None]):
    """Cache of Rich styles by screen style; all dimmed for a pane that is not typed into."""

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
    """The same with fixed colors: a scrim cannot be blended with colors that the host chooses."""

    def __init__(self, foreground: Color, palette: TerminalTheme) -> None:
        super().__init__()
        self._foreground = foreground
        self._palette = palette

    def __missing__(self, style: Style | None) -> RichStyle | None:
        chosen = super().__missing__(style) or RichStyle()
        color = self._fixed(chosen.color, is_text=True) or self._foreground
        made = chosen + RichStyle.from_color(color, self._fixed(chosen.bgcolor, is_text=False))
        self[style] = made
        return made

    def _fixed(self, color: Color | None, *, is_text: bool) -> Color | None:
        if color is None or color.is_default:
            return None
        return Color.from_triplet(color.get_truecolor(self._palette, foreground=is_text))


class StyleSets:
    """The style caches that all panes of a dashboard share."""

    def __init__(self) -> None:
        self.plain = Styles()
        self.quiet = Styles(is_dim=True)
        self._covered: tuple[Color, TerminalTheme, Styles] | None = None

    def covered(self, foreground: Color, palette: TerminalTheme) -> Styles:
        """For panes behind a dialog, in the colors of the present theme."""
        if self._covered is None or self._covered[:2] != (foreground, palette):
            self._covered = (foreground, palette, FixedStyles(foreground, palette))
        return self._covered[2]


def _rich_style(style: Style, *, is_dim: bool) -> RichStyle:
    foreground, background, attributes, line_color = style
    underline = attributes >> UNDERLINE_SHIFT
    made = RichStyle(
        color=_color(foreground),
        bgcolor=_color(background),
        bold=_on(attributes & Attribute.BOLD),
        dim=_on(attributes & Attribute.FAINT or is_dim),
        italic=_on(attributes & Attribute.ITALIC),
        underline=_on(underline and underline != DOUBLE),
        underline2=_on(underline == DOUBLE),
        blink=_on(attributes & Attribute.BLINK),
        reverse=_on(attributes & Attribute.INVERSE),
        conceal=_on(attributes & Attribute.INVISIBLE),
        strike=_on(attributes & Attribute.STRIKE),
        overline=_on(attributes & Attribute.OVERLINE),
    )
    if underline > DOUBLE or (underline and line_color >= 0):
        _draw_underline(made, underline, line_color)
    return made


def _on(value: int) -> bool | None:
    return True if value else None


def _color(color: int) -> Color | None:
    if color < 0:
        return None
    if color & TRUECOLOR:
        return Color.from_rgb(color >> 16 & 255, color >> 8 & 255, color & 255)
    return Color.from_ansi(color)


def _draw_underline(style: RichStyle, kind: int, color: int) -> None:
    """Rich has no curly, dotted or colored underlines; a host without them ignores the codes."""
    codes = [part for part in (RichStyle._make_ansi_codes(style, _SYSTEM),) if part]
    if kind > DOUBLE:
        codes.append(f"4:{kind}")
    if color >= 0:
        codes.append(_underline_color(color))
    style._ansi = ";".join(codes)


def _underline_color(color: int) -> str:
    if color & TRUECOLOR:
        return f"58:2::{color >> 16 & 255}:{color >> 8 & 255}:{color & 255}"
    return f"58:5:{color}"


# ── rows ────────────────────────────────────────────────────────────────────────────────────────────────────────


def strip(runs: Sequence[Run], left: int, width: int, styles: Styles, *, draws_clusters: bool) -> Strip:
    """Render the cells of a row from `left` on, exactly `width` of them."""
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
    """The text in exactly so many cells; the host may measure it differently from the program's terminal."""
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
