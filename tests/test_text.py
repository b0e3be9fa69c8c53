"""Text from outside, made safe for a screen: no control character is left, and what can be read stays readable."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet_tui import text

pytestmark = pytest.mark.pure

ANYTHING = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Zs"]),
        st.sampled_from("\x1b\x07\x08\r\n\t\x7f\x9b\x9d\u202e\u2066\u200b[]();"),
    )
)
HOSTILE = "a\x1b[31mb\x1b]52;c;x\x07\x9b2J\x7f\u202ec\u2066d\u200be\r\nf\tg\udc80h\u2028i"


def controls(shown: str) -> list[str]:
    """Characters that a terminal would act on, or that cannot be written."""
    return [char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]


@given(ANYTHING)
@example(HOSTILE)
def test_a_line_has_no_control_character_and_no_line_break(said: str) -> None:
    for shown in (text.one_line(said), text.flat(said), text.in_sequence(said)):
        assert controls(shown) == []
        assert shown.isprintable()
    assert ";" not in text.in_sequence(said)


@given(ANYTHING)
@example(HOSTILE)
def test_a_block_has_only_line_breaks(said: str) -> None:
    assert set(controls(text.block(said))) <= {"\n"}


@given(ANYTHING)
@example(HOSTILE)
def test_pictures_leave_nothing_that_moves_a_cursor_or_turns_the_writing(said: str) -> None:
    left = set(controls(text.pictured(said)))

    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", "".join(left)
    )


@given(ANYTHING)
@example(HOSTILE)
def test_what_a_user_agrees_to_hides_no_character(said: str) -> None:
    shown = text.visible(said)

    assert controls(shown) == []
    assert all(char in shown for char in said if char.isprintable())
    assert len(shown) >= len(said)


def test_hidden_characters_are_shown_by_name() -> None:
    assert text.visible("a\x1b\x7f\u202eb") == "a␛␡U+202Eb"


@given(ANYTHING)
@example(HOSTILE)
def test_cells_of_a_screen_have_no_control_character(said: str) -> None:
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text.blanked(said))


@given(ANYTHING)
@example(HOSTILE)
def test_json_is_plain_ascii_and_reads_back_as_it_was(said: str) -> None:
    written = text.to_json({"said": said})

    assert written.isascii()
    assert written.isprintable()
    assert json.loads(written) == {"said": said}


def test_readable_text_stays_as_it_is() -> None:
    said = "zażółć 日本語 naïve — ✓ [red]x[/red]"

    assert text.one_line(said) == text.flat(said) == text.block(said) == text.blanked(said) == said


def test_what_is_replaced_can_be_seen_to_have_been_there() -> None:
    assert text.one_line(HOSTILE) == "a�[31mb�]52;c;x��2J�cde f g�h i"
    assert text.flat("a  b\nc\td") == "a  b c d", "the layout of a line stays"
    assert text.block("a\tb\r\nc\x1b[1m") == "a   b\nc�[1m"
    assert text.in_sequence("a\x1b]52;c;x\x07b\x9cc\u202ed\ne") == "a�]52,c,x�b�cd e"
    assert text.blanked("a\x1b\u202eb") == "a b"


def test_pictured_text_can_still_be_read() -> None:
    assert text.pictured("zażółć 日本語 👩‍💻\tx\r\ny\x1b[1mz") == "zażółć 日本語 👩‍💻\tx\ny␛[1mz"
