"""A client's end of a holder, as far as it needs no holder."""

from __future__ import annotations

import pytest

from fleet_tui.errors import HolderGone
from fleet_tui.holder import wire
from fleet_tui.holder.session import PASTE_BYTES, _Answer, paste_parts

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("character", ["a", "é", "日", "🙂"])
@pytest.mark.parametrize("shift", range(4))
def test_a_long_paste_is_split_between_characters_into_parts_that_fit_a_message(
    character: str, shift: int
) -> None:
    text = "x" * shift + character * PASTE_BYTES

    parts = paste_parts(text)

    assert "".join(parts) == text
    assert all(len(wire.pack("paste", text=part)) <= wire.LIMIT for part in parts)


def test_a_paste_with_invalid_text_does_not_end_the_session() -> None:
    assert "".join(paste_parts("\ud800" * PASTE_BYTES)) == "?" * PASTE_BYTES
    assert paste_parts("short \ud800") == ["short \ud800"]


def test_an_answer_that_lacks_a_field_is_the_holders_fault() -> None:
    """An agent that serves its holder's socket itself made commands end with an internal error."""
    answer = _Answer("fix", {"t": "answer", "lines": []})

    assert answer["lines"] == []
    with pytest.raises(HolderGone, match="the holder of fix answered without 'state'"):
        answer["state"]
