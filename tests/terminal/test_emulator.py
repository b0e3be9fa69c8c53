"""The emulated screen: what programs draw, query and report, and what they get when a user types."""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.terminal.cells import TRUECOLOR, UNDERLINE_SHIFT, Attribute
from fleet_tui.terminal.emulator import (
    Bell,
    Clipboard,
    Cursor,
    Notification,
    ProgramStatus,
    ProgressBar,
    Row,
    Screen,
    Style,
    Title,
)
from fleet_tui.terminal.emulator.native import ffi, lib
from fleet_tui.terminal.input_events import KeyEvent, MouseEvent
from tests.places import RECORDINGS

pytestmark = pytest.mark.pure

PROGRAMS = RECORDINGS / "programs"
NAMES = sorted(path.stem for path in PROGRAMS.glob("*.bin"))


def recording(name: str) -> bytes:
    return (PROGRAMS / f"{name}.bin").read_bytes()


def feed_in_pieces(screen: Screen, data: bytes, seed: int) -> None:
    chance = random.Random(seed)
    at = 0
    while at < len(data):
        size = chance.choice((1, 2, 3, 7, 40, 500, 4096))
        screen.feed(data[at : at + size])
        at += size


def shown(screen: Screen) -> list[str]:
    screen.update()
    return [plain(screen.row(y)) for y in range(screen.rows)]


def plain(row: Row) -> str:
    return "".join(text for text, _, _ in row).rstrip()


def numbered(first: int, last: int) -> bytes:
    return b"".join(b"line %d\r\n" % index for index in range(first, last))


def names(first: int, last: int) -> list[str]:
    return [f"line {index}" for index in range(first, last)]


# -- rows


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_recorded_program_looks_as_in_xterm_however_its_output_is_cut(name: str, seed: int) -> None:
    expected = json.loads((PROGRAMS / f"{name}.xterm.json").read_text())
    screen = Screen(120, 40)

    feed_in_pieces(screen, recording(name), seed)

    assert shown(screen) == [row.rstrip() for row in expected["rows"]]
    assert screen.text() == shown(screen)
    assert (screen.cursor.x, screen.cursor.y) == (expected["cx"], expected["cy"])


Cells = list[tuple[str, Style | None]]


def cells_one_by_one(screen: Screen) -> list[Cells]:
    """The screen by the emulator's own calls for each single cell: slow, and with no arithmetic of ours."""
    state = ffi.new("GhosttyRenderState*")
    rows = ffi.new("GhosttyRenderStateRowIterator*")
    cells = ffi.new("GhosttyRenderStateRowCells*")
    lib.ghostty_render_state_new(ffi.NULL, state)
    lib.ghostty_render_state_row_iterator_new(ffi.NULL, rows)
    lib.ghostty_render_state_row_cells_new(ffi.NULL, cells)
    lib.ghostty_render_state_update(state[0], screen._terminal)
    lib.ghostty_render_state_get(state[0], lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, rows)
    found = []
    while lib.ghostty_render_state_row_iterator_next(rows[0]):
        lib.ghostty_render_state_row_get(rows[0], lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS, cells)
        row = []
        while lib.ghostty_render_state_row_cells_next(cells[0]):
            row += one_cell(cells[0])
        while row and row[-1] == (" ", None):
            row.pop()
        found.append(row)
    lib.ghostty_render_state_row_cells_free(cells[0])
    lib.ghostty_render_state_row_iterator_free(rows[0])
    lib.ghostty_render_state_free(state[0])
    return found


def one_cell(cells: object) -> Cells:
    raw, wide, tag = ffi.new("GhosttyCell*"), ffi.new("GhosttyCellWide*"), ffi.new("GhosttyCellContentTag*")
    style, length = ffi.new("GhosttyStyle*"), ffi.new("uint32_t*")
    style.size = ffi.sizeof("GhosttyStyle")
    lib.ghostty_render_state_row_cells_get(cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_RAW, raw)
    lib.ghostty_cell_get(raw[0], lib.GHOSTTY_CELL_DATA_WIDE, wide)
    lib.ghostty_cell_get(raw[0], lib.GHOSTTY_CELL_DATA_CONTENT_TAG, tag)
    if wide[0] == lib.GHOSTTY_CELL_WIDE_SPACER_TAIL:
        return []
    if tag[0] == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE:
        index = ffi.new("GhosttyColorPaletteIndex*")
        lib.ghostty_cell_get(raw[0], lib.GHOSTTY_CELL_DATA_COLOR_PALETTE, index)
        return [(" ", (-1, index[0], 0, -1))]
    if tag[0] == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_RGB:
        rgb = ffi.new("GhosttyColorRgb*")
        lib.ghostty_cell_get(raw[0], lib.GHOSTTY_CELL_DATA_COLOR_RGB, rgb)
        return [(" ", (-1, TRUECOLOR | rgb.r << 16 | rgb.g << 8 | rgb.b, 0, -1))]
    lib.ghostty_render_state_row_cells_get(
        cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_LEN, length
    )
    points = ffi.new("uint32_t[]", max(length[0], 1))
    lib.ghostty_render_state_row_cells_get(
        cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_GRAPHEMES_BUF, points
    )
    text = "".join(map(chr, points[0 : length[0]])).replace("\0", " ") or " "
    lib.ghostty_render_state_row_cells_get(cells, lib.GHOSTTY_RENDER_STATE_ROW_CELLS_DATA_STYLE, style)
    return [(text, style_of(style))]


def style_of(style: object) -> Style | None:
    def color(value: object) -> int:
        palette, rgb = value.value.palette, value.value.rgb  # type: ignore[attr-defined] # a C structure
        kinds = (-1, palette, TRUECOLOR | rgb.r << 16 | rgb.g << 8 | rgb.b)
        return int(kinds[value.tag])  # type: ignore[attr-defined] # a C structure

    flags = ("bold", "faint", "italic", "blink", "inverse", "invisible", "strikethrough", "overline")
    attributes = sum(getattr(style, flag) << bit for bit, flag in enumerate(flags))
    attributes |= getattr(style, "underline") << UNDERLINE_SHIFT  # noqa: B009 # a C structure has no typed fields
    colors = [color(getattr(style, f"{part}_color")) for part in ("fg", "bg", "underline")]
    found = (colors[0], colors[1], attributes, colors[2])
    return None if found == (-1, -1, 0, -1) else found


def characters(texts: Iterable[tuple[str, Style | None]]) -> Cells:
    return [(character, style) for text, style in texts for character in text]


@pytest.mark.parametrize("name", [*(pytest.param(name, marks=pytest.mark.slow) for name in NAMES), "unicode"])
def test_rows_hold_the_same_cells_as_the_emulator_gives_one_by_one(name: str) -> None:
    screen = Screen(120, 40)
    colorful = (
        "\x1b[48;5;9m\x1b[2J\x1b[1;3;4:3;58;5;3mstyled\x1b[0m漢字 e\u0301 👩‍💻 ❤️ \x1b[48;2;1;2;3m\x1b[K\r\n"
    )
    data = colorful.encode() * 3 if name == "unicode" else recording(name)
    for start in range(0, len(data), 7000):
        screen.feed(data[start : start + 7000])
        screen.update()

        ours = [characters((text, style) for text, style, _ in screen.row(y)) for y in range(40)]
        assert ours == [characters(row) for row in cells_one_by_one(screen)]


def test_runs_carry_style_and_width() -> None:
    screen = Screen(40, 3)

    screen.feed(b"a\x1b[1;31mred\x1b[0;3;4;48;2;1;2;3mx\x1b[0;7m inv\x1b[0m z   ")
    screen.update()

    assert screen.row(0) == [
        ("a", None, 1),
        ("red", (1, -1, Attribute.BOLD, -1), 3),
        ("x", (-1, TRUECOLOR | 0x010203, Attribute.ITALIC | 1 << UNDERLINE_SHIFT, -1), 1),
        (" inv", (-1, -1, Attribute.INVERSE, -1), 4),
        (" z", None, 2),
    ]


def test_a_cluster_of_code_points_is_a_run_of_its_own() -> None:
    screen = Screen(40, 3)

    screen.feed("漢👩‍💻xe\u0301y".encode())
    screen.update()

    assert screen.row(0) == [
        ("漢", None, 2),
        ("👩‍💻", None, 2),
        ("x", None, 1),
        ("e\u0301", None, 1),
        ("y", None, 1),
    ]


def test_a_cluster_without_end_is_cut() -> None:
    screen = Screen(40, 3)

    screen.feed(("a" + "\u0301" * 5000).encode())
    screen.update()

    assert len(screen.row(0)) == 1
    assert len(screen.row(0)[0][0]) <= 32


def test_a_wide_character_that_does_not_fit_leaves_a_blank_cell() -> None:
    screen = Screen(11, 3)

    screen.feed("漢字仮名交x文".encode())
    screen.update()

    assert screen.row(0) == [("漢字仮名交x", None, 11)]
    screen.feed("\x1b[H\x1b[2J漢字仮名交文\x1b[1;31m".encode())
    screen.update()
    assert screen.row(0) == [("漢字仮名交", None, 10)]
    assert screen.row(1) == [("文", None, 2)]


def test_cells_with_nothing_but_a_background_keep_it() -> None:
    screen = Screen(12, 3)

    screen.feed(b"\x1b[44mab\x1b[K\x1b[0m\r\n\x1b[48;2;9;8;7m\x1b[K")
    screen.update()

    blank = (-1, 4, 0, -1)
    assert screen.row(0) == [("ab", blank, 2), (" " * 10, blank, 10)]
    assert screen.row(1) == [(" " * 12, (-1, TRUECOLOR | 0x090807, 0, -1), 12)]


def test_styles_stay_right_when_there_are_more_than_are_remembered() -> None:
    screen = Screen(100, 60)

    for offset in (0, 6000):
        colors = [offset + index for index in range(6000)]
        screen.feed(b"\x1b[H" + b"".join(b"\x1b[38;2;0;%d;%dmx" % divmod(color, 256) for color in colors))
        screen.update()

        painted = [style[0] & 0xFFFF for y in range(60) for _, style, _ in screen.row(y) if style]
        assert painted == colors


# -- damage


def test_only_rows_that_look_different_are_reported() -> None:
    screen = Screen(40, 10)
    assert screen.update() == list(range(10))
    assert screen.update() == []

    screen.feed(b"\x1b[3;1Hx\x1b[6;1Hy")
    assert screen.update() == [2, 5]

    screen.feed(b"\x1b[8;1H")  # the cursor alone
    assert screen.update() == []
    screen.feed(b"\x1b[3;1Hx")  # the same again
    assert screen.update() == []
    screen.feed(b"\x1b[3;1H\x1b[31mx")  # another color
    assert screen.update() == [2]


def test_reading_cursor_history_or_text_hides_no_damage() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 50))
    screen.update()

    screen.feed(b"\x1b[2;1Hchanged")
    screen.cursor, screen.text(), screen.history(0, 20), screen.search("line")  # for what they do
    screen.take_scrolled_lines(100)
    screen.compress()

    assert screen.update() == [1]
    assert plain(screen.row(1)).startswith("changed")
    screen.history(10, 5)
    assert screen.update() == []


def test_a_resize_reports_every_row() -> None:
    screen = Screen(40, 5)
    screen.update()

    screen.resize(30, 7)

    assert screen.update() == list(range(7))
    screen.resize(30, 7)
    assert screen.update() == []


@pytest.mark.parametrize("sequence", [b"\x1b[?5h", b"\x1b]4;1;rgb:11/22/33\x07"])
def test_a_change_of_all_colors_reports_every_row(sequence: bytes) -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x1b[31mred\x1b[0m")
    screen.update()

    screen.feed(sequence)

    assert screen.update() == list(range(5))
    assert screen.update() == []


def test_a_palette_entry_that_the_program_redefined_is_shown_as_its_color() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x1b[31mred\x1b]4;1;rgb:11/22/33\x07")
    screen.update()
    assert screen.row(0) == [("red", (TRUECOLOR | 0x112233, -1, 0, -1), 3)]

    screen.feed(b"\x1b]104;1\x07")
    screen.update()
    assert screen.row(0) == [("red", (1, -1, 0, -1), 3)]


@pytest.mark.parametrize("name", NAMES)
def test_reported_rows_are_all_that_changed_in_a_recording(name: str) -> None:
    screen = Screen(120, 40)
    before = [screen.row(y) for y in range(40)]
    screen.update()
    for start in range(0, len(recording(name)), 700):
        screen.feed(recording(name)[start : start + 700])
        changed = screen.update()
        after = [screen.row(y) for y in range(40)]

        assert changed == [y for y in range(40) if before[y] != after[y]]
        before = after


# -- what may come in, in any pieces

PIECES = st.sampled_from(
    [
        b"text ",
        "漢字👩‍💻".encode(),
        b"\r\n",
        b"\x1b[31m",
        b"\x1b[H",
        b"\x1b[2J",
        b"\x1b[3J",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[5;1H\x1b[2L",
        b"\x1b[K",
        b"\x1b]0;title\x07",
        b"\x1b[6n",
        b"\x1b[2;4r",
        b"\x1b[r",
        b"\n" * 30,
        b"x" * 90,
    ]
)


@given(pieces=st.lists(PIECES, max_size=40), cuts=st.lists(st.integers(0, 2000), max_size=12))
def test_the_screen_does_not_depend_on_how_output_was_cut(pieces: list[bytes], cuts: list[int]) -> None:
    data = b"".join(pieces)
    whole, cut = Screen(40, 8), Screen(40, 8)

    whole.feed(data)
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        cut.feed(data[start:end])
        cut.update()

    assert shown(cut) == shown(whole)
    assert cut.text() == whole.text()
    assert cut.cursor == whole.cursor
    assert cut.take_replies() == whole.take_replies()
    assert cut.take_notes() == whole.take_notes()
    assert cut.take_scrolled_lines(9999) == whole.take_scrolled_lines(9999)


@given(steps=st.lists(PIECES | st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=40))
def test_resizes_at_any_moment_leave_rows_within_bounds(steps: list[bytes | tuple[int, int]]) -> None:
    screen = Screen(40, 8)
    for step in steps:
        if isinstance(step, bytes):
            screen.feed(step)
        else:
            screen.resize(*step)
        assert all(0 <= y < screen.rows for y in screen.update())
        screen.take_scrolled_lines(5)

    assert all(sum(width for _, _, width in screen.row(y)) <= screen.cols for y in range(screen.rows))
    assert len(screen.text()) == screen.rows
    assert 0 <= screen.cursor.x < screen.cols
    assert 0 <= screen.cursor.y < screen.rows
    assert len(screen.history(0, 9999)) == screen.history_size


def test_a_size_too_small_for_the_emulator_is_raised() -> None:
    screen = Screen(1, 1)
    assert (screen.cols, screen.rows) == (10, 3)
    screen.resize(0, 0)
    assert (screen.cols, screen.rows) == (10, 3)
    assert len(screen.text()) == 3


# -- cursor and modes


def test_the_cursor_is_shown_as_the_program_wants_it() -> None:
    screen = Screen(40, 5)
    assert screen.cursor == Cursor(0, 0, visible=True, shape="block", blink=False)

    screen.feed(b"ab\r\nc\x1b[5 q\x1b[?25l")
    assert screen.cursor == Cursor(1, 1, visible=False, shape="bar", blink=True)
    screen.feed(b"\x1b[4 q\x1b[?25h")
    assert screen.cursor == Cursor(1, 1, visible=True, shape="underline", blink=False)


@pytest.mark.parametrize(
    ("sequence", "field", "value"),
    [
        (b"\x1b[?1049h", "alternate", True),
        (b"\x1b[?2004h", "bracketed_paste", True),
        (b"\x1b[?1004h", "focus_events", True),
        (b"\x1b[?9h", "mouse", "x10"),
        (b"\x1b[?1000h", "mouse", "normal"),
        (b"\x1b[?1002h", "mouse", "button"),
        (b"\x1b[?1003h", "mouse", "any"),
        (b"\x1b[>5u", "kitty_flags", 5),
        (b"\x1b[?1007l", "alternate_scroll", False),
    ],
)
def test_a_mode_is_known_as_soon_as_it_is_set(sequence: bytes, field: str, value: object) -> None:
    screen = Screen(40, 5)
    assert getattr(screen.modes, field) != value

    screen.feed(sequence)

    assert getattr(screen.modes, field) == value


def test_a_synchronized_frame_is_announced_while_it_lasts() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x1b[?2026hhalf")
    assert screen.is_holding
    screen.feed(b"whole\x1b[?2026l")
    assert not screen.is_holding


# -- questions of the program


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (b"\x1b[c", b"\x1b[?62;22c"),
        (b"\x1b[>c", b"\x1b[>1;0;0c"),
        (b"\x1b[5n", b"\x1b[0n"),
        (b"ab\r\nc\x1b[6n", b"\x1b[2;2R"),
        (b"\x1b[>q", b"\x1bP>|fleet-tui\x1b\\"),
        (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
        (b"\x1b[?2026h\x1b[?2026$p", b"\x1b[?2026;1$y"),
        (b"\x1b[?2027$p", b"\x1b[?2027;1$y"),
        (b"\x1b[?9999$p", b"\x1b[?9999;0$y"),
        (b"\x1b[?u", b"\x1b[?0u"),
        (b"\x1b[>5u\x1b[?u", b"\x1b[?5u"),
        (b"\x1b]10;?\x07", b"\x1b]10;rgb:0101/0202/0303\x07"),
        (b"\x1b]11;?\x1b\\", b"\x1b]11;rgb:0404/0505/0606\x1b\\"),
        (b"\x1b]12;?\x07", b"\x1b]12;rgb:0101/0202/0303\x07"),
        (b"\x1b]4;1;?\x07", b"\x1b]4;1;rgb:cccc/6666/6666\x07"),
        (b"\x1b[14t", b"\x1b[4;384;640t"),
        (b"\x1b[16t", b"\x1b[6;16;8t"),
        (b"\x1b[18t", b"\x1b[8;24;80t"),
        (b"\x1bP$qm\x1b\\", b"\x1bP1$r0m\x1b\\"),
        (b"\x1b]7501;?\x07", b"\x1b]7501;?\x07"),
        (b"\x1b]7501;?\x1b\\", b"\x1b]7501;?\x1b\\"),
        (b"\x1b[?u\x1b]7501;?\x07\x1b[c", b"\x1b[?0u\x1b]7501;?\x07\x1b[?62;22c"),
        (b"\x1b]52;c;?\x07", b""),
        (b"\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\", b""),
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_a_question_is_answered(question: bytes, answer: bytes, is_cut: bool) -> None:
    screen = Screen(80, 24, foreground=(1, 2, 3), background=(4, 5, 6))

    for piece in [question[i : i + 1] for i in range(len(question))] if is_cut else [question]:
        screen.feed(piece)

    assert screen.take_replies() == answer
    assert screen.take_replies() == b""


def test_the_reported_size_is_the_one_after_a_resize() -> None:
    screen = Screen(80, 24)
    screen.resize(100, 30)
    screen.feed(b"\x1b[18t\x1b[14t")
    assert screen.take_replies() == b"\x1b[8;30;100t\x1b[4;480;800t"


# -- notes


@pytest.mark.parametrize(
    ("output", "note"),
    [
        (b"\x07", Bell()),
        (b"\x1b]0;a title\x07", Title("a title")),
        ("\x1b]2;✳ Ünïcode\x1b\\".encode(), Title("✳ Ünïcode")),
        (b"\x1b]9;done\x07", Notification("", "done")),
        (b"\x1b]777;notify;who;what\x07", Notification("who", "what")),
        (b"\x1b]9;4;1;50\x07", ProgressBar("normal", 50)),
        (b"\x1b]9;4;0\x07", ProgressBar("none", None)),
        (b"\x1b]9;4;3\x07", ProgressBar("indeterminate", None)),
        (b"\x1b]52;c;aGVsbG8=\x07", Clipboard("hello")),
        (b"\x1b]7501;state=idle:app=codex\x07", ProgramStatus("state=idle:app=codex")),
        (b"\x1b]7501;state=done\x1b\\", ProgramStatus("state=done")),
    ],
)
def test_each_note_of_a_program_is_taken_once(output: bytes, note: object) -> None:
    screen = Screen(40, 5)

    screen.feed(output[:4])
    screen.feed(output[4:])

    assert screen.take_notes() == [note]
    assert screen.take_notes() == []
    assert screen.text() == [""] * 5


def test_the_title_is_the_last_one_set() -> None:
    screen = Screen(40, 5)
    assert screen.title == ""
    screen.feed(b"\x1b]0;one\x07\x1b]0;two\x07")
    assert screen.title == "two"
    assert screen.take_notes() == [Title("two")]


def test_a_flood_of_notes_is_bounded() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x07" * 5000)
    assert screen.take_notes() == [Bell()]
    screen.feed(b"".join(b"\x1b]9;%d\x07" % index for index in range(5000)))
    notes = screen.take_notes()
    assert len(notes) == 1000
    assert notes[-1] == Notification("", "4999")


def test_a_status_report_of_absurd_length_is_ignored() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x1b]7501;state=idle:msg=" + b"x" * 100_000 + b"\x07\x1b]7501;state=done\x07")
    assert screen.take_notes() == [ProgramStatus("state=done")]


# -- history


def test_history_keeps_text_and_style_and_leaves_the_screen_where_it_was() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\x1b[31mred\x1b[0m\r\n" + numbered(1, 30))
    before = shown(screen)

    assert screen.history_size == 26
    assert screen.history(0, 1) == [[("red", (1, -1, 0, -1), 3)]]
    assert [plain(row) for row in screen.history(1, 999)] == names(1, 26)
    assert [plain(row) for row in screen.history(10, 7)] == names(10, 17)
    assert screen.history(26, 5) == []
    assert screen.history(-5, 6) == screen.history(0, 6)
    assert shown(screen) == before
    screen.feed(b"more")
    assert screen.text()[4] == "more"


def test_history_at_its_limit_keeps_the_newest_rows() -> None:
    screen = Screen(80, 24, scrollback=2000)
    screen.feed(numbered(0, 6000))

    size = screen.history_size
    kept = [plain(row) for row in screen.history(0, size)]

    assert 1000 < size <= 2000
    assert kept == names(5977 - size, 5977)


def test_the_default_scrollback_is_ten_thousand_rows() -> None:
    screen = Screen(80, 24)
    screen.feed(numbered(0, 10_000))
    assert screen.history_size == 9977


def _colorful(rows: int) -> bytes:
    """Rows in which every word has a color of its own, which takes the emulator several times the memory."""
    words = (f"\x1b[38;2;{n % 256};{n // 256 % 256};{n % 7}mword" for n in range(rows * 12))
    return b"".join("".join(next(words) for _ in range(12)).encode() + b"\x1b[m\r\n" for _ in range(rows))


@pytest.mark.parametrize("cols", [120, *(pytest.param(cols, marks=pytest.mark.slow) for cols in (60, 250))])
def test_the_scrollback_is_as_deep_as_asked_for_whatever_is_in_its_rows(cols: int) -> None:
    screen = Screen(cols, 24, scrollback=4000)
    screen.feed(numbered(0, 6000))
    for data in (_colorful(8000), numbered(0, 20_000), _colorful(8000)):
        for start in range(0, len(data), 65536):
            screen.feed(data[start : start + 65536])
            assert 3000 < screen.history_size <= 5000

        assert screen.history_size > 3500


@pytest.mark.skipif(sys.platform != "linux", reason="counts page faults as Linux does")
def test_rows_that_are_dropped_leave_their_memory_to_the_rows_that_come() -> None:
    screen = Screen(120, 40)
    data = numbered(0, 20_000)
    screen.feed(data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        screen.feed(data)

    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 2000


def test_history_survives_compression() -> None:
    screen = Screen(80, 24)
    screen.feed(b"\x1b[31mred\x1b[0m\r\n" + numbered(1, 9000))
    before = screen.history(0, 100)

    screen.compress()

    assert screen.history(0, 100) == before
    assert screen.take_scrolled_lines(10_000) == (["red", *names(1, 8977)], 0)
    screen.feed(numbered(9000, 9100))
    assert plain(screen.history(8999, 1)[0]) == "line 8999"


def test_the_alternate_screen_has_no_history() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 30) + b"\x1b[?1049h")
    assert screen.history_size == 0
    assert screen.history(0, 10) == []
    screen.feed(b"\x1b[?1049l")
    assert screen.history_size == 26


def test_search_finds_places_in_history_and_screen() -> None:
    screen = Screen(20, 5)
    screen.feed(b"a Needle here\r\n" + numbered(1, 20) + b"needle and 0123456789need" + b"le")
    bottom = screen.history_size + 4

    assert screen.search("needle") == [(0, 2, 6), (bottom - 1, 0, 6), (bottom, 1, 6)]
    assert screen.search("absent") == []
    assert screen.search("") == []


def test_selected_text_joins_wrapped_rows() -> None:
    screen = Screen(10, 5)
    screen.feed(b"one\r\n" + b"0123456789abcdef\r\nlast\r\n" + numbered(0, 9))

    assert screen.select((0, 0), (3, 9)) == "one\n0123456789abcdef\nlast"
    assert screen.select((1, 5), (2, 2)) == "56789abc"
    assert screen.select((2, 2), (1, 5)) == "56789abc"
    assert screen.select((-4, 0), (0, 999)) == "one"
    assert screen.select((500, 0), (600, 1)) == ""


# -- lines that scroll off


def test_a_line_is_taken_once_when_it_has_left_the_screen() -> None:
    screen = Screen(40, 5)
    assert screen.take_scrolled_lines(100) == ([], 0)
    screen.feed(numbered(0, 10))
    assert screen.take_scrolled_lines(100) == (names(0, 6), 0)
    assert screen.take_scrolled_lines(100) == ([], 0)
    screen.feed(numbered(10, 12))
    assert screen.take_scrolled_lines(100) == (names(6, 8), 0)


def test_no_more_lines_are_taken_than_asked_for() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 30))
    taken = [screen.take_scrolled_lines(10)[0] for _ in range(4)]
    assert taken == [names(0, 10), names(10, 20), names(20, 26), []]


def test_a_wrapped_line_is_taken_whole_when_all_of_it_has_left() -> None:
    screen = Screen(40, 5)
    screen.feed(b"before\r\n" + b"x" * 300)
    assert screen.take_scrolled_lines(100) == (["before"], 0)
    screen.feed(b"\r\n" + numbered(0, 4))
    assert screen.take_scrolled_lines(100) == (["x" * 300], 0)


def test_a_line_longer_than_the_limit_is_taken_whole() -> None:
    screen = Screen(10, 5)
    screen.feed(b"x" * 300 + b"\r\n" + numbered(0, 10))
    assert screen.take_scrolled_lines(3) == (["x" * 300], 0)
    assert screen.take_scrolled_lines(3) == (names(0, 3), 0)


def test_a_line_without_end_is_taken_in_parts_and_nothing_of_it_twice() -> None:
    screen = Screen(10, 5)
    text = "".join(f"{index:09}." for index in range(3000))
    taken: list[str] = []
    for start in range(0, len(text), 4000):
        screen.feed(text[start : start + 4000].encode())
        taken += screen.take_scrolled_lines(500)[0]
    screen.feed(b"\r\n" * 10 + b"end\r\n" * 5)
    for _ in range(5):
        taken += screen.take_scrolled_lines(5000)[0]

    assert "".join(taken).removesuffix("end") == text


def test_blank_lines_are_kept_between_others() -> None:
    screen = Screen(40, 5)
    taken = []
    for piece in (b"a\r\n\r\n\r\n", b"\r\n\r\n\r\n", b"\r\nb\r\n", numbered(0, 6)):
        screen.feed(piece)
        taken += screen.take_scrolled_lines(100)[0]
    assert taken == ["a", "", "", "", "", "", "", "b", "line 0", "line 1"]


def test_more_blank_lines_than_asked_for_do_not_stop_what_follows() -> None:
    screen = Screen(40, 5)
    screen.feed(b"\r\n" * 100 + numbered(0, 10))
    taken = [line for _ in range(12) for line in screen.take_scrolled_lines(10)[0]]
    assert taken == [""] * 100 + names(0, 6)


def test_lines_are_taken_without_a_gap_when_the_scrollback_is_full() -> None:
    screen = Screen(80, 24, scrollback=2000)
    taken: list[str] = []
    for first in range(0, 9000, 150):
        screen.feed(numbered(first, first + 150))
        lines, lost = screen.take_scrolled_lines(10_000)
        assert lost == 0
        taken += lines
    assert taken == names(0, 8977)


def test_lines_dropped_by_the_scrollback_are_counted() -> None:
    screen = Screen(80, 24, scrollback=2000)
    for first in (0, 8000):
        for start in range(first, first + 8000, 500):
            screen.feed(numbered(start, start + 500))
        lines, lost = screen.take_scrolled_lines(10_000)

        assert lines[-1] == f"line {first + 7976}"
        assert abs(len(lines) + lost - 8000) <= 24
        assert lost >= 5750  # an eighth more than asked for may be kept


def test_no_line_is_lost_of_a_burst_in_as_many_colors_as_cells() -> None:
    screen = Screen(80, 24, scrollback=10_000)
    seen = 0
    for burst in range(2):
        rows = (
            "".join(f"\x1b[38;2;{(row * 7 + col) % 256};{col};{row % 256}mx" for col in range(79))
            for row in range(burst * 2000, burst * 2000 + 2000)
        )
        data = "\x1b[0m\r\n".join([*rows, ""]).encode()
        for start in range(0, len(data), 1 << 16):
            screen.feed(data[start : start + (1 << 16)])
        lines, lost = screen.take_scrolled_lines(10_000)
        assert lost == 0
        seen += len(lines)

    assert seen == 2 * 2000 - 23


@pytest.mark.parametrize("sequence", [b"\x1b[3J", b"\x1bc", b"\x1b[?1049h", b"\x1b[?47h", b"\x1b[?25;1047h"])
@pytest.mark.parametrize("cut", [0, 1, 3])
def test_lines_are_not_lost_to_what_takes_the_history_away(sequence: bytes, cut: int) -> None:
    screen = Screen(40, 5)
    data = numbered(0, 20) + sequence
    screen.feed(data[: len(data) - cut])
    screen.feed(data[len(data) - cut :])
    assert screen.take_scrolled_lines(100) == (names(0, 16), 0)


def test_lines_erased_repeatedly_before_they_are_taken_are_counted() -> None:
    screen = Screen(40, 5, scrollback=1000)
    for _ in range(5):
        screen.feed(numbered(0, 400) + b"\x1b[2J\x1b[3J\x1b[H")
    lines, lost = screen.take_scrolled_lines(10_000)
    assert len(lines) == 1000
    assert abs(len(lines) + lost - 2000) <= 25


def test_lines_after_the_scrollback_was_erased_are_taken_from_the_first() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 20))
    assert screen.take_scrolled_lines(100) == (names(0, 16), 0)
    screen.feed(b"\x1b[3J" + numbered(20, 24))
    assert screen.take_scrolled_lines(100) == (names(16, 20), 0)
    screen.feed(b"\x1b[2J\x1b[3J\x1b[H" + numbered(30, 36))
    assert screen.take_scrolled_lines(100)[0][-2:] == names(30, 32)


def test_lines_after_a_reset_are_taken_from_the_first() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 20))
    screen.take_scrolled_lines(100)
    screen.feed(b"\x1bc" + numbered(50, 60))
    assert screen.take_scrolled_lines(100) == (names(50, 56), 0)


@pytest.mark.parametrize("size", [(20, 5), (80, 5), (40, 3), (40, 12), (13, 9), (90, 30)])
def test_lines_are_taken_once_across_a_resize(size: tuple[int, int]) -> None:
    screen = Screen(40, 6)
    long = [f"{index} " + "word" * 15 for index in range(40)]
    screen.feed("\r\n".join(long[:20]).encode() + b"\r\n")
    taken, _ = screen.take_scrolled_lines(100)
    screen.resize(*size)
    taken += screen.take_scrolled_lines(100)[0]
    screen.resize(40, 6)
    screen.feed("\r\n".join(long[20:]).encode() + b"\r\n" * 6 + b".\r\n" * 6)
    taken += screen.take_scrolled_lines(100)[0]

    assert taken[:40] == long


def test_programs_on_the_alternate_screen_scroll_nothing_off() -> None:
    screen = Screen(40, 5)
    screen.feed(numbered(0, 10))
    screen.take_scrolled_lines(100)
    screen.feed(b"\x1b[?1049h" + numbered(0, 100))
    assert screen.take_scrolled_lines(100) == ([], 0)
    screen.feed(b"\x1b[?1049l" + numbered(10, 12))
    assert screen.take_scrolled_lines(100) == (names(6, 8), 0)


# -- keys


def key(name: str, text: str = "", *, mods: str = "", base: str = "", action: str = "press") -> KeyEvent:
    return KeyEvent.from_wire([name, text, "s" in mods, "a" in mods, "c" in mods, "m" in mods, action, base])


LEGACY = [
    (key("a", "a"), b"a"),
    (key("A", "A"), b"A"),
    (key("a", "A", mods="s"), b"A"),
    (key("?", "?"), b"?"),
    (key("space", " "), b" "),
    (key("space", mods="s"), b" "),
    (key("é", "é"), "é".encode()),
    (key("", "привет 你好"), "привет 你好".encode()),
    (key("a", "a", action="repeat"), b"a"),
    (key("a", "a", action="release"), b""),
    (key("up", action="release"), b""),
    (key("enter"), b"\r"),
    (key("enter", mods="a"), b"\x1b\r"),
    (key("enter", mods="s"), b"\x1b\r"),
    (key("enter", mods="c"), b"\r"),
    (key("tab"), b"\t"),
    (key("tab", mods="s"), b"\x1b[Z"),
    (key("tab", mods="c"), b"\t"),
    (key("escape"), b"\x1b"),
    (key("escape", mods="a"), b"\x1b\x1b"),
    (key("backspace"), b"\x7f"),
    (key("backspace", mods="c"), b"\x08"),
    (key("backspace", mods="a"), b"\x1b\x7f"),
    *((key(chr(96 + code), mods="c"), bytes([code])) for code in range(1, 27)),
    *((key(chr(96 + code), mods="ca"), b"\x1b" + bytes([code])) for code in range(1, 27)),
    *((key(chr(96 + code), mods="cs"), bytes([code])) for code in range(1, 27)),
    *((key(character, mods="c"), bytes([27 + index])) for index, character in enumerate("[\\]^_")),
    *((key(character, mods="c"), bytes([27 + index])) for index, character in enumerate("34567")),
    (key("space", mods="c"), b"\0"),
    (key("@", mods="c"), b"\0"),
    (key("2", mods="c"), b"\0"),
    (key("8", mods="c"), b"\x7f"),
    (key("/", mods="c"), b"\x1f"),
    (key("1", mods="c"), b"1"),
    (key("=", mods="c"), b"="),
    *(
        (key(chr(code), mods="a"), b"\x1b" + bytes([code]))
        for code in range(33, 127)
        if not chr(code).isupper()
    ),
    *((key(chr(code), chr(code), mods="as"), b"\x1b" + bytes([code])) for code in range(65, 91)),
    (key("с", mods="c", base="c"), b"\x03"),
    (key("и", mods="a", base="b"), b"\x1bb"),
    (key("с", "с", base="c"), "с".encode()),
    *(
        (key(name), b"\x1b[" + final)
        for name, final in zip(("up", "down", "right", "left"), (b"A", b"B", b"C", b"D"), strict=True)
    ),
    (key("home"), b"\x1b[H"),
    (key("end"), b"\x1b[F"),
    (key("insert"), b"\x1b[2~"),
    (key("delete"), b"\x1b[3~"),
    (key("pageup"), b"\x1b[5~"),
    (key("pagedown"), b"\x1b[6~"),
    (key("up", mods="s"), b"\x1b[1;2A"),
    (key("left", mods="a"), b"\x1b[1;3D"),
    (key("up", mods="c"), b"\x1b[1;5A"),
    (key("right", mods="cs"), b"\x1b[1;6C"),
    (key("home", mods="s"), b"\x1b[1;2H"),
    (key("delete", mods="c"), b"\x1b[3;5~"),
    (key("pageup", mods="s"), b"\x1b[5;2~"),
    *((key(f"f{index + 1}"), b"\x1bO" + bytes([80 + index])) for index in range(4)),
    *(
        (key(f"f{name}"), b"\x1b[%d~" % code)
        for name, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
    ),
    (key("f1", mods="s"), b"\x1b[1;2P"),
    (key("f5", mods="c"), b"\x1b[15;5~"),
    (key("f12", mods="as"), b"\x1b[24;4~"),
    (key("kp_5"), b"5"),
    (key("kp_add"), b"+"),
    (key("kp_enter"), b"\r"),
    (key("no such key"), b""),
]
APPLICATION = [
    (key("up"), b"\x1bOA"),
    (key("home"), b"\x1bOH"),
    (key("up", mods="c"), b"\x1b[1;5A"),
    (key("enter"), b"\r"),
    (key("kp_5"), b"5"),
]
KITTY = [
    (key("a", "a"), b"a"),
    (key("A", "A"), b"A"),
    (key("é", "é"), "é".encode()),
    (key("", "你好"), "你好".encode()),
    (key("enter"), b"\r"),
    (key("tab"), b"\t"),
    (key("backspace"), b"\x7f"),
    (key("escape"), b"\x1b[27u"),
    (key("enter", mods="s"), b"\x1b[13;2u"),
    (key("enter", mods="a"), b"\x1b[13;3u"),
    (key("enter", mods="c"), b"\x1b[13;5u"),
    (key("tab", mods="s"), b"\x1b[9;2u"),
    (key("backspace", mods="c"), b"\x1b[127;5u"),
    (key("space", mods="c"), b"\x1b[32;5u"),
    (key("c", mods="c"), b"\x1b[99;5u"),
    (key("c", "c", mods="c"), b"\x1b[99;5u"),
    (key("i", mods="c"), b"\x1b[105;5u"),
    (key("c", mods="cs"), b"\x1b[99;6u"),
    (key("1", mods="c"), b"\x1b[49;5u"),
    (key("1", mods="a"), b"\x1b[49;3u"),
    (key("a", mods="m"), b"\x1b[97;9u"),
    (key("с", mods="c", base="c"), b"\x1b[1089;5u"),
    (key("up"), b"\x1b[A"),
    (key("up", mods="s"), b"\x1b[1;2A"),
    (key("f5"), b"\x1b[15~"),
    (key("a", "a", action="release"), b""),
]
KITTY_ALTERNATES = [
    (key("с", mods="c", base="c"), b"\x1b[1089::99;5u"),
    (key("с", "с", base="c"), "с".encode()),
    (key("c", "C", mods="cs"), b"\x1b[99:67;6u"),
]
KITTY_ALL = [
    (key("a", "a"), b"\x1b[97;;97u"),
    (key("A", "A"), b"\x1b[97:65;2;65u"),
    (key("enter"), b"\x1b[13u"),
    (key("a", "a", action="release"), b"\x1b[97;1:3u"),
    (key("up", action="repeat"), b"\x1b[1;1:2A"),
]
OTHER_KEYS = [
    (key("enter", mods="s"), b"\x1b[27;2;13~"),
    (key("i", mods="c"), b"\x1b[27;5;105~"),
    (key("a", "a"), b"a"),
]


@pytest.mark.parametrize(
    ("asked", "event", "expected"),
    [
        pytest.param(asked, event, expected, id=f"{name}-{index}")
        for name, asked, table in (
            ("legacy", b"", LEGACY),
            ("application", b"\x1b[?1h\x1b=", APPLICATION),
            ("kitty", b"\x1b[>1u", KITTY),
            ("kitty-alternates", b"\x1b[>5u", KITTY_ALTERNATES),
            ("kitty-all", b"\x1b[>31u", KITTY_ALL),
            ("other-keys", b"\x1b[>4;2m", OTHER_KEYS),
        )
        for index, (event, expected) in enumerate(table)
    ],
)
def test_a_key_is_sent_as_the_program_asked(asked: bytes, event: KeyEvent, expected: bytes) -> None:
    screen = Screen(80, 24)
    screen.feed(asked)
    assert screen.encode_key(event) == expected


def test_keys_are_legacy_again_after_the_program_took_its_request_back() -> None:
    screen = Screen(80, 24)
    screen.feed(b"\x1b[>1u")
    assert screen.encode_key(KeyEvent("escape")) == b"\x1b[27u"
    screen.feed(b"\x1b[<u")
    assert screen.encode_key(KeyEvent("escape")) == b"\x1b"


# -- paste, focus, mouse


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        (b"", "a\nb\r\nc\rd\te", b"a\rb\rc\rd\te"),
        (b"", "x\x1b[201~\x00\x03\x9by", b"x [201~   y"),
        (b"\x1b[?2004h", "a\nb\r\nc\té", "\x1b[200~a\nb\nc\té\x1b[201~".encode()),
        (b"\x1b[?2004h", "x\x1b[201~rm\x9b201~\x7f", b"\x1b[200~x [201~rm 201~ \x1b[201~"),
    ],
)
def test_a_paste_is_text_and_nothing_else(asked: bytes, text: str, expected: bytes) -> None:
    screen = Screen(80, 24)
    screen.feed(asked)
    assert screen.encode_paste(text) == expected


def test_focus_is_reported_only_to_a_program_that_asked() -> None:
    screen = Screen(80, 24)
    assert screen.encode_focus(True) == b""
    screen.feed(b"\x1b[?1004h")
    assert (screen.encode_focus(True), screen.encode_focus(False)) == (b"\x1b[I", b"\x1b[O")


PRESS, RELEASE = MouseEvent("press", 4, 2, "left"), MouseEvent("release", 4, 2, "left")
MOVE, DRAG = MouseEvent("move", 5, 2), MouseEvent("move", 6, 2, "left")


@pytest.mark.parametrize(
    ("asked", "event", "expected"),
    [
        (b"", PRESS, b""),
        (b"", MouseEvent("scroll_up", 4, 2), b""),
        (b"\x1b[?9h", PRESS, b"\x1b[M %#"),
        (b"\x1b[?9h", RELEASE, b""),
        (b"\x1b[?1000h", PRESS, b"\x1b[M %#"),
        (b"\x1b[?1000h", RELEASE, b"\x1b[M#%#"),
        (b"\x1b[?1000h\x1b[?1006h", PRESS, b"\x1b[<0;5;3M"),
        (b"\x1b[?1000h\x1b[?1006h", RELEASE, b"\x1b[<0;5;3m"),
        (b"\x1b[?1000h\x1b[?1006h", MouseEvent("press", 4, 2, "middle"), b"\x1b[<1;5;3M"),
        (b"\x1b[?1000h\x1b[?1006h", MouseEvent("press", 4, 2, "right", ctrl=True), b"\x1b[<18;5;3M"),
        (b"\x1b[?1000h\x1b[?1006h", MouseEvent("scroll_up", 4, 2), b"\x1b[<64;5;3M"),
        (b"\x1b[?1000h\x1b[?1006h", MouseEvent("scroll_down", 4, 2, shift=True), b"\x1b[<69;5;3M"),
        (b"\x1b[?1000h\x1b[?1006h", MOVE, b""),
        (b"\x1b[?1000h\x1b[?1006h", DRAG, b""),
        (b"\x1b[?1002h\x1b[?1006h", MOVE, b""),
        (b"\x1b[?1002h\x1b[?1006h", DRAG, b"\x1b[<32;7;3M"),
        (b"\x1b[?1003h\x1b[?1006h", MOVE, b"\x1b[<35;6;3M"),
        (b"\x1b[?1003h\x1b[?1006h", MouseEvent("press", 79, 23, "left"), b"\x1b[<0;80;24M"),
        (b"\x1b[?1003h\x1b[?1006h", MouseEvent("press", 80, 2, "left"), b""),
        (b"\x1b[?1003h\x1b[?1006h", MouseEvent("press", 4, -1, "left"), b""),
    ],
)
def test_the_mouse_is_reported_as_the_program_asked(asked: bytes, event: MouseEvent, expected: bytes) -> None:
    screen = Screen(80, 24)
    screen.feed(asked)
    assert screen.encode_mouse(event) == expected


@pytest.mark.parametrize("event", [key("a", "A", mods="sacm", base="b"), KeyEvent("up", action="repeat")])
def test_a_key_event_survives_the_wire(event: KeyEvent) -> None:
    assert KeyEvent.from_wire(event.to_wire()) == event
    assert KeyEvent.from_wire([*event.to_wire(), "from a newer viewer"]) == event


def test_a_mouse_event_survives_the_wire() -> None:
    event = MouseEvent("move", 3, 4, "left", shift=True, ctrl=True)
    assert MouseEvent.from_wire(event.to_wire()) == event


@pytest.mark.parametrize(
    "wire", [[], ["a"], [1, "", 0, 0, 0, 0, "press", ""], ["a", "", 0, 0, 0, 0, "bounce", ""]]
)
def test_a_malformed_key_event_is_a_value_error(wire: list[object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        KeyEvent.from_wire(wire)


@pytest.mark.parametrize("wire", [[], ["wave", 0, 0, "", 0, 0, 0], ["press", "x", 0, "left", 0, 0, 0]])
def test_a_malformed_mouse_event_is_a_value_error(wire: list[object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        MouseEvent.from_wire(wire)


def test_lines_of_the_screen_are_whole_where_the_terminal_wrapped_them() -> None:
    screen = Screen(10, 3)
    screen.feed(b"zero\r\nthe first of two long lines\r\nlast one, mod")

    assert screen.text() == ["g lines", "last one,", "mod"]
    assert screen.lines() == ["the first of two long lines", "last one, mod"]
    screen.feed(b"\x1b[?1049h\x1b[Hfull screen")
    assert screen.lines() == ["full scree", "n"], "a full-screen program draws rows"
    assert Screen(10, 3).lines() == []
