"""The changed lines of one file between two trees, from git's own patch, and the content of single objects.

What is returned is bounded, because any of it may be drawn: a file that is too large has no lines, and a diff that is
too long ends early. Lines keep bytes that are no UTF-8 as surrogate escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import replace
from fleet_tui.git.diffs import PATCH_OPTIONS, diff_output
from fleet_tui.git.program import COMMIT, GitFailed, lines, reason, run
from fleet_tui.work import ChangedFile, DiffLine, FileDiff, Hunk

MOST_BYTES = 64 << 20
"""The size of a file, on either side, above which no lines are shown."""
MOST_LINES = 100_000
"""Lines of one file's diff."""
MOST_CHARACTERS = 16 << 20
"""Characters of one file's diff."""
WHOLE_FILE = 100_000_000
"""Lines of context that are more than any shown file has."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_INDEX = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)")
_SUBMODULE = "160000"


def file_diff(
    git_dir: Path,
    old: str,
    new: str,
    file: ChangedFile,
    *,
    context: int = 3,
    objects: Mapping[str, str] | None = None,
) -> FileDiff:
    """The changed lines of a file between two trees or commits; with a negative `context`, all its lines."""
    blobs = [_blob(file.old_mode, file.old_blob), _blob(file.new_mode, file.new_blob)]
    sizes = blob_sizes(git_dir, blobs, objects=objects)
    found = FileDiff(file, (), sizes[0], sizes[1])
    if file.is_binary or file.old_blob == file.new_blob:
        return found
    if max(sizes) > MOST_BYTES:
        return replace(found, is_cut=True)
    names = [f":(literal){name}" for name in (file.old_path, file.path) if name]
    around = f"--unified={context if context >= 0 else WHOLE_FILE}"
    text = diff_output(git_dir, *PATCH_OPTIONS, around, old, new, "--", *names, objects=objects)
    hunks, is_cut = _bounded(_hunks_of(text, file))
    if not hunks and "\nBinary files " in text:
        return replace(found, file=replace(file, is_binary=True))
    return replace(found, hunks=hunks, is_cut=is_cut)


def blob_sizes(
    git_dir: Path, blobs: Sequence[str], *, objects: Mapping[str, str] | None = None
) -> tuple[int, ...]:
    """The sizes of objects in bytes; 0 for an empty id, and for one that the repository does not have."""
    wanted = [blob for blob in blobs if blob]
    if not wanted:
        return (0,) * len(blobs)
    done = run(
        git_dir,
        *("--git-dir", str(git_dir), "cat-file", "--batch-check=%(objectname) %(objectsize)"),
        variables=objects,
        stdin="".join(f"{blob}\n" for blob in wanted),
    )
    sizes = dict(line.split(" ", 1) for line in lines(done.stdout) if " " in line)
    return tuple(int(sizes[blob]) if sizes.get(blob, "").isdecimal() else 0 for blob in blobs)


def blob_text(git_dir: Path, blob: str, *, limit: int, objects: Mapping[str, str] | None = None) -> str:
    """The text of an object, at most `limit` bytes and then only whole lines; empty if it is binary or is not there."""
    if not COMMIT.fullmatch(blob):
        return ""
    [size] = blob_sizes(git_dir, [blob], objects=objects)
    if not 0 < size <= MOST_BYTES:
        return ""
    done = run(git_dir, "--git-dir", str(git_dir), "cat-file", "blob", blob, variables=objects)
    if done.returncode or "\0" in done.stdout[:8000]:
        return ""
    data = done.stdout.encode("utf-8", "surrogateescape")
    if len(data) > limit:
        data = data[: data.rfind(b"\n", 0, limit) + 1]
    return data.decode("utf-8", "surrogateescape")


def file_text(git_dir: Path, tree: str, path: str, *, objects: Mapping[str, str] | None = None) -> str | None:
    """The text of a file of a tree; None if it is not there, is no text or is too large. Raises GitFailed without the tree."""
    if any(part in ("", ".", "..") for part in path.split("/")):
        return None
    # With literal names, and from the top: any other character of a path would mean something.
    done = run(
        git_dir,
        *("--git-dir", str(git_dir), "--literal-pathspecs", "ls-tree", "-z", "--full-tree", tree, "--", path),
        variables=objects,
    )
    if done.returncode:
        raise GitFailed(reason(done))
    for entry in done.stdout.split("\0"):
        facts, _, name = entry.partition("\t")
        mode, _, blob = facts.partition(" ")
        if name == path and mode != _SUBMODULE and blob.startswith("blob "):
            text = blob_text(git_dir, blob.removeprefix("blob "), limit=MOST_BYTES, objects=objects)
            return text or None
    return None


def _blob(mode: str, blob: str) -> str:
    """The object with a file's content; a submodule's is in another repository."""
    return "" if mode == _SUBMODULE else blob


# ── reading a patch ──


def _hunks_of(text: str, file: ChangedFile) -> Iterator[Hunk]:
    """The hunks of a file in a patch, which may have other files as well: those of a folder of the same name.

    Git writes a file whose type has changed as one that is deleted and one that is added.
    """
    nothing = "0" * len(file.old_blob or file.new_blob)
    old, new = file.old_blob or nothing, file.new_blob or nothing
    wanted = {(old, new), (old, nothing), (nothing, new)} if file.kind == "type changed" else {(old, new)}
    rows = text.split("\n")
    is_wanted = False
    at = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if row.startswith("diff --git "):
            is_wanted = False
        elif named := _INDEX.match(row):
            is_wanted = (named[1], named[2]) in wanted
        elif found := _HUNK.match(row):
            hunk, at = _read_hunk(found, rows, at)
            if is_wanted:
                yield hunk


def _read_hunk(header: re.Match[str], rows: Sequence[str], at: int) -> tuple[Hunk, int]:
    """The hunk whose lines begin at a row, and the row after it."""
    old, new = int(header[1]), int(header[3])
    counts = tuple(1 if count is None else int(count) for count in (header[2], header[4]))
    old_end, new_end = old + counts[0], new + counts[1]
    found: list[DiffLine] = []
    while old < old_end or new < new_end or rows[at].startswith("\\"):
        row = rows[at]
        at += 1
        sign, line = row[:1], row[1:]
        if sign == "\\":
            found[-1] = replace(found[-1], has_no_end=True)
        elif sign == "-":
            found.append(DiffLine("-", line, old=old))
            old += 1
        elif sign == "+":
            found.append(DiffLine("+", line, new=new))
            new += 1
        else:
            found.append(DiffLine(" ", line, old, new))
            old, new = old + 1, new + 1
    return Hunk(int(header[1]), counts[0], int(header[3]), counts[1], header[5], tuple(found)), at


def _bounded(hunks: Iterable[Hunk]) -> tuple[tuple[Hunk, ...], bool]:
    """The first hunks, as far as they can be drawn, and whether something is left out."""
    kept: list[Hunk] = []
    rows = characters = 0
    for hunk in hunks:
        for place, line in enumerate(hunk.lines):
            rows, characters = rows + 1, characters + len(line.text)
            if rows > MOST_LINES or characters > MOST_CHARACTERS:
                kept += [_cut(hunk, place)] if place else []
                return tuple(kept), True
        kept.append(hunk)
    return tuple(kept), False


def _cut(hunk: Hunk, count: int) -> Hunk:
    left = hunk.lines[:count]
    old, new = (sum(line.sign != other for line in left) for other in "+-")
    return replace(hunk, old_count=old, new_count=new, lines=left)
