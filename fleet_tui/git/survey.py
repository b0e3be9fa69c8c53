"""Survey a folder that is about to be deleted: its size, the repositories in it, and what cannot be deleted.

Only reads folders. Follows no symbolic link, opens no file and does not enter other filesystems.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass

DEEPEST = 500
"""Levels of folders; deleting and archiving recurse once per level."""
_BLOCK = 512
"""The block size of a tar file; each entry has a header of one block."""
_READ_BY_GIT = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
"""Files that git opens wherever it finds them; a FIFO of that name blocks it."""
_BARE = frozenset({"HEAD", "objects", "refs"})
_READABLE = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a folder cannot be saved and deleted whole, and what the user can do about it."""

    text: str
    hint: str
    blocks_git: bool = False


@dataclass(frozen=True, slots=True)
class Survey:
    size: int
    """Bytes of all files, as far as they can be read."""
    packed: int
    """Approximate bytes in a tar file."""
    repositories: tuple[str, ...]
    """Relative paths of folders that have a `.git` or are bare repositories."""
    obstacles: tuple[Obstacle, ...]

    @property
    def blocks_git(self) -> bool:
        """Whether one of the obstacles would block git forever."""
        return any(one.blocks_git for one in self.obstacles)


def survey(folder: Path) -> Survey:
    size = 0
    packed = _BLOCK
    repositories: list[str] = []
    obstacles: list[Obstacle] = []
    top = folder.lstat()
    if stat.S_ISLNK(top.st_mode):
        link = Obstacle(
            f"{folder} is a symbolic link", "undo, then replace the link by the folder that it leads to"
        )
        return Survey(0, 0, (), (link,))
    waiting: list[tuple[str, os.stat_result]] = [(str(folder), top)]
    while waiting:
        place, found = waiting.pop()
        try:
            with os.scandir(place) as scan:
                entries = list(scan)
        except OSError as error:
            obstacles.append(_unreadable(place, found, error.strerror or str(error)))
            continue
        names = {entry.name for entry in entries}
        is_bare = names >= _BARE and Path(place).name != ".git"
        if place != str(folder) and (".git" in names or is_bare):
            repositories.append(os.path.relpath(place, folder))
        if entries and not _may_delete_from(place, found):
            obstacles.append(_undeletable(place, found))
        if place.count("/") - str(folder).count("/") > DEEPEST:
            obstacles.append(Obstacle(f"the folders below {folder} are nested too deeply", f"see {place}"))
            continue
        for entry in entries:
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError as error:
                obstacles.append(_unreadable(place, found, error.strerror or str(error)))
                break
            packed += _BLOCK
            if not stat.S_ISDIR(info.st_mode):
                size += info.st_size
                packed += _in_blocks(info.st_size)
                obstacles += _obstacles_of(entry, info)
            elif info.st_dev != top.st_dev:
                obstacles.append(
                    Obstacle(
                        f"another filesystem is mounted at {entry.path}",
                        f"run: umount {shlex.quote(entry.path)}",
                    )
                )
            else:
                waiting.append((entry.path, info))
    return Survey(size, packed, tuple(sorted(repositories)), tuple(obstacles))


def size_of(path: Path) -> tuple[int, int]:
    """Bytes of a file, or of all files in a folder, as far as they can be read; and their bytes in a tar file."""
    info = path.lstat()
    if stat.S_ISDIR(info.st_mode):
        found = survey(path)
        return found.size, found.packed
    return info.st_size, _BLOCK + _in_blocks(info.st_size)


def _in_blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _obstacles_of(entry: os.DirEntry[str], info: os.stat_result) -> Iterator[Obstacle]:
    if entry.name in _READ_BY_GIT and not stat.S_ISREG(info.st_mode) and not stat.S_ISLNK(info.st_mode):
        yield Obstacle(
            f"{entry.path} is not a regular file", f"run: rm {shlex.quote(entry.path)}", blocks_git=True
        )
    if not _is_readable(entry.path, info):
        yield _unreadable(entry.path, info, os.strerror(13))


def _is_readable(path: str, info: os.stat_result) -> bool:
    if not stat.S_ISREG(info.st_mode) or info.st_mode & _READABLE == _READABLE:
        return True
    return os.access(path, os.R_OK)


def _may_delete_from(place: str, info: os.stat_result) -> bool:
    """Whether entries of a folder can be deleted, after a chmod where it is ours."""
    if os.access(place, os.W_OK | os.X_OK):
        return True
    has_mode = info.st_mode & (stat.S_IWUSR | stat.S_IXUSR) == stat.S_IWUSR | stat.S_IXUSR
    # A folder that is ours, has the right mode and still refuses is immutable or on a read-only filesystem.
    return info.st_uid == os.geteuid() and not has_mode


def _unreadable(path: str, info: os.stat_result, why: str) -> Obstacle:
    if info.st_uid == os.geteuid():
        return Obstacle(f"{path} cannot be read: {why}", f"run: chmod -R u+rwX {shlex.quote(path)}")
    return Obstacle(f"{path} cannot be read: {why}, it belongs to {_owner(info)}", _take_over(path))


def _undeletable(path: str, info: os.stat_result) -> Obstacle:
    if info.st_uid == os.geteuid():
        return Obstacle(f"nothing can be deleted from {path}", "it is immutable or on a read-only filesystem")
    return Obstacle(f"nothing can be deleted from {path}: it belongs to {_owner(info)}", _take_over(path))


def _take_over(path: str) -> str:
    return f"run: sudo chown -R {os.geteuid()} {shlex.quote(path)}"


def _owner(info: os.stat_result) -> str:
    import pwd

    try:
        return pwd.getpwuid(info.st_uid).pw_name
    except KeyError:
        return f"user {info.st_uid}"
