"""What a review keeps of the files that were looked at."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fleet_tui.models import Status
from fleet_tui.tui.review.review_model import WHOLE, ReviewModel
from fleet_tui.work import ChangedFile, FileDiff
from tests.tui import fleet_states

pytestmark = pytest.mark.pure
FILE = ChangedFile("a.py", "modified", old_blob="1", new_blob="2")


def test_lines_are_kept_for_what_they_were_asked_for_also_if_the_user_chooses_meanwhile() -> None:
    asked: list[dict[str, Any]] = []

    async def call(_verb: str, *_: Any, **options: Any) -> FileDiff:
        asked.append(options)
        model.is_whole, model.against = True, "main"
        return FileDiff(FILE, ())

    model = ReviewModel(fleet_states.agent("fix", Status.DONE, batch="fix"), call)

    asyncio.run(model.read_file(FILE))

    assert model.known(FILE) is None
    asyncio.run(model.read_file(FILE))
    assert asked[-1] == {"against": "main", "context": WHOLE}
    assert model.known(FILE) is not None
    model.is_whole, model.against = False, ""
    assert model.known(FILE) is not None
