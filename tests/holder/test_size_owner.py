"""Which viewer decides the terminal's size; the clock is a number, the viewers are real."""

from __future__ import annotations

import pytest

from fleet_tui.holder.frames import Viewer
from fleet_tui.holder.size_owner import TAKE_OVER_SECONDS, SizeOwner

pytestmark = pytest.mark.pure

START = (100, 30)


def pane() -> Viewer:
    return Viewer(kind="pane")


def terminal() -> Viewer:
    return Viewer(kind="terminal")


def test_without_viewers_the_first_size_stays() -> None:
    assert SizeOwner(START).settle(0.0) is None


def test_a_viewer_with_a_size_is_followed_at_once() -> None:
    sizes = SizeOwner(START)
    sizes.wanted(terminal(), 80, 24, 0.0)

    assert sizes.settle(0.0) == (80, 24)
    assert sizes.settle(0.0) is None


def test_a_reader_never_changes_the_size() -> None:
    sizes = SizeOwner(START)
    sizes.wanted(Viewer(kind="reader"), 80, 24, 0.0)

    assert sizes.settle(0.0) is None


def test_before_any_viewer_has_typed_the_newest_is_followed() -> None:
    sizes = SizeOwner(START)
    sizes.wanted(pane(), 80, 24, 0.0)
    sizes.wanted(terminal(), 120, 40, 0.0)

    assert sizes.settle(0.0) == (120, 40)


def test_the_size_follows_the_viewer_that_typed_last_and_not_a_newcomer() -> None:
    sizes = SizeOwner(START)
    first, second, third = pane(), terminal(), terminal()
    sizes.wanted(first, 80, 24, 0.0)
    sizes.wanted(second, 120, 40, 0.0)
    sizes.typed(first)
    assert sizes.settle(0.0) == (80, 24)

    sizes.wanted(third, 60, 20, 0.0)
    assert sizes.settle(0.0) is None

    sizes.typed(second)
    assert sizes.settle(0.0) == (120, 40)


def test_a_resize_of_a_viewer_that_does_not_own_the_size_waits_for_its_turn() -> None:
    sizes = SizeOwner(START)
    owner, other = terminal(), terminal()
    sizes.wanted(owner, 80, 24, 0.0)
    sizes.wanted(other, 90, 25, 0.0)
    sizes.typed(owner)
    sizes.settle(0.0)

    sizes.wanted(other, 70, 20, 0.0)
    assert sizes.settle(0.0) is None

    sizes.typed(other)
    assert sizes.settle(0.0) == (70, 20)


def test_when_the_owner_leaves_the_next_takes_over_after_a_moment() -> None:
    sizes = SizeOwner(START)
    owner, other = terminal(), terminal()
    sizes.wanted(other, 90, 25, 0.0)
    sizes.wanted(owner, 80, 24, 0.0)
    sizes.settle(0.0)

    sizes.left(owner, 10.0)

    assert sizes.due() == 10.0 + TAKE_OVER_SECONDS
    assert sizes.settle(10.0) is None
    assert sizes.settle(10.0 + TAKE_OVER_SECONDS) == (90, 25)
    assert sizes.due() is None


def test_the_viewer_that_typed_before_the_owner_is_next() -> None:
    sizes = SizeOwner(START)
    early, late, silent = terminal(), terminal(), terminal()
    for viewer, cols in ((early, 50), (late, 60), (silent, 70)):
        sizes.wanted(viewer, cols, 20, 0.0)
    sizes.typed(early)
    sizes.typed(late)
    sizes.settle(0.0)

    sizes.left(late, 0.0)

    assert sizes.settle(1.0) == (50, 20)


def test_without_viewers_left_the_last_size_stays_and_the_next_viewer_is_followed() -> None:
    sizes = SizeOwner(START)
    viewer = terminal()
    sizes.wanted(viewer, 80, 24, 0.0)
    sizes.typed(viewer)
    sizes.settle(0.0)
    sizes.left(viewer, 0.0)

    assert sizes.due() is None
    assert sizes.settle(99.0) is None

    sizes.wanted(pane(), 70, 20, 99.0)
    assert sizes.settle(99.0) == (70, 20)


def test_a_small_pane_crops_where_a_small_terminal_is_followed() -> None:
    in_pane, in_terminal = SizeOwner(START), SizeOwner(START)
    in_pane.wanted(pane(), 12, 4, 0.0)
    in_terminal.wanted(terminal(), 12, 4, 0.0)

    assert in_pane.settle(0.0) == (40, 10)
    assert in_terminal.settle(0.0) == (12, 4)


def test_no_viewer_can_ask_for_less_or_more_than_a_terminal_can_be() -> None:
    sizes = SizeOwner(START)
    viewer = terminal()
    sizes.wanted(viewer, 1, 1, 0.0)
    assert sizes.settle(0.0) == (10, 3)

    sizes.wanted(viewer, 10**9, 10**9, 0.0)
    assert sizes.settle(0.0) == (1000, 500)

    sizes.wanted(viewer, 0, -5, 0.0)
    assert sizes.settle(0.0) is None
