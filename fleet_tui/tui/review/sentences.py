"""What the diff says instead of lines: for a binary or moved file, for an agent that has changed nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.quantities import file_size
from fleet_tui.tui.widgets.lines import Line, clean, keys
from fleet_tui.work import FileDiff

SUBMODULE, LINK, EXECUTABLE = "160000", "120000", "100755"


def without_lines(diff: FileDiff) -> list[Line]:
    """Why a file's diff has no lines."""
    said, *more = _reasons(diff)
    return [(), ((f"  {said}", ""),), *(((f"  {one}", "muted"),) for one in more), (), _editor(diff)]


def _editor(diff: FileDiff) -> Line:
    return (
        ("  ", ""),
        *keys(
            ("J", "next file"), *(() if diff.file.kind == "deleted" else (("o", "open it in your editor"),))
        ),
    )


def _reasons(diff: FileDiff) -> list[str]:
    file = diff.file
    moved = [f"It was {clean(file.old_path)}."] if file.old_path else []
    sizes = _sizes(diff)
    if SUBMODULE in (file.old_mode, file.new_mode):
        return [f"A submodule: {file.old_blob[:10] or 'none'} before, {file.new_blob[:10] or 'none'} now."]
    if file.is_binary:
        return ["A binary file.", sizes, *moved]
    if diff.is_cut:
        return ["Too large to show.", sizes, *moved]
    if file.kind == "renamed":
        return ["Only its path has changed.", *moved]
    if file.kind == "mode changed" or (file.old_blob and file.old_blob == file.new_blob):
        what = "now executable" if file.new_mode == EXECUTABLE else "no longer executable"
        return [f"Only its mode has changed: {what}.", f"{file.old_mode} before, {file.new_mode} now."]
    if file.kind == "added":
        return ["A new file without content."]
    if file.kind == "deleted":
        return ["Deleted; it had no content."]
    return ["Nothing in it differs."]


def _sizes(diff: FileDiff) -> str:
    if diff.file.kind == "added":
        return f"{file_size(diff.new_size)}, new."
    if diff.file.kind == "deleted":
        return f"{file_size(diff.old_size)}, deleted."
    return f"{file_size(diff.old_size)} before, {file_size(diff.new_size)} now."


def nothing_changed(name: str, against: str, left_out: Sequence[str]) -> list[Line]:
    """For a diff without files."""
    none = f"has no file that differs from {clean(against)}" if against else "has changed no file"
    found: list[Line] = [
        (),
        (("  Nothing changed yet", "bold"),),
        ((f"  {clean(name)} {none}. As soon as it has, the file appears here.", "muted"),),
    ]
    if left_out:
        count = len(left_out)
        found.append(
            ((f"  {count} new file{'s are' if count > 1 else ' is'} too large to be read.", "muted"),)
        )
    return [*found, (), (("  ", ""), *keys(("=", "compare with another agent"), ("esc", "back")))]


def failed(message: str, hint: str) -> list[Line]:
    """For an agent whose changes cannot be read."""
    return [
        (),
        (("  ✗ ", "error"), (clean(message), "bold")),
        *([((f"    {clean(hint)}", "muted"),)] if hint else []),
        (),
        (("  ", ""), *keys(("esc", "back"))),
    ]
