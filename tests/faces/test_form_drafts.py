"""Drafts of forms are kept in a file, whatever else is in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleet_tui.faces.form_drafts import FormDraft, FormDrafts


def test_a_draft_outlives_its_face_in_a_file_that_only_the_user_can_read(tmp_path: Path) -> None:
    file = tmp_path / "drafts.json"
    FormDrafts(file).keep("new", {"prompt": "rm -rf $(x)\x1b[31m é\ud800"}, 5.0)

    assert FormDrafts(file).get("new") == FormDraft({"prompt": "rm -rf $(x)\x1b[31m é\ud800"}, 5.0)
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"new": {"values": {}, "at": Infinity}}',
        '{"new": {"values": {}, "at": -1e999}}',
        '{"new": {"values": {}, "at": NaN}}',
        '{"new": {"values": [1], "at": 1}}',
        '{"new": 5}',
        "[5]",
        "null",
        "\0",
    ],
)
def test_a_file_with_anything_else_in_it_has_no_drafts(tmp_path: Path, content: str) -> None:
    file = tmp_path / "drafts.json"
    file.write_text(content)

    assert FormDrafts(file).get("new") is None


def test_a_pipe_in_the_place_of_the_file_blocks_no_form(tmp_path: Path) -> None:
    file = tmp_path / "drafts.json"
    os.mkfifo(file)

    assert FormDrafts(file).get("new") is None
