"""The part of a screen that a smaller pane shows."""

from __future__ import annotations

import pytest

from fleet_tui.terminal.view import View
from fleet_tui.tui.panes.crop import Crop

pytestmark = pytest.mark.pure


def screen(x: int, y: int, *texts: str, cols: int = 40, rows: int = 10) -> View:
    view = View()
    view.cols, view.rows, view.cursor = cols, rows, (x, y, True, "block", False)
    view.lines = [[(text, None, len(text))] for text in (*texts, *[" " * cols] * (rows - len(texts)))]
    return view


def test_a_crop_moves_just_far_enough_to_keep_the_cursor_in_it() -> None:
    full = ["text"] * 10
    crop = Crop()
    assert crop.follow(screen(0, 6, *full), 36, 3)
    assert (crop.left, crop.top) == (0, 4)
    assert not crop.follow(screen(0, 5, *full), 36, 3)
    assert crop.follow(screen(38, 2, *full), 36, 3)
    assert (crop.left, crop.top) == (3, 2)


def test_a_pane_that_grows_shows_what_is_above_the_cursor_instead_of_empty_rows() -> None:
    crop = Crop()
    crop.follow(screen(0, 6, *["text"] * 6), 36, 1)
    crop.follow(screen(0, 6, *["text"] * 6), 36, 3)
    assert crop.top == 4


def test_a_cursor_that_goes_up_above_empty_rows_keeps_what_is_above_it_in_view() -> None:
    crop = Crop()
    crop.follow(screen(0, 9, *["text"] * 9), 36, 3)
    crop.follow(screen(0, 2, "ready", "got it"), 36, 3)
    assert crop.top == 0


def test_text_below_the_cursor_stays_in_view() -> None:
    crop = Crop()
    crop.follow(screen(0, 9, *["text"] * 10), 36, 3)
    crop.follow(screen(0, 5, *["text"] * 10), 36, 3)
    assert crop.top == 5
