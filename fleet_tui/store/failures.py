"""Translate SQLite's errors into StoreError: locked, not writable, full disk or damaged; refuse network filesystems."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fleet_tui.errors import StoreDamaged, StoreError, StoreUnwritable
from fleet_tui.store import disk_reserve

REPAIR = "run: fleet list --repair"
NETWORK_FILESYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "sshfs", "fuse.sshfs", "9p", "afs", "ceph"}
)

_PRIMARY_CODE = 0xFF
"""The bits above these refine a code: SQLITE_BUSY_RECOVERY, for one, is a SQLITE_BUSY."""
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
)
_FILE_IS_SOUND = _UNWRITABLE | {sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT}


def is_busy(error: sqlite3.Error) -> bool:
    return error.sqlite_errorcode & _PRIMARY_CODE == sqlite3.SQLITE_BUSY


def is_unwritable(error: sqlite3.Error) -> bool:
    """Whether the file may be readable although it could not be opened for writing."""
    return error.sqlite_errorcode & _PRIMARY_CODE in _UNWRITABLE


@contextmanager
def as_store_errors(path: Path) -> Iterator[None]:
    """Raise what SQLite raises inside the block as a StoreError about the store at `path`."""
    try:
        yield
    except sqlite3.ProgrammingError as error:
        raise StoreError(f"the store {path} is closed", hint="try again") from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _store_error(path, error) from error


def _store_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    # In a damaged file even a column name, or SQLite's own message, may be invalid UTF-8.
    text = str(error) if isinstance(error, sqlite3.Error) else "its schema cannot be read"
    # Errors that Python raises itself, such as for invalid UTF-8, have no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    primary = code & _PRIMARY_CODE
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return stayed_locked(path)
    if primary == sqlite3.SQLITE_FULL or (
        primary == sqlite3.SQLITE_IOERR and disk_reserve.is_full(path.parent)
    ):
        return disk_full(path)
    if primary in _FILE_IS_SOUND and code != sqlite3.SQLITE_IOERR_SHORT_READ:
        return StoreUnwritable(
            f"the store {path} cannot be written: {text}", hint="check space and permissions"
        )
    return StoreDamaged(f"the store {path} is damaged: {text}", hint=f"agents are still running; {REPAIR}")


def stayed_locked(path: Path) -> StoreUnwritable:
    return StoreUnwritable(f"the store {path} stayed locked by another process", hint="try again in a moment")


def disk_full(path: Path) -> StoreUnwritable:
    return StoreUnwritable(f"the disk is full: cannot write {path}", hint="free some space on it")


def refuse_network(path: Path) -> None:
    """Raise StoreError for a store on a network filesystem: SQLite's locks do not hold there."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    folder = os.path.realpath(path.parent)
    best, kind = "", ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    if kind in NETWORK_FILESYSTEMS:
        raise StoreError(
            f"the store's folder {folder} is on a network filesystem ({kind})",
            hint="set XDG_STATE_HOME to a local folder",
        )
