"""Frames of a real screen, applied to a view: what a viewer has must be what the screen shows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui.holder import frames, wire
from fleet_tui.holder.frames import MAX_STYLES, MAX_UNACKNOWLEDGED, Frames, Viewer
from fleet_tui.terminal.emulator import Screen
from fleet_tui.terminal.view import View


class Watched:
    """A screen, and one viewer's mirror of it."""

    def __init__(self, screen: Screen, served: Frames, *, rate: float = 30.0) -> None:
        self.screen, self.frames = screen, served
        self.viewer = Viewer(kind="reader", rate=rate)
        self.view = View()
        self.got: list[wire.Message] = []

    def feed(self, data: bytes) -> None:
        self.screen.feed(data)
        self.frames.fed()

    def show(self, now: float = 0.0, *, acknowledge: bool = True) -> list[wire.Message]:
        self.frames.look()
        sent = b"".join(self.frames.changes(self.viewer, now))
        received = list(wire.Unpacker().feed(sent))
        for message in received:
            if message["t"] == "frame":
                self.view.apply(message)
        if acknowledge:
            self.viewer.acknowledge(self.viewer.seq)
        self.got += received
        return received

    def is_right(self) -> bool:
        """Text and styles, cell by cell."""
        self.screen.update()
        rows = [self.screen.row(y) for y in range(self.screen.rows)]
        styles = [[(text, style) for text, style, _ in row] for row in rows]
        mirrored = [[(text, style) for text, style, _ in line] for line in self.view.lines]
        # Not its plain text: that leaves out an accent on a trailing blank.
        lines = ["".join(text for text, _, _ in row).rstrip() for row in rows]
        return self.view.text() == lines and styles == mirrored


def watched(cols: int = 20, rows: int = 5, *, rate: float = 30.0) -> Watched:
    screen = Screen(cols, rows)
    return Watched(screen, Frames(screen), rate=rate)


def colors(chance: random.Random, cols: int, rows: int) -> bytes:
    """A screen in which each cell has a color of its own."""
    parts = ["\x1b[H"]
    for y in range(rows):
        cells = (f"\x1b[38;2;{chance.randrange(256)};{chance.randrange(256)};{y}mx" for _ in range(cols))
        parts.append(f"\x1b[{y + 1};1H" + "".join(cells))
    return "".join(parts).encode()


def test_the_first_frame_is_the_whole_screen_and_the_next_only_what_changed() -> None:
    it = watched()
    it.feed(b"one\r\ntwo\r\nthree")
    (first,) = it.show()
    it.feed(b"\x1b[2;1HTWO")
    (second,) = it.show()

    assert first["full"]
    assert len(first["lines"]) == 5
    assert not second["full"]
    assert [y for y, _ in second["lines"]] == [1]
    assert it.view.text() == ["one", "TWO", "three", "", ""]


def test_nothing_is_sent_when_nothing_changed() -> None:
    it = watched()
    it.feed(b"hello")
    it.show()
    it.feed(b"\x1b[1;1Hhello")

    assert it.show() == []


def test_a_cursor_that_moves_is_a_frame_without_rows() -> None:
    it = watched()
    it.show()
    it.feed(b"\x1b[3;4H")

    (frame,) = it.show()

    assert frame["lines"] == []
    assert it.view.cursor[:2] == (3, 2)


@given(
    st.lists(
        st.one_of(
            st.binary(min_size=1, max_size=40),
            st.sampled_from(
                [
                    b"\x1b[2J",
                    b"\x1b[?1049h",
                    b"\x1b[?1049l",
                    b"\r\n" * 7,
                    b"\x1b[31mred",
                    b"\x1b[48;2;1;2;3m ",
                ]
            ),
            st.tuples(st.integers(10, 60), st.integers(3, 20)),
        ),
        max_size=30,
    )
)
def test_frames_reproduce_the_screen_whatever_is_printed(steps: list[bytes | tuple[int, int]]) -> None:
    it = watched()
    for step in steps:
        if isinstance(step, bytes):
            it.feed(step)
        else:
            it.screen.resize(*step)
            it.frames.resized()
        it.show()
        assert it.is_right()


def test_a_viewer_that_saw_only_some_of_the_frames_is_as_right_as_one_that_saw_all() -> None:
    chance = random.Random(3)
    often = watched(40, 12)
    seldom = Watched(often.screen, often.frames)
    for number in range(300):
        row, col = chance.randrange(1, 13), chance.randrange(1, 41)
        often.feed(f"\x1b[{row};{col}H\x1b[{chance.randrange(30, 38)}m{number}".encode())
        often.show()
        if number % 17 == 0:
            seldom.show()
    seldom.show()

    assert often.is_right()
    assert seldom.is_right()
    assert len(seldom.got) < len(often.got) / 10


def test_a_change_that_one_viewer_was_served_is_still_news_to_the_other() -> None:
    first = watched()
    second = Watched(first.screen, first.frames)
    first.show()
    second.show()
    first.feed(b"news")
    first.show()

    assert second.frames.is_due(second.viewer, 99.0, is_held=False)
    second.show()
    assert second.is_right()


@pytest.mark.parametrize("size", [(20, 5), (100, 50)], ids=["small", "more cells than styles"])
def test_random_colors_keep_the_table_of_styles_bounded_and_right(size: tuple[int, int]) -> None:
    chance = random.Random(5)
    early = watched(*size)
    cells = size[0] * size[1]
    for _ in range(max(2, 3 * MAX_STYLES // 2 // cells)):
        early.feed(colors(chance, *size))
        early.show()
        late = Watched(early.screen, early.frames)
        late.show()
        assert early.is_right()
        assert late.is_right()
        assert len(early.view._styles) <= MAX_STYLES + cells
        assert len(early.viewer.styles) <= MAX_STYLES + cells
    assert early.got[-1]["epoch"] > 0


def test_styles_are_defined_once_for_each_viewer() -> None:
    it = watched()
    it.feed(b"\x1b[31mred")
    (first,) = it.show()
    it.feed(b"\x1b[2;1Hmore")
    (second,) = it.show()
    late = Watched(it.screen, it.frames)
    (whole,) = late.show()

    assert len(first["styles"]) == 1
    assert second["styles"] == {}
    assert len(whole["styles"]) == 1


def test_a_screen_too_large_for_one_message_comes_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_BYTES", 2000)
    it = watched(40, 20)
    it.feed(colors(random.Random(1), 40, 20))

    parts = it.show()

    assert len(parts) > 3
    assert [part["full"] for part in parts] == [True] + [False] * (len(parts) - 1)
    assert [part["more"] for part in parts] == [True] * (len(parts) - 1) + [False]
    assert it.is_right()


def test_a_viewer_that_does_not_acknowledge_gets_no_more_than_the_limit() -> None:
    it = watched()
    for number in range(10):
        it.feed(b"x")
        if it.frames.is_due(it.viewer, float(number), is_held=False):
            it.show(float(number), acknowledge=False)

    assert len(it.got) == MAX_UNACKNOWLEDGED

    it.viewer.acknowledge(it.viewer.seq)
    assert it.frames.is_due(it.viewer, 99.0, is_held=False)
    it.show(99.0)
    assert it.is_right()


def test_an_acknowledgment_of_what_was_never_sent_opens_nothing() -> None:
    it = watched()
    it.show(acknowledge=False)
    it.viewer.acknowledge(10**9)
    for _ in range(MAX_UNACKNOWLEDGED):
        it.feed(b"x")
        it.show(acknowledge=False)

    assert it.viewer.is_waiting


def test_the_first_change_after_quiet_goes_out_at_once_and_the_next_at_the_rate() -> None:
    it = watched(rate=10.0)
    it.show(0.0)
    it.feed(b"a")
    assert it.frames.due([it.viewer], is_held=False) == pytest.approx(0.1)
    it.show(5.0)
    it.feed(b"b")

    assert it.frames.due([it.viewer], is_held=False) == pytest.approx(5.1)
    assert not it.frames.is_due(it.viewer, 5.09, is_held=False)
    assert it.frames.is_due(it.viewer, 5.11, is_held=False)


def test_no_frame_is_due_when_all_viewers_are_up_to_date() -> None:
    it = watched()
    it.feed(b"a")
    it.show()

    assert it.frames.due([it.viewer], is_held=False) is None


def test_while_a_redraw_is_under_way_only_the_screen_before_it_is_shown() -> None:
    it = watched()
    it.feed(b"whole")
    it.frames.look()
    it.feed(b"\x1b[2Jha")

    assert it.frames.is_due(it.viewer, 0.0, is_held=True)
    sent = b"".join(it.frames.changes(it.viewer, 0.0))
    for frame in wire.Unpacker().feed(sent):
        it.view.apply(frame)
    it.viewer.acknowledge(it.viewer.seq)

    assert it.view.text()[0] == "whole"
    assert not it.frames.is_due(it.viewer, 99.0, is_held=True)
    assert it.frames.is_due(it.viewer, 99.0, is_held=False)


def test_a_viewer_at_rate_zero_gets_the_last_lines_and_no_frames() -> None:
    it = watched(rate=0.0)
    it.feed(b"one\r\ntwo\r\nthree\r\nfour")

    assert it.show(0.0) == [{"t": "tail", "lines": ["two", "three", "four"]}]
    it.feed(b"\x1b[1;1Hone")
    assert it.show(1.0) == []


def test_the_last_lines_are_whole_where_the_terminal_wrapped_them() -> None:
    it = watched(rate=0.0)
    it.feed(b"zero\r\nwider than its twenty columns, mod")

    assert it.show(0.0) == [{"t": "tail", "lines": ["zero", "wider than its twenty columns, mod"]}]


def test_a_viewer_that_asks_for_frames_again_gets_the_whole_screen() -> None:
    it = watched()
    it.feed(b"one")
    it.show()
    it.viewer.set_rate(0.0)
    it.feed(b"\r\ntwo")
    it.show(1.0)
    it.viewer.set_rate(30.0)

    (frame,) = it.show(2.0)

    assert frame["full"]
    assert it.is_right()


def test_what_is_printed_after_a_key_is_due_at_once_only_for_the_viewer_that_typed_it() -> None:
    one = watched(rate=10.0)
    other = Viewer(kind="pane", rate=10.0)
    one.feed(b"$ ")
    one.show(1.0)
    list(one.frames.changes(other, 1.0))
    other.acknowledge(other.seq)

    one.viewer.typed(1.01)
    one.feed(b"a")
    for viewer in (one.viewer, other):
        viewer.output_came(1.012)

    assert one.frames.is_due(one.viewer, 1.012, is_held=False)
    assert not one.frames.is_due(other, 1.012, is_held=False)


def test_what_is_printed_long_after_a_key_keeps_to_the_rate() -> None:
    one = watched(rate=10.0)
    one.viewer.typed(1.0)
    one.feed(b"$ ")
    one.show(1.2)
    one.feed(b"a")
    one.viewer.output_came(1.21)
    assert not one.frames.is_due(one.viewer, 1.21, is_held=False)


def test_a_key_does_not_make_a_flood_of_frames() -> None:
    one = watched(rate=10.0)
    one.viewer.typed(1.0)
    shown = 0
    for step in range(200):
        now = 1.0 + step / 1000
        one.feed(b"x")
        one.viewer.output_came(now)
        if one.frames.is_due(one.viewer, now, is_held=False):
            one.show(now)
            shown += 1
    assert shown <= 13
