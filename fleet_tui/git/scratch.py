"""Objects that a repository must not keep: trees of worktrees that are only compared, and merges that are only tried.

Git writes them to a folder of ours in the cache, with the repository's own objects as alternates, so that a repository
does not grow by being looked at. The folder also has an index per worktree, in which git only updates what has changed.
Everything in it can be made again. It is emptied when it is over its limit, by whoever uses it alone at that moment.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui import paths
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import remove_tree

MOST = 512 << 20
"""Bytes; above this, the folder is emptied when nobody else uses it."""
MEASURE_SECONDS = 60.0
"""How often the folder is measured, which takes a while with many objects; the time of the lock says when it was."""


@dataclass(frozen=True, slots=True)
class ScratchObjects:
    """An object folder of ours beside a repository's own."""

    folder: Path
    git_dir: Path

    @property
    def variables(self) -> Mapping[str, str]:
        """What makes git write its objects here, and read those of the repository as well."""
        own = self.git_dir / "objects"
        return {
            "GIT_OBJECT_DIRECTORY": str(self.folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(own),
        }

    def index(self, key: str) -> Path:
        """The index of the worktree with that key; it may not exist yet."""
        return self.folder / f"index-{key}"


@contextlib.contextmanager
def scratch_objects(git_dir: Path) -> Iterator[ScratchObjects]:
    """The scratch objects of a repository, which stay while this is open."""
    import hashlib

    digest = hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]
    folder = paths.private(paths.cache() / "objects" / digest)
    with (folder / "lock").open("ab") as held:
        if time.time() - os.fstat(held.fileno()).st_mtime > MEASURE_SECONDS or not held.tell():
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _empty_if_large(folder)
                held.truncate(0)
                held.write(b"measured\n")
                held.flush()
        fcntl.flock(held, fcntl.LOCK_SH)
        paths.private(folder / "objects")
        yield ScratchObjects(folder, git_dir)


def _empty_if_large(folder: Path) -> None:
    size = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                size += (Path(parent) / name).lstat().st_size
    if size <= MOST:
        return
    for index in folder.glob("index-*"):
        index.unlink(missing_ok=True)
    remove_tree(folder / "objects")


def _quoted(folder: Path) -> str:
    """Git separates these folders with colons, and reads one in quotes as a whole."""
    return '"{}"'.format(str(folder).replace("\\", "\\\\").replace('"', '\\"'))
