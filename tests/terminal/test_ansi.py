"""Drawing a mirrored screen on a host terminal, here a second emulator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.terminal.ansi import Painter, StyleSequences, nearest_of_256
from fleet_tui.terminal.cells import TRUECOLOR
from fleet_tui.terminal.emulator import Screen
from fleet_tui.terminal.view import Run, View
from tests.terminal.host_terminal import merged

pytestmark = pytest.mark.pure

COLS, ROWS = 20, 5
LETTERS = st.sampled_from([*"ab 1é─█π", "你", "好", "🚀", "ｗ"])
CLUSTERS = st.sampled_from(["e\u0301", "👨‍👩‍👧", "🇩🇪", "❤️", "👍🏽"])
STYLES = st.sampled_from(
    [
        "0",
        "1;31",
        "0;7",
        "4",
        "0;38;5;208",
        "48;2;1;2;3",
        "0;9;3",
        "0;4:3;58:2::9:8:7",
        "53",
        "0;2;5;8",
        "97;101",
    ]
)
PIECES = st.one_of(LETTERS, CLUSTERS, STYLES.map(lambda codes: f"\x1b[{codes}m"), st.just("\r\n"))


def view_of(screen: Screen) -> View:
    screen.update()
    cursor = screen.cursor
    return View(
        cols=screen.cols,
        rows=screen.rows,
        lines=[list(screen.row(y)) for y in range(screen.rows)],
        cursor=(cursor.x, cursor.y, cursor.visible, cursor.shape, cursor.blink),
    )


def screen_with(text: str, cols: int = COLS, rows: int = ROWS) -> Screen:
    screen = Screen(cols, rows, scrollback=1000)
    screen.feed(b"\x1b[?2027h" + text.encode())
    return screen


def host(cols: int = COLS, rows: int = ROWS) -> Screen:
    screen = Screen(cols, rows, scrollback=1000)
    screen.feed(b"\x1b[?2027h\x1b[?7l" + b"old text everywhere " * 40)
    return screen


def cells(screen: Screen) -> list[object]:
    screen.update()
    return [merged(screen.row(y)) for y in range(screen.rows)]


@given(st.lists(PIECES, max_size=60), st.lists(PIECES, max_size=20))
def test_the_host_shows_the_same_cells_after_each_frame(first: list[str], then: list[str]) -> None:
    agent, shown = screen_with("".join(first)), host()
    painter = Painter(COLS, ROWS, has_truecolor=True)
    shown.feed(painter.frame(view_of(agent), range(ROWS)))
    assert cells(shown) == cells(agent)

    agent.feed(("".join(then)).encode())
    changed = agent.update()
    shown.feed(painter.frame(view_of(agent), changed))

    assert cells(shown) == cells(agent)
    assert (shown.cursor.x, shown.cursor.y) == (agent.cursor.x, agent.cursor.y)


def test_a_host_that_measures_otherwise_shows_what_follows_in_its_place() -> None:
    agent, shown = screen_with("a👨‍👩‍👧bc│❤️de│e\u0301f│"), host()
    shown.feed(b"\x1b[?2027l")

    shown.feed(Painter(COLS, ROWS, has_truecolor=True).frame(view_of(agent), range(ROWS)))

    assert agent.text()[0] == "a👨‍👩‍👧bc│❤️de│e\u0301f│"
    shown.update()
    columns: dict[str, int] = {}
    at = 0
    for text, _, width in shown.row(0):
        columns |= {character: at + x for x, character in enumerate(text)} if len(text) == width else {}
        at += width
    assert {character: columns.get(character) for character in "bcdef"} == {
        "b": 3,
        "c": 4,
        "d": 8,
        "e": 9,
        "f": 12,
    }
    assert "old" not in shown.text()[0]


@given(st.lists(st.one_of(LETTERS, st.just("\r\n")), max_size=120), st.integers(0, 29), st.integers(0, 9))
def test_a_crop_shows_the_cursor_and_the_cells_around_it(letters: list[str], x: int, y: int) -> None:
    agent, shown = screen_with("".join(letters), 30, 10), host(12, 4)
    agent.feed(f"\x1b[{y + 1};{x + 1}H".encode())
    painter = Painter(12, 4, has_truecolor=True)

    shown.feed(painter.frame(view_of(agent), ()))

    left, top = painter.left, painter.top
    assert left <= x < left + 12
    assert top <= y < top + 4
    assert (shown.cursor.x, shown.cursor.y) == (x - left, y - top)
    expected = [grid(view_of(agent).lines[row], 30)[left : left + 12] for row in range(top, top + 4)]
    assert [grid(line, 12) for line in view_of(shown).lines] == [whole(row) for row in expected]


def grid(line: list[Run], cols: int) -> list[str]:
    """One entry a cell; the second half of a wide character is empty."""
    out: list[str] = []
    for character in "".join(text for text, _, _ in line):
        out += [character, ""] if character in "你好🚀ｗ" else [character]
    return out + [" "] * (cols - len(out))


def whole(row: list[str]) -> list[str]:
    """Halves of wide characters at the edges are blank."""
    row = [" " if character == "" and x == 0 else character for x, character in enumerate(row)]
    return [*row[:-1], " "] if row[-1] in {*"你好🚀ｗ"} else row


def test_no_control_character_of_a_run_reaches_the_host() -> None:
    line: list[Run] = [("a\x1b]0;x\x07b\x9b31m", None, 12), ("é\x1bc", None, 3)]
    view = View(cols=COLS, rows=ROWS, lines=[line, [], [], [], []])

    painted = Painter(COLS, ROWS, has_truecolor=True).frame(view, range(ROWS)).decode()

    assert "a ]0;x b 31m" in painted
    assert "\x1bc" not in painted
    assert "\x07" not in painted


def test_no_control_character_of_a_hint_reaches_the_host() -> None:
    """It has the agent's name in it."""
    painter = Painter(COLS, ROWS, has_truecolor=True)
    painted = painter.frame(view_of(Screen(COLS, ROWS)), (), "to a\x1b[2J\x9b\u202eb\n").decode()

    assert "to a�[2J�b" in painted
    assert not any(part in painted for part in ("\x1b[2J", "\x9b", "\u202e", "\n"))


def test_a_frame_without_changes_moves_the_cursor_and_paints_no_row() -> None:
    view = view_of(screen_with("some text"))
    painter = Painter(COLS, ROWS, has_truecolor=True)
    painter.frame(view, range(ROWS))

    frame = painter.frame(view, ())

    assert frame == b"\x1b[?2026h\x1b[?25l\x1b[1;10H\x1b[?25h\x1b[?2026l"


def test_a_hint_covers_the_last_row_and_gives_it_back() -> None:
    agent, shown = screen_with("one\r\ntwo\r\n\r\n\r\nlast"), host()
    painter = Painter(COLS, ROWS, has_truecolor=True)

    shown.feed(painter.frame(view_of(agent), (), "a hint that is far too long"))
    assert shown.text()[ROWS - 1] == " a hint that is far "[:COLS].rstrip()
    shown.feed(painter.frame(view_of(agent), ()))

    assert cells(shown) == cells(agent)


@pytest.mark.parametrize(
    ("style", "truecolor", "palette"),
    [
        ((1, -1, 0, -1), "\x1b[0;31m", "\x1b[0;31m"),
        ((9, 15, 0, -1), "\x1b[0;91;107m", "\x1b[0;91;107m"),
        ((208, 16, 1, -1), "\x1b[0;1;38;5;208;48;5;16m", "\x1b[0;1;38;5;208;48;5;16m"),
        ((TRUECOLOR | 0xFF0000, -1, 0, -1), "\x1b[0;38;2;255;0;0m", "\x1b[0;38;5;196m"),
        ((-1, -1, 3 << 8, 5), "\x1b[0;4m\x1b[4:3m\x1b[58:5:5m", "\x1b[0;4m"),
    ],
)
def test_a_style_is_set_in_the_colors_the_host_has(
    style: tuple[int, int, int, int], truecolor: str, palette: str
) -> None:
    assert StyleSequences(has_truecolor=True)[style] == truecolor
    assert StyleSequences(has_truecolor=False)[style] == palette


@pytest.mark.parametrize(
    ("color", "nearest"),
    [((0, 0, 0), 16), ((255, 255, 255), 231), ((8, 8, 8), 232), ((128, 128, 128), 244), ((95, 135, 175), 67)],
)
def test_the_nearest_of_256_colors_is_found_among_cube_and_greys(
    color: tuple[int, int, int], nearest: int
) -> None:
    assert nearest_of_256(*color) == nearest
