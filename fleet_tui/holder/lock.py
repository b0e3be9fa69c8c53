"""An agent's lock: held by its keeper, or its launcher, for as long as the agent runs."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from fleet_tui.system import files


def take_lock(path: Path, *, seconds: float = 0.0) -> int | None:
    """Take the agent's lock and return its descriptor, or None while another process holds it.

    The open file holds the lock, not the process: a process that inherits the descriptor holds it too.
    """
    if path.is_dir() and not path.is_symlink():
        # Only an agent can have put a folder there; its keeper has lost the lock, and is found by its open file.
        files.set_aside(path)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    while not _flock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(0.002)
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a holder or a launcher holds the agent's lock."""
    with trying_lock(path) as free:
        return not free


@contextlib.contextmanager
def trying_lock(path: Path) -> Iterator[bool]:
    """Yields True if the lock is free; it cannot be taken until the block ends."""
    try:
        # Read-only, so that it works on a read-only filesystem; non-blocking, in case a pipe is in its place.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        # A dangling link counts as no lock.
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            raise
        descriptor = -1
    if descriptor < 0:
        yield True
        return
    try:
        yield _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise
    return True
