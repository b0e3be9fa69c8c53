"""Reads small files of unknown origin, sets aside what is in the place of a file, and replaces private files in one step.

A repository can hold a FIFO, a link to /dev/zero or a file of any size in the place of a configuration file. `read`
accepts only a regular file of limited size, and opening it never blocks. With `inside`, the file must also lie in that
folder after all links are followed.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 1 << 20

_drafts = itertools.count()
"""Keeps the threads of one process apart."""


def read(file: Path, *, inside: Path | None = None, limit: int = LIMIT) -> bytes:
    """The content of a file. Raises OSError, with the reason in `strerror`, for a missing or an unfit file."""
    real = os.path.realpath(file) if inside is not None else os.fspath(file)
    if inside is not None:
        check_inside(file, inside)
    # Checked before it is opened, as opening a device can have side effects.
    _check(os.stat(real), limit)  # noqa: PTH116 - callers of this module do not all load pathlib
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


def open_regular(file: Path | str, flags: int) -> int:
    """Open a file in a folder where an agent may write, too; the descriptor is not inherited, a new file private.

    Raises OSError for a link, a pipe or a device in its place: a link leads to files of the user, a pipe blocks.
    """
    descriptor = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(file))
    return descriptor


def set_aside(path: Path) -> None:
    """Rename what an agent has put in the place of a file: not ours to delete, unless it is only a link.

    Git would follow a link that stayed beside the entries of worktrees, and prune what it leads to.
    """
    if path.is_symlink():
        path.unlink()
        return
    path.rename(path.with_name(f"{path.name}.replaced-{time.time_ns()}"))


def check_inside(file: Path, folder: Path) -> None:
    """Raise OSError if a file, existing or not, lies outside a folder after all links are followed."""
    root = os.path.realpath(folder)
    if os.path.commonpath([root, os.path.realpath(file)]) != root:
        raise OSError(errno.EPERM, "it is a link out of the repository")


def replace(file: Path, content: bytes, *, sync: bool = False) -> None:
    """Write a file that only the user can read, in one step: a crash leaves the old content or the new.

    With `sync` the content is on the disk before the old one is gone, so this holds for a power cut, too.
    """
    folder, name = os.path.split(os.fspath(file))
    # Part of the name only: the whole may be as long as a name can be.
    draft = f".{name[:40]}.{os.getpid()}-{next(_drafts)}.new"
    temporary = os.path.join(folder, draft)  # noqa: PTH118 - as above
    try:
        _create(temporary, content, sync=sync)
        os.replace(temporary, file)  # noqa: PTH105 - as above
    except OSError:
        _remove(temporary)
        raise


def _create(path: str, content: bytes, *, sync: bool) -> None:
    # A process of the same number may have been killed here before.
    _remove(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108 - as above


def _check(found: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if found.st_size > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {limit >> 10} KiB")
