"""Two themes of ours, and the roles that every theme gets, mixed from its own colors.

Roles carry meaning (LIST is muted, what needs a person is warning); no other module names a color.
"""

from __future__ import annotations

from functools import lru_cache

from textual.color import Color
from textual.theme import Theme

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
}


def roles(theme: Theme) -> dict[str, str]:
    """The variables that our stylesheets use beyond Textual's own."""
    if theme.ansi:
        return _ANSI | {"here": theme.accent or "ansi_green"}
    return dict(_mixed(theme.name, _key(theme)))


def _key(theme: Theme) -> tuple[str, str, str, bool]:
    colors = theme.to_color_system().generate()
    return colors["background"], colors["foreground"], colors["accent"], theme.dark


@lru_cache(maxsize=32)
def _mixed(_name: str, key: tuple[str, str, str, bool]) -> tuple[tuple[str, str], ...]:
    background, foreground, accent = (Color.parse(value) for value in key[:3])
    is_dark = key[3]

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
    )
