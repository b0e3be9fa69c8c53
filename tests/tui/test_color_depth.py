"""How many colors the host has, and what the dashboard paints with so many."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from fleet_tui.config.kinds import THEMES
from fleet_tui.errors import UsageError
from fleet_tui.terminal.cells import TRUECOLOR
from fleet_tui.tui import themes
from fleet_tui.tui.color_depth import ColorDepth, Nearest256, nearest, of_terminal, rgb_of
from fleet_tui.tui.panes.painting import StyleSets
from fleet_tui.tui.widgets.lines import RoleStyles

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("environment", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "truecolor"),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "truecolor"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "xterm-kitty"}, "truecolor"),
        ({"TERM": "xterm-direct"}, "truecolor"),
        ({"TERM": "xterm-16color"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({"TERM": "screen"}, "16"),
        ({"TERM": "dumb"}, "16"),
        ({}, "16"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256"),
        ({"TERM": "dumb", "TEXTUAL_COLOR_SYSTEM": "truecolor"}, "truecolor"),
        ({"TERM": "dumb", "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, "truecolor"),
        ({"TERM": "screen-256color", "COLORTERM": "truecolor", "STY": "1.pts-0"}, "256"),
    ],
)
def test_the_environment_says_how_many_colors_there_are(
    environment: dict[str, str], depth: ColorDepth
) -> None:
    assert of_terminal(environment) == depth


@pytest.mark.parametrize("named", ["", "16", "TRUECOLOR"])
def test_an_unknown_color_system_is_refused_with_the_known_ones(named: str) -> None:
    environment = {"TERM": "xterm-256color", "NO_COLOR": "1", "TEXTUAL_COLOR_SYSTEM": named}
    with pytest.raises(UsageError, match=r"auto, standard, 256 or truecolor"):
        of_terminal(environment)


@pytest.mark.parametrize(
    ("client", "claimed", "depth"),
    [
        ("xterm-256color RGB,title", "truecolor", "truecolor"),
        ("xterm-256color title", "truecolor", "256"),
        ("xterm 256,title", "", "256"),
        ("linux bpaste,title", "truecolor", "16"),
        ("", "truecolor", "truecolor"),
        ("", "", "256"),
    ],
)
def test_tmux_shows_what_its_terminal_has(client: str, claimed: str, depth: ColorDepth) -> None:
    environment = {"TERM": "screen", "COLORTERM": claimed, "TMUX": "/tmp/tmux,1,0"}
    assert of_terminal(environment, lambda _: client) == depth


def test_an_entry_of_the_256_is_its_own_nearest() -> None:
    assert [nearest(rgb_of(index)) for index in range(16, 256)] == list(range(16, 256))


def test_a_faded_amber_is_brown_and_a_dark_surface_gray() -> None:
    assert (nearest(0x71510B), nearest(0x1A202C)) == (94, 235)


def test_widgets_are_rounded_and_what_the_host_chooses_is_not() -> None:
    segments = [
        Segment("a", Style.parse("#1a202c on #0f131a")),
        Segment("b", Style.parse("red")),
        Segment("c"),
    ]
    done = Nearest256().apply(segments, Color.parse("black"))
    first, second = done[0].style, done[1].style
    assert first is not None
    assert first.color is not None
    assert first.bgcolor is not None
    assert (first.color.number, first.bgcolor.number) == (235, 233)
    assert (second, done[2].style) == (Style.parse("red"), None)


@pytest.mark.parametrize("theme", themes.ours("256"), ids=lambda theme: theme.name)
def test_every_color_of_a_theme_for_256_is_one_of_them(theme: Theme) -> None:
    named = (
        "background",
        "surface",
        "panel",
        "foreground",
        "primary",
        "secondary",
        "accent",
        "success",
        "warning",
    )
    values = {name: getattr(theme, name) for name in named} | theme.variables
    for name, value in values.items():
        for color in value.split():
            red, green, blue = Color.parse(color).rgb
            rgb = red << 16 | green << 8 | blue
            assert rgb_of(nearest(rgb)) == rgb, f"{name} {color}"
    assert len({values[name] for name in ("background", "surface", "panel", "sel")}) == 4


def test_old_samples_fade_in_steps_of_one_hue_on_256_colors() -> None:
    ink = RoleStyles(themes.ours("256")[0].variables, is_ansi=False)
    shown = [ink(f"primary {part}%", Style()).color for part in (35, 55, 70, 90, 100)]
    assert [color and color.name for color in shown] == [
        "#5f5f87",
        "#5f87af",
        "#5f87d7",
        "#87afff",
        "#87afff",
    ]


def test_without_colors_programs_have_none_either() -> None:
    sets = StyleSets()
    sets.use(None, "none")
    style = sets.plain[TRUECOLOR | 0xFF0000, 4, 1, -1]
    assert style is not None
    assert (style.color, style.bgcolor, style.bold) == (None, None, True)


def test_default_text_on_a_bar_is_readable_when_sixteen_colors_round_the_bar() -> None:
    sets = StyleSets()
    sets.use(None, "16")
    shown = [sets.plain[-1, background, 0, -1] for background in (237, 253, TRUECOLOR | 0x102030, 4)]
    assert [style and style.color and style.color.number for style in shown] == [15, 0, 15, None]


def test_the_configuration_knows_every_theme() -> None:
    assert sorted(THEMES) == sorted({*BUILTIN_THEMES, *(theme.name for theme in themes.OURS)})
