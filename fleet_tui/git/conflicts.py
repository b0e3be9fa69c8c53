"""What exactly conflicts between two commits: each file with its kind, and the lines that both sides have changed.

Merges in memory, as `merging` does for many pairs, and reads the places from git's own markers.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.enclosing import enclosing_function
from fleet_tui.git.merging import run_merge
from fleet_tui.git.program import COMMIT, GitFailed, reason, run
from fleet_tui.work import ConflictingFile, ConflictKind, ConflictPlace

MOST_FILES, MOST_BYTES, MOST_LINES = 50, 1 << 20, 20_000
"""Of further and larger files, only the kind is told."""
_KINDS: tuple[tuple[str, ConflictKind], ...] = (
    ("rename/rename", "renamed both ways"),
    ("file/directory", "file and folder"),
    ("submodule", "submodule"),
    ("binary", "binary"),
    ("distinct modes", "mode"),
    ("directory rename", "other"),
)
"""By a part of what git calls them. Stages tell the rest."""
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class _Stage:
    """One side of a file that conflicts: 1 is what both started from, 2 is ours, 3 is theirs."""

    number: str
    mode: str
    blob: str


@dataclass(frozen=True, slots=True)
class _Merge:
    tree: str
    stages: Mapping[str, Sequence[_Stage]]
    notes: Sequence[tuple[Sequence[str], str, str]]
    """Paths, kind and text of each of git's messages."""


def conflicting_files(
    git_dir: Path,
    one: str,
    other: str,
    *,
    base: str,
    names: Mapping[str, str] | None = None,
    objects: Mapping[str, str] | None = None,
) -> tuple[ConflictingFile, ...]:
    """The files that conflict when `other` is merged into `one`, both full ids; lines are those of `one`.

    Attributes are those of the commit `base`. `names` says what to call a commit in git's messages. Raises GitFailed if git
    is older than 2.38.
    """
    options = ("-c", "merge.conflictStyle=diff3", "merge-tree", "--write-tree", "-z", "--messages")
    done = run_merge(git_dir, base, *options, one, other, objects=objects)
    if done.returncode == 0:
        return ()
    merge = _parsed(done.stdout)
    if merge is None:
        raise GitFailed(reason(done), hint="git 2.39 can")
    kinds = dict(_kinds(merge))
    called = {commit: commit[:10] for commit in (one, other)} | dict(names or {})
    texts = _texts(
        git_dir, one, merge, [path for path, kind in kinds.items() if kind in _WITH_PLACES], objects
    )
    return tuple(
        ConflictingFile(
            path, kind, _places(*texts[path], one) if path in texts else (), _note(merge, path, called)
        )
        for path, kind in kinds.items()
    )


_WITH_PLACES = frozenset({"both changed", "both added"})


def _parsed(text: str) -> _Merge | None:
    tree, _, rest = text.partition("\0")
    if not COMMIT.fullmatch(tree):
        return None
    entries, _, messages = rest.partition("\0\0")
    stages: dict[str, list[_Stage]] = {}
    for entry in filter(None, entries.split("\0")):
        about, _, path = entry.partition("\t")
        mode, blob, number = about.split(" ")
        stages.setdefault(path, []).append(_Stage(number, mode, blob))
    fields = iter(messages.split("\0"))
    notes = []
    for count in fields:
        if not count.isdigit():
            continue
        paths = [next(fields, "") for _ in range(int(count))]
        notes.append((paths, next(fields, ""), next(fields, "").strip()))
    return _Merge(tree, stages, notes)


def _kinds(merge: _Merge) -> Iterator[tuple[str, ConflictKind]]:
    """Each file that conflicts, by path; the three names of a file that both have renamed are one file."""
    told: set[str] = set()
    renamed = [note for note in merge.notes if "rename/rename" in note[1]]
    for paths, _, _ in renamed:
        if paths and paths[0] not in told:
            told.update(paths)
            yield paths[0], "renamed both ways"
    for path, stages in merge.stages.items():
        if path not in told:
            told.add(path)
            yield path, _kind(merge, path, stages)
    for paths, kind, _ in merge.notes:
        # A file that git would move, because the other side has renamed its folder, has no stages of its own.
        if kind.startswith("CONFLICT") and paths and told.isdisjoint(paths):
            told.update(paths)
            yield paths[0], next((ours for part, ours in _KINDS if part in kind), "other")


def _kind(merge: _Merge, path: str, stages: Sequence[_Stage]) -> ConflictKind:
    said = " ".join(kind for paths, kind, _ in merge.notes if path in paths and kind.startswith("CONFLICT"))
    for part, kind in _KINDS:
        if part in said:
            return kind
    if any(stage.mode == _SUBMODULE for stage in stages):
        return "submodule"
    numbers = {stage.number for stage in stages}
    if numbers == {"1", "2", "3"}:
        return "both changed"
    if numbers == {"2", "3"}:
        return "both added"
    if "2" not in numbers:
        return "deleted here"
    return "deleted there" if "3" not in numbers else "other"


def _note(merge: _Merge, path: str, names: Mapping[str, str]) -> str:
    found = (text for paths, kind, text in merge.notes if path in paths and kind.startswith("CONFLICT"))
    text = next(found, "")
    for commit, name in names.items():
        text = text.replace(commit, name)
    return text


# ── the lines ──


def _texts(
    git_dir: Path, one: str, merge: _Merge, paths: Sequence[str], objects: Mapping[str, str] | None
) -> dict[str, tuple[list[str], list[str]]]:
    """By path, the lines of our file, and those of the merged one with git's markers."""
    merged = _merged_blobs(git_dir, one, merge.tree, objects)
    wanted: dict[str, tuple[str, str]] = {}
    for path in paths:
        ours = next((stage.blob for stage in merge.stages.get(path, ()) if stage.number == "2"), "")
        if ours and path in merged and len(wanted) < MOST_FILES:
            wanted[path] = (ours, merged[path])
    contents = _contents(git_dir, {blob for pair in wanted.values() for blob in pair}, objects)
    return {
        path: (contents[ours], contents[whole])
        for path, (ours, whole) in wanted.items()
        if ours in contents and whole in contents
    }


def _merged_blobs(git_dir: Path, one: str, tree: str, objects: Mapping[str, str] | None) -> Mapping[str, str]:
    done = run(
        git_dir,
        *("--git-dir", str(git_dir), "diff-tree", "-r", "-z", "--raw", "--no-renames", one, tree),
        variables=objects,
    )
    fields = done.stdout.split("\0")
    return {path: about.split(" ")[3] for about, path in zip(fields[::2], fields[1::2], strict=False)}


def _contents(git_dir: Path, blobs: set[str], objects: Mapping[str, str] | None) -> dict[str, list[str]]:
    """The lines of each object that is a text of a reasonable size."""

    def ask(how: str, names: Sequence[str]) -> bytes:
        asked = "".join(f"{name}\n" for name in names)
        done = run(git_dir, "--git-dir", str(git_dir), "cat-file", how, variables=objects, stdin=asked)
        return done.stdout.encode("utf-8", "surrogateescape")

    small = []
    for line in ask("--batch-check", sorted(blobs)).split(b"\n"):
        name, _, about = line.decode("ascii", "replace").partition(" ")
        kind, _, size = about.partition(" ")
        if kind == "blob" and int(size) <= MOST_BYTES:
            small.append(name)
    found, rest = {}, ask("--batch", small)
    for name in small:
        head, _, rest = rest.partition(b"\n")
        end = int(head.rsplit(b" ", 1)[1])
        found[name] = rest[:end].decode("utf-8", "replace").removesuffix("\n").split("\n")
        rest = rest[end + 1 :]
    return {name: lines for name, lines in found.items() if len(lines) <= MOST_LINES}


def _places(ours: Sequence[str], merged: Sequence[str], one: str) -> tuple[ConflictPlace, ...]:
    """Where the markers are, in lines of our own file."""
    taken: list[str] = []
    found: list[tuple[int, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = []
    at = 0
    while at < len(merged):
        start = _start(merged[at], one)
        end = _sections(merged, at, start) if start else None
        if end is None:
            taken.append(merged[at])
            at += 1
            continue
        mine, before, theirs, at = end
        found.append((len(taken), before, mine, theirs))
        taken += mine
    if not found:
        return ()
    place_of = _line_map(taken, ours)
    return tuple(
        ConflictPlace(
            place_of(start) + 1,
            place_of(start) + max(1, len(mine)),
            enclosing_function(ours, place_of(start)),
            before,
            mine,
            theirs,
        )
        for start, before, mine, theirs in found
    )


def _start(line: str, one: str) -> int:
    """The length of git's marker if a conflict begins with this line; 0 otherwise."""
    found = re.match(r"(<{7,}) ([0-9a-f]{40,64})(?=[:\r]|$)", line)
    return len(found[1]) if found and found[2] == one else 0


def _sections(
    merged: Sequence[str], start: int, size: int
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], int] | None:
    """Ours, before, theirs, and the line after the conflict; None if it does not end."""
    parts: list[list[str]] = [[]]
    marks = ["|" * size, "=" * size, ">" * size]
    for at in range(start + 1, len(merged)):
        line = merged[at]
        mark = marks[len(parts) - 1]
        if line.rstrip("\r") == mark or line.startswith(f"{mark} "):
            if len(parts) == len(marks):
                mine, before, theirs = (tuple(part) for part in parts)
                return mine, before, theirs, at + 1
            parts.append([])
        else:
            parts[-1].append(line)
    return None


class _LineMap:
    """From a line of a merged file, with our side of each conflict, to the same line of our own file."""

    def __init__(self, taken: Sequence[str], ours: Sequence[str]) -> None:
        # Both begin alike up to their first difference; the matcher need not see that part.
        self._alike = next(
            (at for at, pair in enumerate(zip(taken, ours, strict=False)) if pair[0] != pair[1]),
            min(len(taken), len(ours)),
        )
        self._last = max(0, len(ours) - 1)
        matcher = difflib.SequenceMatcher(None, taken[self._alike :], ours[self._alike :], autojunk=False)
        self._blocks = matcher.get_matching_blocks() if self._alike < len(taken) else []

    def __call__(self, line: int) -> int:
        if line < self._alike:
            return line
        shift = 0
        for block in self._blocks:
            if block.a + self._alike > line:
                break
            shift = block.b - block.a
        return min(self._last, line + shift)


def _line_map(taken: Sequence[str], ours: Sequence[str]) -> _LineMap:
    return _LineMap(taken, ours)
