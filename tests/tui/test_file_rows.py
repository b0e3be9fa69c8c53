"""The list of changed files."""

from __future__ import annotations

import pytest

from fleet_tui.tui.review.file_rows import FileMarks, in_order, paint, rows_for
from fleet_tui.tui.widgets.lines import length
from fleet_tui.work import ChangedFile

pytestmark = pytest.mark.pure


def text(file: ChangedFile, marks: FileMarks = FileMarks(), width: int = 30, *, is_here: bool = False) -> str:  # noqa: B008 - it cannot be changed
    row = rows_for([file])[1]
    line = paint(row, file, marks, width, is_here=is_here)
    assert length(line) == width
    return "".join(part for part, _ in line)


def test_files_are_grouped_by_folder_and_those_of_the_top_come_last() -> None:
    files = in_order(
        [ChangedFile(path, "modified") for path in ("z.py", "b/c/x.py", "a/1.py", "b/2.py", "a/0.py")]
    )

    rows = rows_for(files, ["big.bin"])

    assert [row.heading or row.name or (files[row.place].path if row.place >= 0 else "") for row in rows] == [
        "a/", "a/0.py", "a/1.py", "", "b/", "b/2.py", "", "b/c/", "b/c/x.py", "", "./", "z.py",
        "", "too large to read", "big.bin",
    ]  # fmt: skip


def test_a_file_shows_its_letter_its_counts_and_what_the_user_did() -> None:
    file = ChangedFile("src/session.py", "modified", added=13, removed=11)

    assert text(file) == "    M session.py     +13  −11 "
    assert text(file, FileMarks(is_read=True)).startswith("  ✓ M")
    assert text(file, FileMarks(is_read=True, comments=2), is_here=True).startswith("▌ 2 M")


@pytest.mark.parametrize(
    ("file", "end"),
    [
        (ChangedFile("a.png", "added", is_binary=True), "binary "),
        (ChangedFile("b.py", "renamed", old_path="a.py"), "moved "),
        (ChangedFile("run", "mode changed"), "mode "),
    ],
)
def test_a_file_without_counts_says_why(file: ChangedFile, end: str) -> None:
    assert text(file).endswith(end)


def test_a_name_that_is_too_long_is_cut_before_the_counts() -> None:
    file = ChangedFile("a_name_that_does_not_fit_into_the_panel.py", "added", added=123)

    assert "… +123" in text(file)
