"""The files of a diff as rows of a list: folders as headings, files with their state and their counts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fleet_tui.tui.widgets.lines import Line, TextPart, clean, fit, length
from fleet_tui.work import ChangedFile

LETTERS: Mapping[str, str] = {
    "added": "A",
    "modified": "M",
    "deleted": "D",
    "renamed": "R",
    "mode changed": "M",
    "type changed": "T",
}
LEFT_OUT = "too large to read"


class FileRow(NamedTuple):
    """A heading, a file, or an empty row."""

    heading: str = ""
    place: int = -1
    """The file, as its place in the order of the list."""
    name: str = ""
    """A file that is left out."""


class FileMarks(NamedTuple):
    """What the list shows of the user's work on a file."""

    is_read: bool = False
    comments: int = 0
    """Not sent yet."""
    has_sent: bool = False


def in_order(files: Sequence[ChangedFile]) -> list[ChangedFile]:
    """Files folder by folder; those of the top folder last."""
    return sorted(files, key=lambda one: (not _folder(one.path), _folder(one.path), one.path))


def rows_for(files: Sequence[ChangedFile], left_out: Sequence[str] = ()) -> list[FileRow]:
    """Rows for files that are in order."""
    rows: list[FileRow] = []
    folder: str | None = None
    for place, file in enumerate(files):
        if _folder(file.path) != folder:
            folder = _folder(file.path)
            rows += [*([FileRow()] if rows else []), FileRow(f"{folder or '.'}/")]
        rows.append(FileRow(place=place))
    if left_out:
        rows += [*([FileRow()] if rows else []), FileRow(LEFT_OUT)]
        rows += [FileRow(name=name) for name in left_out]
    return rows


def paint(row: FileRow, file: ChangedFile | None, marks: FileMarks, width: int, *, is_here: bool) -> Line:
    if file is None:
        if row.name:
            return fit((("     – ", "faint"), (clean(row.name), "muted")), width)
        return fit(((f" {clean(row.heading)}", "muted"),), width)
    mark: TextPart = (" ", "")
    if marks.comments:
        mark = (str(min(marks.comments, 9)), "bold warning")
    elif marks.is_read:
        mark = ("✓", "success")
    elif marks.has_sent:
        mark = ("┃", "muted")
    name = clean(file.path.rpartition("/")[2])
    left: Line = (
        ("▌" if is_here else " ", "accent"), (" ", ""), mark, (" ", ""), (LETTERS[file.kind], "faint"), (" ", ""),
        (name, "bold" if is_here else "muted" if marks.is_read else ""),
    )  # fmt: skip
    right = _counts(file)
    line: Line = (*fit(left, width - length(right) - 2), (" ", ""), *right, (" ", ""))
    return tuple((text, f"{role or 'foreground'} on sel") for text, role in line) if is_here else line


def _counts(file: ChangedFile) -> Line:
    if file.is_binary:
        return (("binary", "muted"),)
    if not file.added and not file.removed:
        said = {"renamed": "moved", "mode changed": "mode"}.get(file.kind, "")
        return ((said, "muted"),)
    return (
        (f"+{file.added}" if file.added else "", "success"),
        (f"{f'−{file.removed}' if file.removed else '':>5}", "error"),
    )


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
