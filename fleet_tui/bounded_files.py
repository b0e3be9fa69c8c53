"""Read small files of unknown origin.

A repository can hold a FIFO, a link to /dev/zero, or a file of any size where a configuration is expected. Only a
regular file of limited size is read, and opening it never waits. With `inside`, it must also lie in that folder
after all links are followed.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 1 << 20


def read(file: Path, *, inside: Path | None = None, limit: int = LIMIT) -> bytes:
    """The content of a file; OSError, with the reason in `strerror`, where it is missing or not fit to be read."""
    real = os.path.realpath(file) if inside is not None else os.fspath(file)
    if inside is not None:
        check_inside(file, inside)
    # Asked before it is opened, since opening a device may already do something.
    _check(os.stat(real), limit)  # noqa: PTH116 - loading pathlib is not for every caller
    follow = os.O_NOFOLLOW if inside is not None else 0
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | follow)
    with os.fdopen(descriptor, "rb", buffering=0) as opened:
        _check(os.fstat(descriptor), limit)
        pieces, size = [], 0
        while size <= limit and (piece := opened.read(limit + 1 - size)):
            pieces.append(piece)
            size += len(piece)
    if size > limit:
        raise _too_large(limit)
    return b"".join(pieces)


def check_inside(file: Path, folder: Path) -> None:
    """OSError where a file, there or not, would lie outside a folder after all links are followed."""
    root = os.path.realpath(folder)
    if os.path.commonpath([root, os.path.realpath(file)]) != root:
        raise OSError(errno.EPERM, "it is a link out of the repository")


def _check(found: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if found.st_size > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {limit >> 10} KiB")
