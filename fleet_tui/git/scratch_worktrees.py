"""Scratch worktrees: detached, made for one landing, and removed after it.

Checks and hooks get real files there, and neither the user's worktree nor an agent's is touched. Each is held by a lock
on its folder for as long as it is used, so that one whose process was killed can be told and removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from fleet_tui.git.entries import admins, real, remove_tree
from fleet_tui.git.program import GitFailed, printed, run
from fleet_tui.git.repository import Repository

FOLDER = ".landing"
"""In a project's worktree folder."""


@contextlib.contextmanager
def scratch_worktree(repo: Repository, root: Path, commit: str) -> Iterator[Path]:
    """A worktree with a commit checked out by the user's git, with filters; removed when this is closed."""
    folder = root / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep_scratch(repo.git_dir, root)
    path = folder / f"{repo.name[:40]}-{os.urandom(4).hex()}"
    path.mkdir(mode=0o700)
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        command = ("-c", "core.fsmonitor=false", "worktree", "add", "--quiet", "--detach", str(path), commit)
        try:
            printed(lambda: run(repo.root, *command, trusted=True))
        except GitFailed as error:
            raise GitFailed(
                f"no scratch worktree could be made: {error.message}", hint="nothing was changed"
            ) from error
        yield path
    finally:
        _remove(repo.git_dir, path)
        os.close(held)


def sweep_scratch(git_dir: Path, root: Path) -> list[Path]:
    """Remove the scratch worktrees below a folder whose processes are gone; returns what was removed."""
    return [path for path in left_scratch(root) if _remove(git_dir, path)]


def left_scratch(root: Path) -> list[Path]:
    """The scratch worktrees that nobody uses any more."""
    try:
        found = sorted((root / FOLDER).iterdir())
    except OSError:
        return []
    return [path for path in found if path.is_dir() and not path.is_symlink() and not _is_used(path)]


def _is_used(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _remove(git_dir: Path, path: Path) -> bool:
    place = real(path)
    for entry in admins(git_dir):
        # One without a link is of a git that was killed while it made this worktree.
        if entry.worktree == place or (not entry.link and entry.name == path.name):
            remove_tree(entry.folder)
    remove_tree(path)
    return True
