"""Our two themes for each color depth, and the color roles of every theme, mixed from its own colors.

A role has a meaning (LIST is muted, what needs the user is a warning); no other module names a color.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from fleet_tui.tui.color_depth import ColorDepth
from fleet_tui.tui.program_colors import ProgramColors

DARK = Theme(
    name="fleet-dark",
    dark=True,
    primary="#7aa7f7",
    secondary="#b79bf5",
    accent="#4fd1c5",
    success="#8ccf7e",
    warning="#f0b429",
    error="#f2777a",
    foreground="#d7dce5",
    background="#0f131a",
    surface="#141923",
    panel="#1a202c",
    variables={
        "text-primary": "#7aa7f7",
        "text-secondary": "#b79bf5",
        "text-accent": "#4fd1c5",
        "text-success": "#8ccf7e",
        "text-warning": "#f0b429",
        "text-error": "#f2777a",
    },
)
LIGHT = Theme(
    name="fleet-light",
    dark=False,
    primary="#2a5fc9",
    secondary="#7440c0",
    accent="#086f6d",
    success="#23783a",
    warning="#8f5400",
    error="#b8303a",
    foreground="#1e2530",
    background="#fbfbf9",
    surface="#f4f4f1",
    panel="#ecece7",
    variables={
        "text-primary": "#2a5fc9",
        "text-secondary": "#7440c0",
        "text-accent": "#086f6d",
        "text-success": "#23783a",
        "text-warning": "#8f5400",
        "text-error": "#b8303a",
    },
)
OURS = (DARK, LIGHT)

_DARK_256 = Theme(
    name=DARK.name,
    dark=True,
    primary="#87afff",
    secondary="#af87ff",
    accent="#5fd7d7",
    success="#87d787",
    warning="#ffaf00",
    error="#ff8787",
    foreground="#dadada",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    variables={
        "text-primary": "#87afff",
        "text-secondary": "#af87ff",
        "text-accent": "#5fd7d7",
        "text-success": "#87d787",
        "text-warning": "#ffaf00",
        "text-error": "#ff8787",
        "muted": "#a8a8a8",
        "faint": "#6c6c6c",
        "rule": "#3a3a3a",
        "rule-strong": "#8a8a8a",
        "here": "#5fafaf",
        "sel": "#3a3a3a",
        "mark": "#262626",
        "field": "#303030",
        "track": "#444444",
        "note-bg": "#1c1c1c",
        "add-bg": "#262626",
        "del-bg": "#262626",
        "add-word": "#005f00",
        "del-word": "#5f0000",
        "text-primary-past": "#5f5f87 #5f87af #5f87d7 #87afff",
    },
)
_LIGHT_256 = Theme(
    name=LIGHT.name,
    dark=False,
    primary="#005fd7",
    secondary="#8700af",
    accent="#005f5f",
    success="#008700",
    warning="#875f00",
    error="#af0000",
    foreground="#262626",
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    variables={
        "text-primary": "#005fd7",
        "text-secondary": "#8700af",
        "text-accent": "#005f5f",
        "text-success": "#005f00",
        "text-warning": "#875f00",
        "text-error": "#af0000",
        "muted": "#585858",
        "faint": "#8a8a8a",
        "rule": "#d0d0d0",
        "rule-strong": "#808080",
        "here": "#008787",
        "sel": "#dadada",
        "mark": "#eeeeee",
        "field": "#e4e4e4",
        "track": "#d0d0d0",
        "note-bg": "#eeeeee",
        "add-bg": "#d7ffd7",
        "del-bg": "#ffd7d7",
        "add-word": "#afd7af",
        "del-word": "#ffafaf",
        "text-primary-past": "#afd7ff #87afff #5f87ff #005fd7",
    },
)
"""Every value is one of the 256 colors, chosen by eye: rounding would turn all surfaces of our themes into one black, and
their tints into gray or blue. `past` has the faded colors of a graph, the oldest first."""


def ours(depth: ColorDepth) -> tuple[Theme, ...]:
    """Our themes, under their usual names, for a host of this color depth."""
    if depth == "256":
        return _DARK_256, _LIGHT_256
    if depth == "truecolor":
        return OURS
    return (
        # In many terminals, plain blue on black is hardly readable.
        replace(_ansi("ansi-dark"), name=DARK.name, primary="ansi_bright_blue"),
        replace(_ansi("ansi-light"), name=LIGHT.name),
    )


def _ansi(name: str) -> Theme:
    return BUILTIN_THEMES[name]


_ANSI = {
    "muted": "ansi_default",
    "faint": "ansi_bright_black",
    "rule": "ansi_bright_black",
    "rule-strong": "ansi_default",
    "here": "ansi_green",
    "sel": "ansi_default",
    "field": "ansi_default",
    "track": "ansi_bright_black",
    "mark": "ansi_default",
    **dict.fromkeys(("note-bg", "add-bg", "del-bg", "add-word", "del-word"), "ansi_default"),
}


def roles(theme: Theme) -> dict[str, str]:
    """The variables that our stylesheets use beyond Textual's own."""
    if theme.ansi:
        return _ANSI | {"here": theme.accent or "ansi_green"}
    return dict(_mixed(theme.name, _key(theme)))


def program_colors(theme: Theme, depth: ColorDepth) -> ProgramColors | None:
    """The colors for programs in panes; None if the theme follows the host."""
    if theme.ansi:
        return None
    (background, foreground, *_), is_dark = _key(theme)
    return ProgramColors(_rgb(foreground), _rgb(background), is_dark, is_rounded=depth == "256")


def cursor_color(theme: Theme, depth: ColorDepth) -> str:
    """A visible color for the cursor; empty if the theme follows the host."""
    colors = program_colors(theme, depth)
    return f"#{colors.foreground:06x}" if colors is not None and depth in ("truecolor", "256") else ""


def _rgb(value: str) -> int:
    red, green, blue = Color.parse(value).rgb
    return red << 16 | green << 8 | blue


def _key(theme: Theme) -> tuple[tuple[str, ...], bool]:
    """The colors that others are mixed from."""
    colors = theme.to_color_system().generate()
    return tuple(
        colors[name] for name in ("background", "foreground", "accent", "success", "error")
    ), theme.dark


@lru_cache(maxsize=32)
def _mixed(_name: str, key: tuple[tuple[str, ...], bool]) -> tuple[tuple[str, str], ...]:
    background, foreground, accent, success, error = map(Color.parse, key[0])
    is_dark = key[1]

    def mix(color: Color, dark: float, light: float) -> str:
        return background.blend(color, dark if is_dark else light).hex

    return (
        ("muted", mix(foreground, 0.66, 0.74)),
        ("faint", mix(foreground, 0.40, 0.52)),
        ("rule", mix(foreground, 0.17, 0.20)),
        ("rule-strong", mix(foreground, 0.52, 0.52)),
        ("here", mix(accent, 0.60, 0.80)),
        ("sel", mix(accent, 0.15, 0.12)),
        ("mark", mix(accent, 0.07, 0.06)),
        ("field", mix(foreground, 0.075, 0.075)),
        ("track", mix(foreground, 0.13, 0.13)),
        ("note-bg", mix(accent, 0.07, 0.07)),
        ("add-bg", mix(success, 0.13, 0.12)),
        ("del-bg", mix(error, 0.13, 0.12)),
        ("add-word", mix(success, 0.34, 0.28)),
        ("del-word", mix(error, 0.36, 0.28)),
    )
