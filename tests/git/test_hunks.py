"""The changed lines of single files between two trees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.git import hunks
from fleet_tui.work import DiffLine, FileDiff
from tests.git.repositories import call


def snapshot_of(place: Path, scratch: git.ScratchObjects) -> str:
    return git.take_snapshot(git.place_at(place), scratch, "key").tree


def changed(place: Path, path: str, change: Callable[[], object], *, context: int = 3) -> FileDiff:
    """The diff of a file between the worktree before and after a change."""
    git_dir = git.place_at(place).git_dir
    with git.scratch_objects(git_dir) as scratch:
        old = snapshot_of(place, scratch)
        change()
        new = snapshot_of(place, scratch)
        files = git.changed_files(git_dir, old, new, objects=scratch.variables)
        [file] = [one for one in files if one.path == path]
        return git.file_diff(git_dir, old, new, file, context=context, objects=scratch.variables)


def shown(diff: FileDiff) -> list[str]:
    return [f"{line.sign}{line.text}" for hunk in diff.hunks for line in hunk.lines]


def test_hunks_have_the_numbers_of_both_sides_and_a_heading(place: Path) -> None:
    lines = ["def one():", *(f"    {number}" for number in range(20))]
    file = place / "f.py"
    file.write_text("\n".join(lines) + "\n")
    after = [*lines[:10], "    new", "    newer", *lines[11:]]

    found = changed(place, "f.py", lambda: file.write_text("\n".join(after) + "\n"))

    [hunk] = found.hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (8, 7, 8, 8)
    assert hunk.heading == "def one():"
    assert hunk.lines[3:6] == (
        DiffLine("-", "    9", old=11),
        DiffLine("+", "    new", new=11),
        DiffLine("+", "    newer", new=12),
    )
    assert hunk.lines[-1] == DiffLine(" ", "    12", 14, 15)
    assert (found.file.added, found.file.removed, found.is_cut) == (2, 1, False)
    assert found.new_size == file.stat().st_size


def test_the_whole_file_is_one_hunk(place: Path) -> None:
    file = place / "long.txt"
    file.write_text("".join(f"{number}\n" for number in range(500)))

    found = changed(place, "long.txt", lambda: file.write_text(file.read_text() + "end\n"), context=-1)

    [hunk] = found.hunks
    assert len(hunk.lines) == 501


def test_an_end_without_a_newline_is_told_for_each_side(place: Path) -> None:
    file = place / "f"
    file.write_text("a\nb")

    [hunk] = changed(place, "f", lambda: file.write_text("a\nb\n")).hunks

    assert hunk.lines[1:] == (DiffLine("-", "b", old=2, has_no_end=True), DiffLine("+", "b", new=2))


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\n", [" a\r", "-b\r", "+c\r"]),
        (b"a\r\n", b"a\n", ["-a\r", "+a"]),
        (b"caf\xe9\n", b"caf\xc3\xa9\n", ["-caf\udce9", "+café"]),
        (b"", b"x\n", ["+x"]),
        (b"--- a\n", b"+++ b\n", ["---- a", "++++ b"]),
        (b"a\x0cb\x0b\xe2\x80\xa8c\n", b"x\n", ["-a\x0cb\x0b\u2028c", "+x"]),
        (b"\n\nx\n", b"\n\ny\n", [" ", " ", "-x", "+y"]),
        (b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", ["-@@ -1 +1 @@", "+diff --git a/x b/x"]),
    ],
    ids=["carriage returns", "other ends", "no UTF-8", "empty", "dashes", "odd breaks", "blank lines", "like a patch"],
)  # fmt: skip
def test_lines_are_as_they_are_in_the_file(
    place: Path, before: bytes, after: bytes, lines: list[str]
) -> None:
    file = place / "f"
    file.write_bytes(before)

    assert shown(changed(place, "f", lambda: file.write_bytes(after))) == lines


@pytest.mark.parametrize(
    "name", ["a b", "tab\there", "new\nline", 'quo"te', "back\\slash", "*", ":(glob)x", "-x", "ü", "\udce9"]
)
def test_any_name_is_found(place: Path, name: str) -> None:
    (place / name).write_text("a\n")

    assert shown(changed(place, name, lambda: (place / name).write_text("b\n"))) == ["-a", "+b"]


def test_a_renamed_file_is_compared_with_what_it_was(place: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    (place / "old.txt").write_text(text)

    def rename() -> None:
        (place / "old.txt").unlink()
        (place / "new.txt").write_text(text.replace("line 7\n", "line seven\n"))

    found = changed(place, "new.txt", rename)

    assert (found.file.kind, found.file.old_path) == ("renamed", "old.txt")
    assert [line for line in shown(found) if line[0] != " "] == ["-line 7", "+line seven"]


def test_a_file_that_became_a_link_is_shown_as_both(place: Path) -> None:
    (place / "f").write_text("text\n")

    def link() -> None:
        (place / "f").unlink()
        (place / "f").symlink_to("target")

    found = changed(place, "f", link)

    assert found.file.kind == "type changed"
    assert shown(found) == ["-text", "+target"]


def test_a_file_that_became_a_folder_has_no_lines_of_the_files_in_it(place: Path) -> None:
    (place / "f").write_text("text\n")

    def swap() -> None:
        (place / "f").unlink()
        (place / "f").mkdir()
        (place / "f" / "inner").write_text("other\n")

    assert shown(changed(place, "f", swap)) == ["-text"]


def test_a_file_with_another_mode_or_of_bytes_has_no_lines(place: Path) -> None:
    (place / "run").write_text("x\n")
    (place / "blob").write_bytes(b"\0a")

    mode = changed(place, "run", lambda: (place / "run").chmod(0o755))
    assert (mode.file.kind, mode.file.old_mode, mode.file.new_mode, mode.hunks) == (
        "mode changed",
        "100644",
        "100755",
        (),
    )

    binary = changed(place, "blob", lambda: (place / "blob").write_bytes(b"\0bc"))
    assert (binary.file.is_binary, binary.hunks, binary.old_size, binary.new_size) == (True, (), 2, 3)


def test_a_moved_submodule_is_two_lines(repo: Path, place: Path) -> None:
    git_dir = repo / ".git"
    one, other = "1" * 40, "2" * 40
    call(place, "update-index", "--add", "--cacheinfo", f"160000,{one},sub")
    old = call(place, "write-tree")
    call(place, "update-index", "--cacheinfo", f"160000,{other},sub")
    new = call(place, "write-tree")

    [file] = git.changed_files(git_dir, old, new)

    assert shown(git.file_diff(git_dir, old, new, file)) == [
        f"-Subproject commit {one}",
        f"+Subproject commit {other}",
    ]


def test_what_is_too_large_to_draw_is_cut_and_said_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place / "f"
    file.write_text("".join(f"{number}\n" for number in range(100)))
    monkeypatch.setattr(hunks, "MOST_LINES", 50)

    found = changed(place, "f", lambda: file.write_text("x\n" + file.read_text()), context=-1)

    assert found.is_cut
    assert (len(found.hunks[0].lines), found.hunks[0].old_count, found.hunks[0].new_count) == (50, 49, 50)

    monkeypatch.setattr(hunks, "MOST_BYTES", 100)
    found = changed(place, "f", lambda: file.write_text("y\n"))
    assert (found.is_cut, found.hunks) == (True, ())


def test_the_text_of_an_object_ends_with_a_whole_line(place: Path) -> None:
    (place / "f").write_text("one\ntwo\nthree\n")
    (place / "bytes").write_bytes(b"\0")
    blobs = [call(place, "hash-object", "-w", name) for name in ("f", "bytes")]
    git_dir = git.place_at(place).git_dir

    assert git.blob_text(git_dir, blobs[0], limit=9) == "one\ntwo\n"
    assert git.blob_text(git_dir, blobs[0], limit=1000) == "one\ntwo\nthree\n"
    assert git.blob_text(git_dir, blobs[1], limit=9) == ""
    assert git.blob_text(git_dir, "0" * 40, limit=9) == ""
    assert git.blob_text(git_dir, "--help", limit=9) == ""
