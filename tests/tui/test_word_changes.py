"""The words that differ between two lines."""

from __future__ import annotations

import pytest

from fleet_tui.tui.review.word_changes import changed_words

pytestmark = pytest.mark.pure


def words(old: str, new: str) -> tuple[list[str], list[str]]:
    before, after = changed_words(old, new)
    return [old[a:b] for a, b in before], [new[a:b] for a, b in after]


def test_only_the_words_that_differ_are_named() -> None:
    assert words("self.store.get(cookie)", "self.signer.verify(cookie)") == (
        ["store", "get"],
        ["signer", "verify"],
    )


def test_what_was_added_within_a_line_is_one_span() -> None:
    assert words("if uid:", "if uid and uid.is_known:") == ([], [" and uid.is_known"])


def test_blanks_count_as_words() -> None:
    assert words("  x = 1", "    x = 1") == (["  "], ["    "])


def test_lines_with_little_in_common_have_no_marked_words() -> None:
    assert words("import secrets", "class Session(Base):") == ([], [])
    assert words("", "") == ([], [])


def test_very_long_lines_are_compared_by_their_ends() -> None:
    middle = ", ".join(str(number) for number in range(2000))

    assert words(f"[{middle}, 1]", f"[{middle}, 2]") == (["1"], ["2"])
