"""Find out how many colors the host terminal has, and round colors to its 256.

Rich rounds colors by hue, which turns every dark surface into black and gray tints into blue ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, Literal

from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter

from fleet_tui.errors import UsageError
from fleet_tui.text import one_line
from fleet_tui.tui import tmux

ColorDepth = Literal["truecolor", "256", "16", "none"]
SYSTEMS: Mapping[ColorDepth, ColorSystem] = {
    "truecolor": ColorSystem.TRUECOLOR,
    "256": ColorSystem.EIGHT_BIT,
    "16": ColorSystem.STANDARD,
    "none": ColorSystem.STANDARD,
}
"""Rich's name of each depth."""

_NAMED: Mapping[str, ColorDepth] = {"truecolor": "truecolor", "256": "256", "standard": "16"}
_TRUECOLOR_TERMS = ("kitty", "ghostty", "alacritty", "foot", "wezterm", "contour", "direct")
"""Parts of TERM that mean truecolor even without COLORTERM, which ssh does not pass on."""


def of_terminal(
    environment: Mapping[str, str], ask_tmux: Callable[[Mapping[str, str]], str] | None = None
) -> ColorDepth:
    """The depth of the terminal of this environment; behind a multiplexer, what the multiplexer passes on."""
    system = environment.get("TEXTUAL_COLOR_SYSTEM", "auto")
    if system not in ("auto", *_NAMED):
        # Textual does not start with any other value, nor with an empty one.
        raise UsageError(
            f"TEXTUAL_COLOR_SYSTEM={one_line(system)} is not a color system",
            hint="unset it, or set it to auto, standard, 256 or truecolor",
        )
    if environment.get("NO_COLOR"):
        return "none"
    if environment.get("TEXTUAL_DRIVER"):
        return "truecolor"  # the browser's
    named = _NAMED.get(system)
    if named is not None:
        return named
    claimed = _claimed(environment)
    if tmux.is_around(environment):
        return _through_tmux((ask_tmux or client_of_tmux)(environment), claimed)
    if environment.get("STY") and claimed == "truecolor":
        # GNU screen takes 38;2;… for other attributes, such as blinking.
        return "256" if "256color" in environment.get("TERM", "") else "16"
    return claimed


def _claimed(environment: Mapping[str, str]) -> ColorDepth:
    if environment.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "truecolor"
    term = environment.get("TERM", "").strip().lower()
    if any(part in _TRUECOLOR_TERMS for part in term.split("-")):
        return "truecolor"
    return "256" if "256color" in term else "16"


def _through_tmux(client: str, claimed: ColorDepth) -> ColorDepth:
    """tmux rounds colors that its terminal lacks, so the depth is that of the terminal around it."""
    term, _, features = client.partition(" ")
    if not term:
        return "256" if claimed == "16" else claimed
    found = features.split(",")
    if "RGB" in found:
        return "truecolor"
    return "256" if "256" in found or _claimed({"TERM": term}) != "16" else "16"


def client_of_tmux(environment: Mapping[str, str]) -> str:
    """The TERM of the terminal around tmux, and the features that tmux knows it to have; empty if it does not say."""
    return tmux.ask(environment, "#{client_termname} #{client_termfeatures}")


def depth_of(app: App[Any]) -> ColorDepth:
    """The depth that an app paints for; apps in tests and in the browser have all colors."""
    found: ColorDepth = getattr(app, "color_depth", "truecolor")
    return found


# ── 256 colors ──────────────────────────────────────────────────────────────────────────────────────────────────

_STEPS = (0, 95, 135, 175, 215, 255)
_STEPS_NEAR = tuple(sorted(range(6), key=lambda step: abs(_STEPS[step] - value))[:2] for value in range(256))


def rgb_of(index: int) -> int:
    """The color of a palette entry. From 16 on, entries are the same in every terminal."""
    if index >= 232:
        return 0x010101 * (8 + 10 * (index - 232))
    red, green, blue = (index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6
    return _STEPS[red] << 16 | _STEPS[green] << 8 | _STEPS[blue]


@lru_cache(maxsize=8192)
def nearest(rgb: int) -> int:
    """The nearest palette entry in the color cube or among the grays."""
    red, green, blue = rgb >> 16, rgb >> 8 & 255, rgb & 255
    steps = product(_STEPS_NEAR[red], _STEPS_NEAR[green], _STEPS_NEAR[blue])
    in_cube = [16 + 36 * one + 6 * two + three for one, two, three in steps]
    gray = 232 + max(0, min(23, round(((red + green + blue) / 3 - 8) / 10)))
    return min((gray, *in_cube), key=lambda index: _distance(rgb, rgb_of(index)))


def _distance(one: int, other: int) -> int:
    """How different two colors look. A change of hue counts extra: a faded amber would become olive."""
    red, green, blue = ((one >> shift & 255) - (other >> shift & 255) for shift in (16, 8, 0))
    return 2 * red * red + 4 * green * green + 3 * blue * blue + (red - green) ** 2 + (green - blue) ** 2


def rounded(color: RichColor | None) -> RichColor | None:
    """The nearest palette entry for an RGB color; other colors stay as they are."""
    if color is None or color.triplet is None:
        return color
    red, green, blue = color.triplet
    return RichColor.from_ansi(nearest(red << 16 | green << 8 | blue))


@lru_cache(maxsize=4096)
def _rounded_style(style: Style) -> Style:
    return style + Style.from_color(rounded(style.color), rounded(style.bgcolor))


class Nearest256(LineFilter):
    """Rounds everything that widgets paint, including what a scrim blends."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, None if style is None else _rounded_style(style), control)
            for text, style, control in segments
        ]
