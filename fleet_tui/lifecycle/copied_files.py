"""Copy ignored files, such as credentials, from a project into a new worktree.

`setup.credential_files` and the lines of `.worktreeinclude` name them. Both are parameters: the launcher copies what
the user has trusted, whatever the repository says by then. Reads only inside the repository, writes only inside the
worktree, and never overwrites a file there. A missing or refused file is reported, never an error. Runs no git.

Links are followed, so that an agent which writes to its copy does not write into the project. Inside a copied folder,
a relative link that stays within the folder remains a link.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from fleet_tui.config.settings import INCLUDE_FILE
from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.git import IgnorePattern
from fleet_tui.names import is_pattern

MAX_FILES = 10_000
"""Per folder; a setup command should create a larger one."""
MAX_BYTES = 512 * 1024 * 1024
"""Per folder or file."""
MAX_DEPTH = 100
"""Of nested folders."""
SEARCH_SECONDS = 10.0
"""The limit for searching a project for matches."""

_NOT_SEARCHED = frozenset(
    {".git", ".aifleet", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache"}
)
"""Large folders made by tools. A pattern does not search them; naming one copies it."""


@dataclass(frozen=True, slots=True)
class Copied:
    """The result of copying."""

    copied: list[str] = field(default_factory=list)
    """Relative paths; a folder once, with a trailing slash."""
    missing: list[str] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    """Each path or pattern with the reason."""


class _Refusal(Exception):
    """A path is not copied; the text is the reason."""


def copy(
    project: Path,
    worktree: Path,
    patterns: Sequence[str],
    include: Sequence[str] = (),
    *,
    seconds: float = SEARCH_SECONDS,
) -> Copied:
    """Copy the files that the patterns and the lines of an include file match, as far as that is safe."""
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
    """The relative paths that `copy` would copy now, in order, without reading them."""
    job = _Job(project.resolve(), Path(os.devnull), Copied(), time.monotonic() + seconds)
    found = [name for _, names in _all_named(job, patterns) for name in names]
    found += _included(job, include)
    return [name for name in dict.fromkeys(found) if os.path.lexists(job.project / name)]


def matched(line: str, names: Sequence[str]) -> list[str]:
    """The paths that one line of an include file matches."""
    rule = _IncludeRule.parse(line)
    return [name for name in names if rule.matches(name)]


def _all_named(job: _Job, patterns: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for pattern in patterns:
        try:
            yield pattern, _named(job, pattern)
        except _Refusal as refusal:
            job.result.refused.append((pattern, str(refusal)))


def _named(job: _Job, pattern: str) -> list[str]:
    """The relative paths that an entry of `credential_files` matches; a plain path matches itself."""
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
        return list(_search(job, [_IncludeRule.parse("/" + name)]))
    return [name]


# ── patterns ──


@dataclass(frozen=True, slots=True)
class _IncludeRule:
    """One line of the include file, with the semantics of .gitignore."""

    glob: IgnorePattern
    is_anchored: bool
    is_negative: bool
    is_folder: bool
    literal: str = ""
    """The only path that it can match, if it is anchored and has no wildcards."""

    @staticmethod
    def parse(line: str) -> _IncludeRule:
        is_negative = line.startswith("!")
        body = line[is_negative:]
        is_folder = body.endswith("/")
        body = body.rstrip("/")
        is_anchored = "/" in body
        body = body.lstrip("/")
        is_literal = is_anchored and not is_negative and not is_pattern(body) and "\\" not in body
        return _IncludeRule(
            IgnorePattern(body), is_anchored, is_negative, is_folder, body if is_literal else ""
        )

    def matches(self, path: str) -> bool:
        """Match a path; a pattern without a slash matches names in any folder."""
        return self.glob.matches(path if self.is_anchored else path.rpartition("/")[2])


def _included(job: _Job, lines: Sequence[str]) -> list[str]:
    """The paths that the lines of an include file match."""
    rules = []
    for entry in lines:
        if ".." in PurePosixPath(entry.lstrip("!/")).parts:
            job.result.refused.append((entry, "contains '..'"))
        else:
            rules.append(_IncludeRule.parse(entry))
    if all(rule.literal for rule in rules):
        return [rule.literal for rule in rules if _fits(job.project / rule.literal, rule)]
    try:
        return list(_search(job, rules))
    except _Refusal as refusal:
        job.result.refused.append((INCLUDE_FILE, str(refusal)))
        return []


def _fits(path: Path, rule: _IncludeRule) -> bool:
    return path.is_dir() if rule.is_folder else os.path.lexists(path)


def _search(job: _Job, rules: Sequence[_IncludeRule], folder: str = "") -> Iterator[str]:
    """Relative paths that match, in order; a matching folder stands for its contents."""
    named = frozenset(part for rule in rules if rule.literal for part in _ancestors(rule.literal))
    if time.monotonic() > job.deadline:
        raise _Refusal("takes too long to find; name the folders in the pattern")
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
    """Whether this is a clone, a submodule or a worktree, whose files git manages."""
    return os.path.lexists(folder / ".git")


def _ancestors(path: str) -> list[str]:
    return [parent.as_posix() for parent in PurePosixPath(path).parents]


def _chosen(rules: Sequence[_IncludeRule], name: str, *, is_folder: bool) -> bool:
    """Whether the rules select a path; the last matching rule decides."""
    for rule in reversed(rules):
        if (is_folder or not rule.is_folder) and rule.matches(name):
            return not rule.is_negative
    return False


# ── copying ──


@dataclass(frozen=True, slots=True)
class _Job:
    """One copy from a project to a worktree, with the result so far."""

    project: Path
    worktree: Path
    result: Copied
    deadline: float
    """On the monotonic clock, for all searches together."""

    def take(self, name: str) -> None:
        """Copy one path, or record why not. No-op if it does not exist."""
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
        """Resolve a path; refused if it leads out of the project, into .git or to the worktree."""
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
        """The destination of a path, with its folders created; None if it exists."""
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
        # The file may have been replaced since: open without blocking, and check it again.
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
        """Copy a folder's contents; returns whether anything was copied."""
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
    """The original's mode, always with full access for the owner."""
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
    """Write a copy with the original's mode and time; removed if that fails."""
    # O_EXCL and O_NOFOLLOW refuse links and existing files; 0600 until the original's mode is set.
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
