"""Rows of a diff: pairs, fills, headings, comments, wrapped lines."""

from __future__ import annotations

import time

import pytest

from fleet_tui.tui.review.diff_paint import Colors, DiffPaint, Marks, geometry_for
from fleet_tui.tui.review.diff_rows import (
    FILL,
    GAP,
    LINE,
    NOTE,
    DiffRow,
    Layout,
    LineNote,
    changes_in,
    rows_of,
)
from fleet_tui.work import DiffLine, Hunk
from tests.tui.review_states import hunks_of

pytestmark = pytest.mark.pure

OLD = "a\nb\nc\nd\ne\n"
NEW = "a\nB\nX\nc\nd\ne\n"
SPLIT, UNIFIED = Layout(True), Layout(False)


def drawn(hunks: tuple[Hunk, ...], layout: Layout, notes: tuple[LineNote, ...] = ()) -> list[str]:
    """Each row as its kind, or as its signs and texts."""
    return [said(row, hunks) for row in rows_of(hunks, layout, notes)]


def said(row: DiffRow, hunks: tuple[Hunk, ...]) -> str:
    if row.kind != LINE:
        return f"{row.kind} {row.part}".removesuffix(" 0")
    sides = []
    for place in (row.left, row.right):
        line = hunks[row.hunk].lines[place] if place >= 0 else None
        sides.append("///" if place == FILL else f"{line.sign}{line.text}" if line else "")
    return " | ".join(sides)


def test_changed_lines_are_beside_each_other_and_the_shorter_side_is_filled() -> None:
    assert drawn(hunks_of(OLD, NEW), SPLIT) == [
        " a |  a", "-b | +B", "/// | +X", " c |  c", " d |  d", " e |  e",
    ]  # fmt: skip


def test_unified_shows_removed_lines_above_added_ones() -> None:
    assert drawn(hunks_of(OLD, NEW), UNIFIED) == [
        " a |  a", "-b | ", " | +B", " | +X", " c |  c", " d |  d", " e |  e",
    ]  # fmt: skip


def test_lines_of_a_pair_know_each_other_in_both_layouts() -> None:
    hunks = hunks_of(OLD, NEW)

    assert [row.mate for row in rows_of(hunks, SPLIT)[1:3]] == [2, -1]
    assert [row.mate for row in rows_of(hunks, UNIFIED)[1:4]] == [2, 1, -1]


def test_a_heading_stands_between_hunks_and_before_one_that_begins_later() -> None:
    old = "".join(f"{number}\n" for number in range(40))
    both = old.replace("20\n", "twenty\n").replace("35\n", "thirty-five\n")

    kinds = [row.kind for row in rows_of(hunks_of(old, both), SPLIT)]

    assert [at for at, kind in enumerate(kinds) if kind == GAP] == [0, 8]
    assert rows_of(hunks_of(old, f"new\n{old}"), SPLIT)[0].kind == LINE


def test_a_note_is_below_its_line_and_after_the_fills_below_that() -> None:
    shorter = "a\nB\nc\nd\ne\n"
    old = "a\nb\nx\nc\nd\ne\n"

    assert drawn(hunks_of(old, shorter), SPLIT, (LineNote("new", 2, 2),)) == [
        " a |  a", "-b | +B", "-x | ///", "note", "note 1", " c |  c", " d |  d", " e |  e",
    ]  # fmt: skip
    assert drawn(hunks_of(old, shorter), SPLIT, (LineNote("old", 2, 1),))[1:4] == [
        "-b | +B",
        "note",
        "-x | ///",
    ]


def test_notes_of_both_sides_of_a_line_and_of_lines_not_shown_are_all_there() -> None:
    notes = (LineNote("new", 4, 1), LineNote("old", 3, 1), LineNote("new", 99, 2))

    rows = rows_of(hunks_of(OLD, NEW), UNIFIED, notes)

    assert [(row.note, row.part) for row in rows if row.kind == NOTE] == [(2, 0), (2, 1), (1, 0), (0, 0)]
    assert rows[0].note == 2


def test_a_long_line_takes_as_many_rows_as_its_longer_side() -> None:
    hunks = hunks_of("short\n", "one two three four\n")

    rows = rows_of(hunks, Layout(True, code_width=10))

    assert [(row.kind, row.part) for row in rows] == [(LINE, 0), (LINE, 1)]


def test_a_run_of_changed_lines_is_one_change() -> None:
    hunks = hunks_of(OLD, NEW.replace("e\n", "E\n"))

    for layout, starts in ((SPLIT, [1, 5]), (UNIFIED, [1, 6])):
        assert changes_in(rows_of(hunks, layout), hunks) == starts


def painted(
    text: str, other: str, width: int, *, is_split: bool = True, is_wrapped: bool = False
) -> list[str]:
    hunks = hunks_of(text, other)
    geometry = geometry_for(width, hunks, is_split=is_split)
    layout = Layout(is_split, geometry.code_width if is_wrapped else 0)
    paint = DiffPaint(hunks, geometry, Colors(hunks, ""), (), (), is_wrapped=is_wrapped)
    return ["".join(part for part, _ in paint.draw(row, Marks())) for row in rows_of(hunks, layout)]


@pytest.mark.parametrize("is_wrapped", [False, True])
@pytest.mark.parametrize("is_split", [False, True])
@pytest.mark.parametrize("width", [40, 80, 131])
def test_every_row_is_as_wide_as_the_screen_whatever_is_in_it(
    width: int, is_split: bool, is_wrapped: bool
) -> None:
    from rich.cells import cell_len

    old = "\tname = '数数数数数数数数数数数数数数数数数'\nplain\n" + "l#ng " * 60 + "\n\x1b[31mred\u202e\n"
    new = "\tname = '数数数数e\u0301🙂数数数数数数数数数数'\nplain\n" + "L#ng " * 61 + "\n"

    rows = painted(old, new, width, is_split=is_split, is_wrapped=is_wrapped)

    assert [row for row in rows if cell_len(row) != width] == []
    assert "\x1b" not in "".join(rows)
    if is_wrapped:
        assert "".join(rows).count("#") == 121


def test_words_that_differ_have_a_stronger_tint_and_sixteen_colors_make_them_bold() -> None:
    hunks = hunks_of("return get(uid)\n", "return get(claims)\n")
    geometry = geometry_for(80, hunks, is_split=False)

    for is_ansi in (False, True):
        paint = DiffPaint(hunks, geometry, Colors(hunks, "python"), (), (), is_ansi=is_ansi)
        lines = [paint.draw(row, Marks()) for row in rows_of(hunks, UNIFIED)]
        words = [(text, role) for line in lines for text, role in line if role.endswith("-word")]
        assert [text for text, _ in words] == ["uid", "claims"]
        assert all(("bold" in role) == is_ansi for _, role in words)


def test_a_long_diff_is_laid_out_at_once() -> None:
    lines = tuple(
        DiffLine(" " if number % 9 else "+", f"line {number}", number, number) for number in range(20_000)
    )
    hunk = Hunk(1, 20_000, 1, 20_000, "", lines)
    begin = time.process_time()

    rows_of([hunk], SPLIT)

    assert time.process_time() - begin < 0.3
