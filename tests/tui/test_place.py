"""Finding a line again after its file has changed."""

from __future__ import annotations

import pytest

from fleet_tui.tui.review.place import find, find_range, place_of
from tests.tui.review_states import hunks_of

pytestmark = pytest.mark.pure

BODY = "".join(f"line {number}\n" if number % 4 else "\n" for number in range(1, 31))


def moved(number: int, after: str) -> int:
    """Where a line of BODY is in another text."""
    place = place_of(hunks_of("x\n", BODY), "new", number)
    assert place is not None
    return find(hunks_of("x\n", after), place)


def test_a_line_is_found_where_it_has_moved_to() -> None:
    assert moved(10, "new 1\nnew 2\n" + BODY) == 12
    assert moved(10, BODY.replace("line 2\n", "")) == 9


def test_equal_lines_are_told_apart_by_their_neighbors() -> None:
    assert moved(8, "new 1\nnew 2\n" + BODY) == 10


def test_a_line_that_has_changed_is_found_by_its_neighbors() -> None:
    assert moved(10, "new 1\n" + BODY.replace("line 10\n", "ten\n")) == 11


def test_without_any_trace_the_nearest_number_is_taken() -> None:
    assert moved(10, "other\n" * 5) == 5
    place = place_of(hunks_of("x\n", BODY), "new", 3)
    assert place is not None
    assert find((), place) == 0


def test_a_line_that_no_hunk_shows_has_no_place() -> None:
    assert place_of(hunks_of(BODY, BODY.replace("line 1\n", "one\n")), "new", 25) is None


def test_a_range_is_found_only_as_a_whole() -> None:
    hunks = hunks_of("x\n", "new\n" + BODY)

    assert find_range(hunks, "new", 1, ["line 1", "line 2"]) == 2
    assert find_range(hunks, "new", 1, ["line 1", "line 3"]) == 0
