"""What exactly conflicts between two commits: file by file, in git's words, and the lines of each place.

Merged in memory, with the same rules as `merging`: no configured program runs. `ours` is the commit whose files the line
numbers are of, the agent's; `theirs` is what it is merged with.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.git.merging import merge_environment
from fleet_tui.git.program import COMMIT, GitFailed, reason, run
from fleet_tui.work import ConflictingFile, ConflictKind, ConflictPlace

LARGE = 1 << 20
"""Bytes of a file whose places are not looked for."""
MOST_PLACES = 50
"""Places of one file; a file with more is described well enough by these."""
_MARKER = 43
"""The length of the markers, which no file is likely to have at the start of a line."""
_BY_TYPE: Mapping[str, ConflictKind] = {
    "binary": "binary",
    "file/directory": "file and folder",
    "rename/rename": "renamed both ways",
    "distinct modes": "file and folder",
}
_BLOBS = frozenset({"100644", "100755"})
_DEFINES = re.compile(
    r"\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|static|async|unsafe|abstract|final|override)\s+)*"
    r"(?:def|class|fn|func|function|impl|interface|struct|trait|type|enum|module|sub)\s+[(\w]"
)
_NAME = re.compile(
    r"(?:def|class|fn|func|function|impl|interface|struct|trait|type|enum|module|sub)\s+(?:\([^)]*\)\s*)?([\w.:]+)"
)


@dataclass(slots=True)
class _Found:
    stages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By stage (1 before, 2 ours, 3 theirs), mode and object."""
    types: list[str] = field(default_factory=list)
    message: str = ""


def conflicting_files(
    git_dir: Path,
    ours: str,
    theirs: str,
    *,
    base: str,
    names: Mapping[str, str] | None = None,
    objects: Mapping[str, str] | None = None,
) -> tuple[ConflictingFile, ...]:
    """The files that two commits conflict in; empty if they merge.

    `names` says what git's words call a commit. The objects of the merge go where `objects` says.
    """
    with merge_environment(git_dir, base) as (folder, options):
        done = run(
            folder,
            *options,
            "merge-tree",
            "--write-tree",
            "-z",
            "--messages",
            ours,
            theirs,
            variables=objects,
        )
        if done.returncode == 0:
            return ()
        head, _, rest = done.stdout.partition("\0")
        if not COMMIT.fullmatch(head):
            raise GitFailed(reason(done), hint="git 2.39 or newer tells what conflicts")
        found = _parsed(rest)
        return tuple(
            ConflictingFile(
                path,
                _kind(one),
                _places(git_dir, one, objects),
                _renamed(one.message, {ours: ours[:10], theirs: theirs[:10], **(names or {})}),
            )
            for path, one in sorted(found.items())
            if one.stages or one.message
        )


def _parsed(text: str) -> dict[str, _Found]:
    """Read the list of conflicted files, and the messages behind it."""
    found: dict[str, _Found] = {}
    fields = iter(text.split("\0"))
    for entry in iter(lambda: next(fields, ""), ""):
        facts, _, path = entry.partition("\t")
        mode, blob, stage = facts.split(" ")
        found.setdefault(path, _Found()).stages[stage] = (mode, blob)
    for count in fields:
        if not count.isdigit():
            break
        paths = [next(fields, "") for _ in range(int(count))]
        kind, message = next(fields, ""), next(fields, "").strip()
        if kind.startswith("CONFLICT"):
            touched = [path for path in paths if path in found] or paths[:1]
            for path in touched:
                one = found.setdefault(path, _Found())
                one.types.append(kind.removeprefix("CONFLICT (").rstrip(")"))
                one.message = one.message or message
    return found


def _kind(one: _Found) -> ConflictKind:
    modes = {mode for mode, _ in one.stages.values()}
    if "160000" in modes or any("submodule" in kind for kind in one.types):
        return "submodule"
    for kind in one.types:
        if kind in _BY_TYPE:
            return _BY_TYPE[kind]
    has = "".join(sorted(one.stages))
    if has in ("13", "3") and any("delete" in kind for kind in one.types):
        return "deleted here"
    if has in ("12", "2") and any("delete" in kind for kind in one.types):
        return "deleted there"
    if has == "23":
        return "both added"
    if has == "123":
        blobs = {blob for _, blob in one.stages.values()}
        return "mode" if len(blobs) == 1 else "both changed"
    return "other"


def _renamed(message: str, names: Mapping[str, str]) -> str:
    for commit, name in names.items():
        message = message.replace(commit, name)
    return message


# ── places ──


def _places(git_dir: Path, one: _Found, objects: Mapping[str, str] | None) -> tuple[ConflictPlace, ...]:
    sides = [one.stages.get(stage) for stage in "213"]
    if sides[0] is None or sides[2] is None or any(side and side[0] not in _BLOBS for side in sides):
        return ()
    with tempfile.TemporaryDirectory(prefix="fleet-merge-") as folder:
        files = []
        for name, side in zip(("ours", "before", "theirs"), sides, strict=True):
            text = _blob(git_dir, side[1], objects) if side else ""
            if text is None:
                return ()
            file = Path(folder, name)
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
            files.append(str(file))
        done = run(Path(folder), "merge-file", "-p", "-q", "--diff3", f"--marker-size={_MARKER}", *files)
        if not 0 <= done.returncode < 128:
            return ()
        ours = Path(files[0]).read_bytes().decode("utf-8", "surrogateescape").split("\n")
    return tuple(_read_places(done.stdout.split("\n"), ours))


def _blob(git_dir: Path, blob: str, objects: Mapping[str, str] | None) -> str | None:
    """A text of moderate size; None for anything else."""
    size = run(git_dir, "--git-dir", str(git_dir), "cat-file", "-s", blob, variables=objects).stdout.strip()
    if not size.isdigit() or int(size) > LARGE:
        return None
    text = run(git_dir, "--git-dir", str(git_dir), "cat-file", "blob", blob, variables=objects).stdout
    return None if "\0" in text else text


def _read_places(lines: Iterable[str], ours: Sequence[str]) -> Iterator[ConflictPlace]:
    parts: dict[str, list[str]] = {}
    side, number, count = "", 0, 0
    for line in lines:
        mark = line[:1] if line[:_MARKER] == line[:1] * _MARKER else ""
        if mark == "<" and not side:
            side, parts = "ours", {"ours": [], "before": [], "theirs": []}
        elif mark == "|" and side == "ours":
            side = "before"
        elif mark == "=" and side == "before":
            side = "theirs"
        elif mark == ">" and side == "theirs":
            first = number + 1
            number += len(parts["ours"])
            side, count = "", count + 1
            if count > MOST_PLACES:
                return
            yield ConflictPlace(
                first,
                max(first, number),
                _function(ours, first),
                *(tuple(parts[name]) for name in ("before", "ours", "theirs")),
            )
        elif side:
            parts[side].append(line)
        else:
            number += 1


def _function(lines: Sequence[str], first: int) -> str:
    """The function or class around a line; empty if none is recognised."""
    at = min(first, len(lines)) - 1
    own = [line for line in lines[at : at + 1] if line.strip()]
    limit = len(own[0]) - len(own[0].lstrip()) if own else 1
    if own and _DEFINES.match(own[0]):
        return _named(own[0])
    for line in reversed(lines[:at]):
        indent = len(line) - len(line.lstrip())
        if line.strip() and _DEFINES.match(line) and (indent < limit or limit == 0 == indent):
            # At the left margin, only a definition whose body may still go on counts.
            return _named(line) if limit else ""
    return ""


def _named(line: str) -> str:
    found = _NAME.search(line)
    return found[1] if found else line.strip()[:60]
