"""Room kept for a full disk: a file that is given up then, so that agents can still be listed, stopped and killed."""

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
    """Take the reserve while there is room, and give it up when there is none."""
    file = folder / "reserve"
    with contextlib.suppress(OSError):
        found = os.statvfs(folder)
        free = found.f_bavail * found.f_frsize
        if free < LOW_BYTES:
            file.unlink(missing_ok=True)
        elif free >= ROOM_BYTES and not file.exists():
            _take(file)


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
