"""Disk reserve: a file of allocated space that is deleted when the disk is full and the store must still be written.

Listing and stopping agents need no space. The reserve is for the steps after their programs have ended, such as moving
a worktree to the trash. Released any earlier, it would go to the program that fills the disk.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

RESERVE_BYTES = 512 << 10
"""Enough for a few commands until the user has freed space."""
SPARE_BYTES = 4 * RESERVE_BYTES
"""Less free space than this is left to others."""
LOW_BYTES = 128 << 10


def allocate(folder: Path) -> None:
    """Allocate the reserve if it is missing and there is enough space."""
    file = folder / "reserve"
    with contextlib.suppress(OSError):
        if not file.exists() and _free(folder) >= SPARE_BYTES:
            _fill(file)


def release_if_full(folder: Path) -> None:
    """Delete the reserve if the disk is full."""
    with contextlib.suppress(OSError):
        if is_full(folder):
            (folder / "reserve").unlink(missing_ok=True)


def is_full(folder: Path) -> bool:
    return _free(folder) < LOW_BYTES


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _fill(file: Path) -> None:
    """Allocate real blocks: a sparse file reserves nothing, and a shorter one too little."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, RESERVE_BYTES)
        elif os.write(descriptor, bytes(RESERVE_BYTES)) < RESERVE_BYTES:
            file.unlink()
    except OSError:
        file.unlink()
    finally:
        os.close(descriptor)
