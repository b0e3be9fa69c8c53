"""The colors that programs in panes are painted in.

A program's default colors are those of the theme, so that a light theme in a dark terminal is light everywhere. Its sixteen
colors come from a table for dark or for light themes. Text that was chosen for the other kind of background gets enough
contrast. Themes that follow the terminal leave all of this to the host.
"""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.terminal.cells import TRUECOLOR
from fleet_tui.tui.color_depth import nearest, rgb_of

QUIET = 0.62
"""The share of its own color that dimmed text keeps; the rest is its background."""
READABLE = 3.0
"""The contrast that text with too little of it is raised to."""
LEAST_ON_DARK, LEAST_ON_LIGHT = 1.5, 2.2
"""Below this contrast, text was meant for another background; faint ornaments on dark ones have barely more."""

_DARK_TEXT = (
    0x5F6878, 0xF2777A, 0x8CCF7E, 0xE6C15C, 0x7AA7F7, 0xC792EA, 0x5FC9D6, 0xC3C9D4,
    0x7F899A, 0xFF9A9C, 0xA9E49B, 0xFFD479, 0x9DC0FF, 0xDCB1F5, 0x8BE3EC, 0xFFFFFF,
)  # fmt: skip
_DARK_FILL = (
    0x05070A, 0xB8383E, 0x3F8F46, 0xC09A2C, 0x3A62C4, 0x9A4FC0, 0x2F95A3, 0xC9CED8,
    0x4D5666, 0xE05A60, 0x6FBF63, 0xE3BF4A, 0x5C8CF0, 0xB877E0, 0x4CBCCB, 0xFFFFFF,
)  # fmt: skip
_LIGHT_TEXT = (
    0x1E2530, 0xB8303A, 0x23783A, 0x805600, 0x2A5FC9, 0x8A35A8, 0x0B6F7C, 0x3D4552,
    0x6B7280, 0xA8202C, 0x1C6B32, 0x8F5400, 0x1F52B8, 0x7440C0, 0x086F6D, 0x10151D,
)  # fmt: skip
_LIGHT_FILL = (
    0x1E2530, 0xBF3A43, 0x4E9E57, 0xC9992E, 0x3F6FD0, 0x964EB8, 0x3A9AA6, 0xD5D7DA,
    0x8B929C, 0xE0666D, 0x6FBF77, 0xE6BD55, 0x7BA2EE, 0xC088DC, 0x63BCC7, 0xFFFFFF,
)  # fmt: skip
"""The sixteen colors as text on the default background, and as a background. "White" text on a light theme is dark."""


@dataclass(frozen=True, slots=True)
class ProgramColors:
    """The colors of one theme. Fields are 0xRRGGBB; arguments are colors as a screen encodes them."""

    foreground: int
    background: int
    is_dark: bool
    is_rounded: bool = False
    """The host has 256 colors."""

    def pair(self, foreground: int, background: int, *, is_dim: bool, is_fixed: bool) -> tuple[Color, Color]:
        """The colors of a text and its background. Fixed ones are RGB and can be blended."""
        ground = self.background if background < 0 else self._rgb(background, self._fill)
        ink = self._ink(foreground, background, ground)
        if is_dim:
            ink = _blend(ground, ink, QUIET)
        return (
            self._color(ink, foreground, is_fixed=is_fixed),
            self._color(ground, background, is_fixed=is_fixed),
        )

    @property
    def _text(self) -> tuple[int, ...]:
        return _DARK_TEXT if self.is_dark else _LIGHT_TEXT

    @property
    def _fill(self) -> tuple[int, ...]:
        return _DARK_FILL if self.is_dark else _LIGHT_FILL

    def _ink(self, foreground: int, background: int, ground: int) -> int:
        if foreground < 0:
            other = self.foreground if background < 0 else self.background
            is_lost = background >= 0 and contrast(self.foreground, ground) < READABLE
            return (
                max(self.foreground, other, key=lambda ink: contrast(ink, ground))
                if is_lost
                else self.foreground
            )
        if background >= 0 and foreground >= 16:
            return self._rgb(foreground, self._text)
        if background >= 0:
            choices = {self._rgb(foreground, table) for table in (self._text, self._fill)}
            return max(choices, key=lambda ink: contrast(ink, ground))
        ink = self._rgb(foreground, self._text)
        least = LEAST_ON_DARK if self.is_dark else LEAST_ON_LIGHT
        return self._readable(ink, ground) if contrast(ink, ground) < least else ink

    def _readable(self, ink: int, ground: int) -> int:
        """Mix in as much of the theme's text color as readability needs."""
        mixed = (_blend(ink, self.foreground, part / 10) for part in range(1, 10))
        return next((one for one in mixed if contrast(one, ground) >= READABLE), self.foreground)

    def _rgb(self, color: int, sixteen: tuple[int, ...]) -> int:
        if color & TRUECOLOR:
            return color & 0xFFFFFF
        return sixteen[color] if color < 16 else rgb_of(color)

    def _color(self, rgb: int, asked: int, *, is_fixed: bool) -> Color:
        if is_fixed:
            return _fixed(rgb)
        if 16 <= asked < 256 and rgb_of(asked) == rgb:
            return _entry(asked)
        return _entry(nearest(rgb)) if self.is_rounded else _fixed(rgb)

    def underline(self, color: int) -> int:
        """The color of an underline, encoded for the host."""
        if color & TRUECOLOR or 0 <= color < 16:
            rgb = self._rgb(color, self._text)
            return nearest(rgb) if self.is_rounded else TRUECOLOR | rgb
        return color


def ink_on(background: int) -> int:
    """Black or white for default text on a color that a host with 16 colors rounds: its own text may be either."""
    if background < 16:
        return -1
    rgb = background & 0xFFFFFF if background & TRUECOLOR else rgb_of(background)
    return 15 if contrast(0xFFFFFF, rgb) > contrast(0x000000, rgb) else 0


def contrast(one: int, other: int) -> float:
    """The contrast of two colors as WCAG defines it, 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


_LINEAR = tuple(
    value / 255 / 12.92 if value <= 10 else ((value / 255 + 0.055) / 1.055) ** 2.4 for value in range(256)
)


@lru_cache(maxsize=4096)
def _luminance(rgb: int) -> float:
    return 0.2126 * _LINEAR[rgb >> 16] + 0.7152 * _LINEAR[rgb >> 8 & 255] + 0.0722 * _LINEAR[rgb & 255]


def _blend(below: int, above: int, part: float) -> int:
    mixed = 0
    for shift in (16, 8, 0):
        start, end = below >> shift & 255, above >> shift & 255
        mixed |= round(start + (end - start) * part) << shift
    return mixed


@lru_cache(maxsize=4096)
def _fixed(rgb: int) -> Color:
    return Color.from_rgb(rgb >> 16, rgb >> 8 & 255, rgb & 255)


@lru_cache(maxsize=256)
def _entry(index: int) -> Color:
    return Color.from_ansi(index)
