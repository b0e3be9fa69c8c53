"""Copies files that git ignores, such as credentials, from a project into a new worktree.

What to copy is named by `setup.credential_files` and by the lines of `.worktreeinclude`, both passed in: a launcher
copies what the user has trusted, not what the repository says by then. Only what lies inside the repository is read,
only inside the worktree is written, and nothing there is ever overwritten: a file that git tracks exists already. A
file that is missing or refused is named, never an error. Git itself is not asked.

A link is followed, so that an agent which writes to its copy does not write into the project; inside a
copied folder, a relative link that stays within that folder remains a link.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from fleet_tui.config import INCLUDE_FILE
from fleet_tui.globs import Glob
from fleet_tui.names import is_pattern
from fleet_tui.values import dataclass, field

MAX_FILES = 10_000
"""Of one folder; a larger one is better made anew by a setup command."""
MAX_BYTES = 512 * 1024 * 1024
"""Of one folder or file."""
MAX_DEPTH = 100
"""Of folders in folders."""
SEARCH_SECONDS = 10.0
"""How long patterns are looked for in a project."""

_NOT_SEARCHED = frozenset(
    {".git", ".aifleet", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache"}
)
"""Folders that patterns do not look into, since they are large and made by tools; naming one copies it."""


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of the files that a worktree should get."""

    copied: list[str] = field(default_factory=list)
    """Relative paths; a folder once, with a slash at its end."""
    missing: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Each path or pattern with the reason."""


class _Refusal(Exception):
    """This path is not copied, for the reason in its text."""


def copy(
    project: Path,
    worktree: Path,
    patterns: Sequence[str],
    include: Sequence[str] = (),
    *,
    seconds: float = SEARCH_SECONDS,
) -> Copied:
    """Copy the files that the patterns and the lines of an include file name, as far as that is safe."""
    job = _Job(project.resolve(), worktree.resolve(), Copied(), time.monotonic() + seconds)
    for pattern, names in _all_named(job, patterns):
        for name in names:
            job.take(name)
        if not names or (not is_pattern(pattern) and not os.path.lexists(job.project / names[0])):
            job.result.missing.append(pattern)
    for name in _included(job, include):
        job.take(name)
    return job.result


def chosen(
    project: Path, patterns: Sequence[str], include: Sequence[str], *, seconds: float = SEARCH_SECONDS
) -> list[str]:
    """The relative paths that `copy` would copy now, in order; nothing is read."""
    job = _Job(project.resolve(), Path(os.devnull), Copied(), time.monotonic() + seconds)
    found = [name for _, names in _all_named(job, patterns) for name in names]
    found += _included(job, include)
    return [name for name in dict.fromkeys(found) if os.path.lexists(job.project / name)]


def matched(line: str, names: Sequence[str]) -> list[str]:
    """Those of the paths that one line of an include file matches."""
    rule = _Rule.parse(line)
    return [name for name in names if rule.matches(name)]


def _all_named(job: _Job, patterns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for pattern in patterns:
        try:
            yield pattern, _named(job, pattern)
        except _Refusal as refusal:
            job.result.refused.append((pattern, str(refusal)))


def _named(job: _Job, pattern: str) -> list[str]:
    """The relative paths that an entry of the configuration stands for; a plain path stands for itself."""
    path = Path(os.path.expanduser(pattern) if pattern.startswith("~") else pattern)  # noqa: PTH111  # Path.expanduser raises for an unknown user
    if not pattern.strip() or "\0" in pattern:
        raise _Refusal("is not a path")
    if ".." in path.parts:
        raise _Refusal("contains '..'")
    if path.is_absolute():
        if not path.is_relative_to(job.project):
            raise _Refusal("lies outside the repository")
        path = path.relative_to(job.project)
    name = path.as_posix()
    if name == ".":
        raise _Refusal("is the whole repository")
    if is_pattern(name) and not os.path.lexists(job.project / name):
        return list(_search(job, [_Rule.parse("/" + name)]))
    return [name]


# ── patterns ──


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of the include file, with the meaning it has in a .gitignore."""

    glob: Glob
    is_anchored: bool
    is_negative: bool
    is_folder: bool
    literal: str = ""
    """The one path that it can match, where it is anchored and has no wildcards."""

    @staticmethod
    def parse(line: str) -> _Rule:
        is_negative = line.startswith("!")
        body = line[is_negative:]
        is_folder = body.endswith("/")
        body = body.rstrip("/")
        is_anchored = "/" in body
        body = body.lstrip("/")
        is_literal = is_anchored and not is_negative and not is_pattern(body) and "\\" not in body
        return _Rule(Glob(body), is_anchored, is_negative, is_folder, body if is_literal else "")

    def matches(self, path: str) -> bool:
        """A pattern without a slash is for names in any folder."""
        return self.glob.matches(path if self.is_anchored else path.rpartition("/")[2])


def _included(job: _Job, lines: Sequence[str]) -> list[str]:
    """What the lines of an include file ask for."""
    rules = []
    for entry in lines:
        if ".." in PurePosixPath(entry.lstrip("!/")).parts:
            job.result.refused.append((entry, "contains '..'"))
        else:
            rules.append(_Rule.parse(entry))
    if all(rule.literal for rule in rules):
        return [rule.literal for rule in rules if _fits(job.project / rule.literal, rule)]
    try:
        return list(_search(job, rules))
    except _Refusal as refusal:
        job.result.refused.append((INCLUDE_FILE, str(refusal)))
        return []


def _fits(path: Path, rule: _Rule) -> bool:
    return path.is_dir() if rule.is_folder else os.path.lexists(path)


def _search(job: _Job, rules: Sequence[_Rule], folder: str = "") -> Iterator[str]:
    """Relative paths that the rules choose, in order; a chosen folder stands for all that is in it."""
    named = frozenset(part for rule in rules if rule.literal for part in _ancestors(rule.literal))
    if time.monotonic() > job.deadline:
        raise _Refusal("takes too long to look for; name the folders in the pattern")
    try:
        with os.scandir(job.project / folder) as found:
            children = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in children:
        name = f"{folder}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == ".git" or (is_folder and _is_repository(Path(entry.path))):
            continue
        if _chosen(rules, name, is_folder=is_folder or (entry.is_symlink() and entry.is_dir())):
            yield name
        elif is_folder and name.count("/") < MAX_DEPTH and (entry.name not in _NOT_SEARCHED or name in named):
            yield from _search(job, rules, name + "/")


def _is_repository(folder: Path) -> bool:
    """Another clone, a submodule or a worktree: git keeps its files, not we."""
    return os.path.lexists(folder / ".git")


def _ancestors(path: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(path).parents]


def _chosen(rules: Sequence[_Rule], name: str, *, is_folder: bool) -> bool:
    """The last rule that matches decides."""
    for rule in reversed(rules):
        if (is_folder or not rule.is_folder) and rule.matches(name):
            return not rule.is_negative
    return False


# ── copying ──


@dataclass(frozen=True, slots=True)
class _Job:
    """One copy from a project to a worktree, and what has come of it so far."""

    project: Path
    worktree: Path
    result: Copied
    deadline: float
    """Of the monotonic clock, for all searching."""

    def take(self, name: str) -> None:
        """Copy one path, or record why not; a path that does not exist is left to the caller."""
        if not os.path.lexists(self.project / name):
            return
        try:
            source = self._inside(name)
            if source.is_dir():
                _check_size(source)
                if self._copy_folder(source, name, source):
                    self.result.copied.append(f"{name}/")
            elif self._copy_file(source, name):
                self.result.copied.append(name)
        except _Refusal as refusal:
            self.result.refused.append((name, str(refusal)))
        except OSError as error:
            self.result.refused.append((name, error.strerror or type(error).__name__))

    def _inside(self, name: str) -> Path:
        """The real file behind a path, if it belongs to the project."""
        try:
            source = Path(os.path.realpath(self.project / name, strict=True))
        except FileNotFoundError as error:
            raise _Refusal("is a link to nothing") from error
        if not source.is_relative_to(self.project):
            raise _Refusal("leads outside the repository")
        if ".git" in source.relative_to(self.project).parts:
            raise _Refusal("belongs to git")
        if (
            source == self.project
            or self.worktree.is_relative_to(source)
            or source.is_relative_to(self.worktree)
        ):
            raise _Refusal("contains the worktree itself")
        return source

    def _destination(self, name: str) -> Path | None:
        """Where a path goes, with its folders made; nothing where something is there already."""
        target = self.worktree / name
        if os.path.lexists(target):
            return None
        if not target.parent.resolve().is_relative_to(self.worktree):
            raise _Refusal("a link in the worktree leads outside it")
        for parent in reversed(PurePosixPath(name).parents[:-1]):
            if not (self.worktree / parent).is_dir():
                (self.worktree / parent).mkdir(mode=_folder_mode(self.project / parent))
        return target

    def _copy_file(self, source: Path, name: str) -> bool:
        _check_file(source.stat())
        # What is there by now may be something else: opening it must not wait, and it is looked at once more.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with os.fdopen(os.open(source, flags), "rb") as reading:
            status = os.fstat(reading.fileno())
            _check_file(status)
            target = self._destination(name)
            if target is None:
                return False
            _write_copy(reading, target, status)
        return True

    def _copy_folder(self, source: Path, name: str, top: Path) -> bool:
        """Copy what a folder holds; true if anything was copied."""
        if _is_repository(source):
            raise _Refusal("is a repository of its own")
        target = self._destination(name)
        if target is not None:
            target.mkdir(mode=_folder_mode(source))
        elif (self.worktree / name).is_symlink() or not (self.worktree / name).is_dir():
            return False
        with os.scandir(source) as found:
            children = sorted(entry.name for entry in found)
        copied = [self._copy_child(source / child, f"{name}/{child}", top) for child in children]
        return target is not None or any(copied)

    def _copy_child(self, path: Path, name: str, top: Path) -> bool:
        try:
            if path.is_symlink():
                return self._copy_link(path, name, top)
            return self._copy_folder(path, name, top) if path.is_dir() else self._copy_file(path, name)
        except _Refusal as refusal:
            self.result.refused.append((name, str(refusal)))
        except OSError as error:
            self.result.refused.append((name, error.strerror or type(error).__name__))
        return False

    def _copy_link(self, link: Path, name: str, top: Path) -> bool:
        text = link.readlink()
        if not text.is_absolute() and Path(os.path.realpath(link)).is_relative_to(top):
            target = self._destination(name)
            if target is not None:
                target.symlink_to(text)
            return target is not None
        source = self._inside(link.relative_to(self.project).as_posix())
        if source.is_dir():
            raise _Refusal("is a link to another folder")
        return self._copy_file(source, name)


def _folder_mode(folder: Path) -> int:
    """As private as the original, and always open to its owner."""
    return (folder.stat().st_mode & 0o777 if folder.is_dir() else 0o777) | 0o700


def _check_size(folder: Path) -> None:
    files = size = 0
    depth = len(folder.parts)
    for parent, _, names in os.walk(folder):
        if len(Path(parent).parts) - depth > MAX_DEPTH:
            raise _Refusal("is nested too deeply")
        files += len(names)
        size += sum((Path(parent) / name).lstat().st_size for name in names)
        if files > MAX_FILES:
            raise _Refusal(f"has more than {MAX_FILES} files; let a setup command make it")
        if size > MAX_BYTES:
            raise _Refusal(f"is larger than {MAX_BYTES // 2**20} MB; let a setup command make it")


def _check_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _Refusal("is not a regular file")
    if status.st_size > MAX_BYTES:
        raise _Refusal(f"is larger than {MAX_BYTES // 2**20} MB")


def _write_copy(reading: IO[bytes], target: Path, status: os.stat_result) -> None:
    """The content and mode of a file under a new name; nothing is left behind when it fails."""
    # Refuses links and existing files, and is never readable by more people than the original.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as writing:
            left = MAX_BYTES
            while block := reading.read(min(1 << 20, left + 1)):
                left -= len(block)
                if left < 0:
                    raise _Refusal(f"is larger than {MAX_BYTES // 2**20} MB")
                writing.write(block)
            os.fchmod(descriptor, status.st_mode & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    except (OSError, _Refusal):
        target.unlink(missing_ok=True)
        raise
