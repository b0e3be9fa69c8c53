"""Rows of an agent's screen as Textual strips.

The colors are the theme's (`program_colors`), or the host's: then palette entries are not turned into fixed colors, and
cells in the default colors carry no style at all. Caches are bounded. Knows no connections, keys or agents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip

from fleet_tui.terminal.ansi import cell_widths
from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute, Style
from fleet_tui.terminal.view import Run
from fleet_tui.text import blanked
from fleet_tui.tui.color_depth import ColorDepth
from fleet_tui.tui.program_colors import ProgramColors, ink_on

MAX_STYLES = 4096
DOUBLE = 2

_SYSTEM = ColorSystem.TRUECOLOR
DIM = RichStyle(dim=True)
REVERSE = RichStyle(reverse=True)
BOLD = RichStyle(bold=True)
PLAIN: Style = (-1, -1, 0, -1)

_JOINING = re.compile("[\u0300-\u036f\u200d\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
"""Characters that merge with their neighbor on hosts that support it."""


class Styles(dict[Style | None, RichStyle | None]):
    """Cache of Rich styles by screen style; dimmed for a pane without the focus, fixed for one behind a scrim."""

    def __init__(
        self,
        colors: ProgramColors | None = None,
        *,
        is_dim: bool = False,
        is_fixed: bool = False,
        depth: ColorDepth = "truecolor",
    ) -> None:
        super().__init__()
        self._colors = colors
        """None for the host's own colors."""
        self._depth = depth
        self._is_dim = is_dim
        self._is_fixed = is_fixed

    def __missing__(self, style: Style | None) -> RichStyle | None:
        if len(self) >= MAX_STYLES:
            self.clear()
        made = self[style] = self._made(style)
        return made

    def _made(self, style: Style | None) -> RichStyle | None:
        if self._colors is not None:
            return self._in_theme(self._colors, style or PLAIN)
        if style is None:
            return DIM if self._is_dim else None
        foreground, background, attributes, line_color = style
        is_dim = self._is_dim or bool(attributes & Attribute.FAINT)
        if self._depth == "none":
            return _rich_style(None, None, attributes, -1, is_dim=is_dim)
        if self._depth == "16" and foreground < 0:
            foreground = ink_on(background)
        return _rich_style(_color(foreground), _color(background), attributes, line_color, is_dim=is_dim)

    def _in_theme(self, colors: ProgramColors, style: Style) -> RichStyle:
        """Dimmed text is mixed with its background: hosts draw dim text darker, not fainter."""
        foreground, background, attributes, line_color = style
        is_dim = self._is_dim or bool(attributes & Attribute.FAINT)
        ink, ground = colors.pair(foreground, background, is_dim=is_dim, is_fixed=self._is_fixed)
        return _rich_style(ink, ground, attributes, colors.underline(line_color), is_dim=False)


class StyleSets:
    """The style caches that all panes of a dashboard share."""

    def __init__(self) -> None:
        self._colors: ProgramColors | None = None
        self._depth: ColorDepth = "truecolor"
        self._make()

    def _make(self) -> None:
        colors, depth = self._colors, self._depth
        self.plain = Styles(colors, depth=depth)
        self.quiet = Styles(colors, depth=depth, is_dim=True)
        self.covered = Styles(colors, is_fixed=True) if colors is not None else self.quiet
        """For panes behind a dialog, whose scrim can only be blended with known colors."""

    def use(self, colors: ProgramColors | None, depth: ColorDepth = "truecolor") -> None:
        """Use the colors of another theme; None for the host's own colors."""
        if (colors, depth) != (self._colors, self._depth):
            self._colors, self._depth = colors, depth
            self._make()


def _rich_style(
    foreground: Color | None, background: Color | None, attributes: int, line_color: int, *, is_dim: bool
) -> RichStyle:
    underline = attributes >> UNDERLINE_SHIFT
    made = RichStyle(
        color=foreground,
        bgcolor=background,
        bold=_on(attributes & Attribute.BOLD),
        dim=_on(is_dim),
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
    """Fit the text to exactly `cells` cells; the host may measure it differently from the program's terminal."""
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


def marked(row: Strip, start: int, end: int, *, is_bold: bool = False) -> Strip:
    """The row with the colors of the cells from start to end swapped; reversed cells become normal."""
    width = row.cell_length
    start, end = max(0, start), min(end, width)
    if start >= end:
        return row
    cells = [Segment(text, _reversed(style, is_bold)) for text, style, _ in row.crop(start, end)]
    parts = (row.crop(0, start), Strip(cells, end - start), row.crop(end, width))
    return Strip.join([part for part in parts if part.cell_length])


@lru_cache(maxsize=1024)
def _reversed(style: RichStyle | None, is_bold: bool) -> RichStyle:
    below = style or RichStyle()
    return below + RichStyle(reverse=not below.reverse, bold=is_bold or None)
