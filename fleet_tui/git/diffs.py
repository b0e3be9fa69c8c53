"""What differs between two trees: names and line counts at once, hunks of single files when they are asked for.

Trees and commits alone are compared, never a work tree, so no configured program is run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fleet_tui.fast_dataclasses import replace
from fleet_tui.git.program import GitFailed, reason, run
from fleet_tui.work import ChangedFile, DiffKind

_COUNTED = 100_000
"""How many pairs of objects the line counts are kept of."""
_counts: dict[tuple[str, str], tuple[int, int, bool]] = {}
"""Lines added and removed between two objects, and whether they are binary: a review is refreshed all the time."""
_OPTIONS = ("-r", "--no-ext-diff", "--no-textconv", "--find-renames", "-l1000", "--ignore-submodules=none")
PATCH_OPTIONS = ("-p", "--full-index", "--no-color")
LINK = "120000"
_NAMED = 200
"""Up to so many files are named to git, above that it compares all: a command line is limited."""
_KINDS: Mapping[str, DiffKind] = {
    "A": "added",
    "M": "modified",
    "D": "deleted",
    "R": "renamed",
    "T": "type changed",
}


def changed_files(
    git_dir: Path,
    old: str,
    new: str,
    *,
    counts: bool = True,
    objects: Mapping[str, str] | None = None,
) -> list[ChangedFile]:
    """The files that differ between two trees or commits, by path; with `counts`, the lines added and removed in each."""
    files = sorted(_named(git_dir, old, new, objects), key=lambda one: one.path)
    if counts:
        _count(git_dir, old, new, files, objects)
        return [_counted(one) for one in files]
    return files


def _named(git_dir: Path, old: str, new: str, objects: Mapping[str, str] | None) -> Iterator[ChangedFile]:
    fields = iter(diff_output(git_dir, "-z", "--raw", old, new, objects=objects).split("\0"))
    for field in fields:
        if not field:
            continue
        old_mode, new_mode, old_blob, new_blob, letter = field[1:].split(" ")
        kind = _KINDS.get(letter[0], "modified")
        before = next(fields)
        path = next(fields) if letter[0] == "R" else before
        if kind == "modified" and old_blob == new_blob:
            kind = "mode changed"
        yield ChangedFile(
            path,
            kind,
            before if kind == "renamed" else "",
            old_mode.strip("0") and old_mode,
            new_mode.strip("0") and new_mode,
            old_blob.strip("0") and old_blob,
            new_blob.strip("0") and new_blob,
        )


def _count(
    git_dir: Path, old: str, new: str, files: Sequence[ChangedFile], objects: Mapping[str, str] | None
) -> None:
    """Count the lines of the files that are not counted yet."""
    missing = [one for one in files if (one.old_blob, one.new_blob) not in _counts]
    if not missing:
        return
    if len(_counts) > _COUNTED:
        _counts.clear()
        missing = list(files)
    names = [name for one in missing for name in (one.old_path, one.path) if name]
    limit = _limit(names) if len(names) <= _NAMED else []
    by_path = {one.path: one for one in files}
    fields = iter(diff_output(git_dir, "-z", "--numstat", old, new, *limit, objects=objects).split("\0"))
    for field in fields:
        if not field:
            continue
        added, removed, path = field.split("\t", 2)
        if not path:  # a rename has its two paths behind
            _, path = next(fields), next(fields)
        if (one := by_path.get(path)) is not None:
            is_binary = added == "-"
            numbers = (0, 0) if is_binary else (int(added), int(removed))
            _counts[one.old_blob, one.new_blob] = (*numbers, is_binary)


def _counted(file: ChangedFile) -> ChangedFile:
    added, removed, is_binary = _counts.get((file.old_blob, file.new_blob), (0, 0, False))
    return replace(file, added=added, removed=removed, is_binary=is_binary)


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
    options = [*PATCH_OPTIONS, "--binary", f"--unified={context}"]
    if _confuses_apply(list(_named(git_dir, old, new, objects))):
        options.append("--no-renames")
    return diff_output(git_dir, *options, old, new, *_limit(names), objects=objects)


def _confuses_apply(files: Sequence[ChangedFile]) -> bool:
    """Whether a link was renamed and files are below its old path: `git apply` takes them to be behind the link."""
    links = [one.old_path for one in files if one.kind == "renamed" and one.old_mode == LINK]
    return any(one.path.startswith(f"{link}/") for link in links for one in files)


def stat_text(
    git_dir: Path,
    old: str,
    new: str,
    names: Sequence[str] = (),
    *,
    width: int,
    objects: Mapping[str, str] | None = None,
) -> str:
    """What `git diff --stat` prints, of all files or of some."""
    options = (f"--stat={width}", "--summary")
    return diff_output(git_dir, *options, old, new, *_limit(names), objects=objects)


def _limit(names: Sequence[str]) -> list[str]:
    return ["--", *(f":(literal){name}" for name in names)] if names else []


def fork_point(git_dir: Path, one: str, other: str, *, objects: Mapping[str, str] | None = None) -> str:
    """The newest commit that both have; empty if there is none."""
    return _run(git_dir, "merge-base", one, other, objects=objects).stdout.strip()


def commit_count(git_dir: Path, old: str, new: str) -> int:
    """How many commits the second one has that the first has not."""
    done = _run(git_dir, "rev-list", "--count", f"{old}..{new}")
    if done.returncode:
        raise GitFailed(reason(done))
    return int(done.stdout)


def commit_of(git_dir: Path, name: str) -> str:
    """The commit that a branch, a tag or a part of an id names. Raises GitFailed if there is none."""
    found = _run(git_dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    if found.returncode:
        raise GitFailed(f"there is no commit {name!r}", hint="git branch lists the branches")
    return found.stdout.strip()


def diff_output(git_dir: Path, *arguments: str, objects: Mapping[str, str] | None = None) -> str:
    """What `git diff-tree` prints. Raises GitFailed with git's reason."""
    done = _run(
        git_dir, "-c", "diff.suppressBlankEmpty=false", "diff-tree", *_OPTIONS, *arguments, objects=objects
    )
    if done.returncode:
        raise GitFailed(reason(done))
    return done.stdout


def _run(
    git_dir: Path, *arguments: str, objects: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return run(git_dir, "--git-dir", str(git_dir), *arguments, variables=objects)
