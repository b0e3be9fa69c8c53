"""What differs between two trees: names and line counts at once, hunks of single files when they are asked for.

Trees and commits alone are compared, never a work tree, so no configured program is run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import replace
from fleet_tui.git.program import GitFailed, reason, run
from fleet_tui.work import ChangedFile, DiffKind

_OPTIONS = ("-r", "--no-ext-diff", "--no-textconv", "--find-renames", "-l2000", "--ignore-submodules=none")
_KINDS: Mapping[str, DiffKind] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "T": "type changed",
}


def changed_files(
    git_dir: Path, old: str, new: str, *, objects: Mapping[str, str] | None = None
) -> list[ChangedFile]:
    """The files that differ between two trees or commits, by path, with lines added and removed."""
    text = _output(git_dir, "diff-tree", *_OPTIONS, "-z", "--raw", "--numstat", old, new, objects=objects)
    fields = text.split("\0")
    files: dict[str, ChangedFile] = {}
    at = 0
    while at < len(fields) and fields[at].startswith(":"):
        old_mode, new_mode, old_blob, new_blob, letter = fields[at][1:].split(" ")
        kind = _KINDS.get(letter[0], "modified")
        before = fields[at + 1]
        at += 2
        path = before
        if letter[0] == "R":
            path = fields[at]
            at += 1
        if kind == "modified" and old_blob == new_blob:
            kind = "mode changed"
        files[path] = ChangedFile(
            path,
            kind,
            before if kind == "renamed" else "",
            old_mode.strip("0") and old_mode,
            new_mode.strip("0") and new_mode,
            old_blob.strip("0") and old_blob,
            new_blob.strip("0") and new_blob,
        )
    while at < len(fields) and fields[at]:
        added, removed, path = fields[at].split("\t", 2)
        at += 1
        if not path:  # a rename has its two paths behind
            path = fields[at + 1]
            at += 2
        if path in files:
            is_binary = added == "-"
            counts = (0, 0) if is_binary else (int(added), int(removed))
            files[path] = replace(files[path], added=counts[0], removed=counts[1], is_binary=is_binary)
    return [files[path] for path in sorted(files)]


def patch(
    git_dir: Path,
    old: str,
    new: str,
    names: Sequence[str] = (),
    *,
    context: int = 3,
    objects: Mapping[str, str] | None = None,
) -> str:
    """The patch between two trees or commits that `git apply` takes, of all files or of some."""
    options = ("-p", "--binary", "--full-index", f"--unified={context}", "--no-color")
    limit = ("--", *(f":(literal){name}" for name in names)) if names else ()
    return _output(git_dir, "diff-tree", *_OPTIONS, *options, old, new, *limit, objects=objects)


def stat_text(
    git_dir: Path, old: str, new: str, *, width: int, objects: Mapping[str, str] | None = None
) -> str:
    """What `git diff --stat` prints."""
    return _output(git_dir, "diff-tree", *_OPTIONS, f"--stat={width}", "--summary", old, new, objects=objects)


def fork_point(git_dir: Path, one: str, other: str, *, objects: Mapping[str, str] | None = None) -> str:
    """The newest commit that both have; empty if there is none."""
    return _run(git_dir, "merge-base", one, other, objects=objects).stdout.strip()


def commit_of(git_dir: Path, name: str) -> str:
    """The commit that a branch, a tag or a part of an id names. Raises GitFailed if there is none."""
    found = _run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    if found.returncode:
        raise GitFailed(f"there is no commit {name!r}", hint="git branch lists the branches")
    return found.stdout.strip()


def _output(git_dir: Path, *arguments: str, objects: Mapping[str, str] | None = None) -> str:
    done = _run(git_dir, *arguments, objects=objects)
    if done.returncode:
        raise GitFailed(reason(done))
    return done.stdout


def _run(
    git_dir: Path, *arguments: str, objects: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return run(git_dir, "--git-dir", str(git_dir), *arguments, variables=objects)
