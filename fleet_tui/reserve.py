"""Disk space kept for a full disk: a file that is deleted when something has to be written all the same.

Listing and stopping agents need no space. The reserve is for what comes after the programs have ended, such as moving
a worktree to the trash: given up any earlier, a program that fills the disk would take it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

RESERVE_BYTES = 512 << 10
"""What a few commands write until the disk has room again."""
ROOM_BYTES = 4 * RESERVE_BYTES
"""With less than this it is not taken: others may need it more."""
LOW_BYTES = 128 << 10


def look_after(folder: Path) -> None:
    """Take the reserve while there is room."""
    file = folder / "reserve"
    with contextlib.suppress(OSError):
        if not file.exists() and _free(folder) >= ROOM_BYTES:
            _take(file)


def give_up(folder: Path) -> None:
    """Delete the reserve if the disk is full."""
    with contextlib.suppress(OSError):
        if is_full(folder):
            (folder / "reserve").unlink(missing_ok=True)


def is_full(folder: Path) -> bool:
    return _free(folder) < LOW_BYTES


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _take(file: Path) -> None:
    """Really taken: a file that is only said to be so long holds no room, and one that is shorter is none."""
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
