"""What programs in panes are painted in, in themes that do not follow the terminal."""

from __future__ import annotations

import pytest
from rich.console import Console

from fleet_tui.terminal.cells import TRUECOLOR, Attribute
from fleet_tui.tui.panes.painting import Styles, marked, strip
from fleet_tui.tui.program_colors import ProgramColors, contrast

pytestmark = pytest.mark.pure


def test_behind_a_scrim_every_color_is_a_known_one() -> None:
    styles = Styles(ProgramColors(0xD7DCE5, 0x0F131A, True), is_fixed=True)
    shown = [styles[one] for one in (None, (1, -1, 0, -1), (-1, 4, 0, -1), (240, 100, 0, -1))]
    colors = [color for style in shown if style is not None for color in (style.color, style.bgcolor)]
    assert len(colors) == 8
    assert all(color is not None and color.triplet is not None for color in colors)


def test_cells_without_colors_are_painted_in_the_themes_own() -> None:
    light = Styles(ProgramColors(0x1E2530, 0xFBFBF9, False))
    row = strip([("ab", None, 2)], 0, 4, light, draws_clusters=True)
    painted = "\x1b[38;2;30;37;48;48;2;251;251;249m"
    assert row.render(Console(color_system="truecolor")) == f"{painted}ab\x1b[0m{painted}  \x1b[0m"


@pytest.mark.parametrize(
    ("is_dark", "foreground", "background"), [(False, 0x1E2530, 0xFBFBF9), (True, 0xD7DCE5, 0x0F131A)]
)
def test_the_sixteen_colors_are_readable_on_every_background_they_are_usual_on(
    is_dark: bool, foreground: int, background: int
) -> None:
    """On the default one, and as black or white on a colored bar."""
    colors = ProgramColors(foreground, background, is_dark)

    def of(text: int, below: int) -> float:
        ink, ground = colors.pair(text, below, is_dim=False, is_fixed=True)
        one, other = (color.get_truecolor() for color in (ink, ground))
        return contrast(*(part.red << 16 | part.green << 8 | part.blue for part in (one, other)))

    assert min(of(text, -1) for text in range(1, 16)) >= 4.2
    assert of(0, -1) >= 3
    assert min(of(-1, below) for below in range(16)) >= 3, "default text on a bar"
    assert min(of(0, bar) for bar in (2, 3, 6, 7, 10, 11, 14, 15)) >= 4.5
    assert min(of(text, bar) for text in (7, 15) for bar in (0, 1, 4, 5)) >= 3


@pytest.mark.parametrize("text", [0xFFFFFF, 0xFFFF00, 0xB1B9F9, 0xE0E0E0])
def test_text_for_a_dark_terminal_is_readable_in_a_light_theme(text: int) -> None:
    colors = ProgramColors(0x1E2530, 0xFBFBF9, False)
    shown = colors.pair(TRUECOLOR | text, -1, is_dim=False, is_fixed=True)[0].get_truecolor()
    assert contrast(shown.red << 16 | shown.green << 8 | shown.blue, 0xFBFBF9) >= 3


def test_colors_that_a_program_chose_for_each_other_are_left_alone() -> None:
    colors = ProgramColors(0x1E2530, 0xFBFBF9, False)
    ink, ground = colors.pair(TRUECOLOR | 0x445566, TRUECOLOR | 0x3A4A5A, is_dim=False, is_fixed=False)
    assert (ink.triplet, ground.triplet) == ((0x44, 0x55, 0x66), (0x3A, 0x4A, 0x5A))


def test_what_is_selected_shows_also_where_the_program_reverses() -> None:
    row = strip([("ab", (-1, -1, Attribute.INVERSE, -1), 2)], 0, 3, Styles(), draws_clusters=True)
    chosen = marked(row, 1, 3)
    assert [(segment.text, bool(segment.style and segment.style.reverse)) for segment in chosen] == [
        ("a", True),
        ("b", False),
        (" ", True),
    ]
