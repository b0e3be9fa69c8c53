"""One connection to the store's SQLite file: opening, transactions, and noticing that the file was changed or replaced.

A file that cannot be written, on a full disk for example, is opened read-only and again for writing once that works.
A file of a newer program can only be read. Tables and their statements are in the modules beside this one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fleet_tui.errors import StoreError, StoreUnwritable
from fleet_tui.store import disk_reserve, replacement_lock, row_decoder, schema
from fleet_tui.store.failures import (
    REPAIR,
    as_store_errors,
    disk_full,
    is_busy,
    is_unwritable,
    refuse_network,
)

BUSY_SECONDS = 10.0
WAL_POLL_SECONDS = 0.01


class SqliteDatabase:
    """A connection. Each process opens its own: connections must not cross a fork."""

    def __init__(self, path: Path, *, busy_seconds: float, has_exclusive_lock: bool) -> None:
        self.path = path
        self.is_newer = False
        """A newer program wrote the file: it can be read, not changed."""
        self._has_exclusive_lock = has_exclusive_lock
        self._is_read_only = False
        """Opened as an immutable file, because SQLite could not create the files that it needs beside it."""
        self._busy_seconds = self._wait_seconds = busy_seconds
        self._data_version = -1
        self._files_opened = 0
        self._file: tuple[int, int] | None = None
        """Device and inode of the open file; None after it disappeared from its path."""
        refuse_network(path)
        disk_reserve.allocate(path.parent)
        self._connection = self._open()

    def close(self) -> None:
        self._connection.close()

    # ── opening ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _open(self) -> sqlite3.Connection:
        is_read_only = False
        with as_store_errors(self.path), self._in_place():
            try:
                connection = self._connect()
            except sqlite3.OperationalError as error:
                if not is_unwritable(error):
                    raise
                connection, is_read_only = self._connect_read_only(error), True
            # Set only now: if opening fails, the previous connection stays in use.
            self._is_read_only = is_read_only
            self._file, self._data_version = _identity(self.path), -1
        self._files_opened += 1
        return connection

    def _connect(self) -> sqlite3.Connection:
        self._create_private()
        connection = sqlite3.connect(
            self.path, timeout=self._busy_seconds, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create_private(self) -> None:
        """Create a missing file that only the user can read; SQLite gives the files beside it the same mode. Not by the
        umask, which all threads share."""
        # If this fails, for example on a full disk, SQLite reports why.
        with contextlib.suppress(OSError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _connect_read_only(self, why: sqlite3.OperationalError) -> sqlite3.Connection:
        """Read the file without its write-ahead log, which needs free space to be opened. Closing a store writes the
        log back to the file."""
        from urllib.parse import quote

        connection = sqlite3.connect(
            f"file:{quote(str(self.path))}?immutable=1",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.row_factory = sqlite3.Row
            is_known = schema.version_of(connection) == schema.VERSION
        except sqlite3.DatabaseError:
            is_known = False
        if not is_known:
            connection.close()
            raise why
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        found = schema.version_of(connection)
        if found > schema.VERSION:
            self.is_newer = True
        elif found < schema.VERSION:
            self._migrate(connection)
        connection.execute("pragma synchronous = normal")
        connection.execute("pragma foreign_keys = on")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        self._use_write_ahead_log(connection)
        connection.execute("begin immediate")
        # Another process may have migrated the file meanwhile.
        found = schema.version_of(connection)
        schema.migrate(connection, found)
        self.is_newer = found > schema.VERSION
        connection.execute("commit")

    def _use_write_ahead_log(self, connection: sqlite3.Connection) -> None:
        """Turn the write-ahead log on, with retries: SQLite's busy timeout does not cover this statement."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection.execute("pragma journal_mode = wal")
            except sqlite3.OperationalError as error:
                if not is_busy(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(WAL_POLL_SECONDS)
            else:
                return

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        """Keep other processes from replacing the file until the block ends."""
        if self._has_exclusive_lock:
            yield
        else:
            with replacement_lock.shared(self.path, self._wait_seconds):
                yield

    # ── read-only, replaced and changed files ───────────────────────────────────────────────────────────────────

    def require_writable(self) -> None:
        """Raise StoreUnwritable if a newer program wrote the file, or it was opened read-only and still cannot be opened
        for writing."""
        self.refuse_newer()
        if self._is_read_only:
            self._reopen_for_writing()
        if self._is_read_only:
            if disk_reserve.is_full(self.path.parent):
                raise disk_full(self.path)
            raise StoreUnwritable(f"the store {self.path} cannot be written", hint="check its permissions")

    def refuse_newer(self) -> None:
        """Raise StoreUnwritable if a newer program wrote the file."""
        if self.is_newer:
            raise StoreUnwritable(
                f"{self.path} was written by a newer fleet-tui, and this version can only read it",
                hint="restart with the newer version",
            )

    def _reopen_for_writing(self) -> None:
        read_only, self._connection = self._connection, self._open()
        read_only.close()

    @property
    def has_moved(self) -> bool:
        """Whether another file, or none, is at the path now: users are told to move a damaged store away."""
        return _identity(self.path) != self._file

    def _follow_path(self) -> None:
        """Open the file that is at the path now, if it is another one."""
        if not self.has_moved and self._file is not None:
            return
        # While the old file is open anywhere, SQLite takes its leftover log for a part of the new file.
        self._connection.close()
        self._file = None
        if not self.path.exists():
            raise StoreError(
                f"the store {self.path} no longer exists", hint=f"agents are still running; {REPAIR}"
            )
        self._connection = self._open()

    def version(self) -> int:
        """A number that changes when another connection changes the file, or another file replaces it."""
        self._follow_path()
        if self._is_read_only:
            self._reopen_for_writing()
        with as_store_errors(self.path):
            found = int(self._connection.execute("pragma data_version").fetchone()[0])
            if found != self._data_version:
                # The change may be a migration by a newer program.
                self._data_version = found
                self.is_newer = schema.version_of(self._connection) > schema.VERSION
            return (self._files_opened << 40) + found

    # ── statements and transactions ─────────────────────────────────────────────────────────────────────────────

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute one statement. The enclosing transaction translates its errors."""
        return self._connection.execute(statement, values)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query, also if one of them holds invalid UTF-8."""
        with as_store_errors(self.path):
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                if not str(error).startswith("Could not decode"):
                    raise
                self._connection.text_factory = row_decoder.decode_text
                return self._connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self, *, uses_reserve: bool) -> Iterator[None]:
        """Commit the block's changes, or roll all of them back.

        IMMEDIATE, because a transaction that starts as a reader cannot wait to become a writer. `uses_reserve` gives
        up the disk reserve on a full disk; not for what can be recorded later as well.
        """
        self.refuse_newer()
        disk_reserve.allocate(self.path.parent)
        if uses_reserve:
            disk_reserve.release_if_full(self.path.parent)
        self.require_writable()
        with as_store_errors(self.path), self._in_place():
            if self.has_moved and self._file is not None and self.path.exists():
                # The store was rebuilt: a change of the old file would be lost.
                self._follow_path()
            self._connection.execute("begin immediate")
            try:
                yield
                self._connection.execute("commit")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("rollback")
                raise

    def defer_foreign_keys(self) -> None:
        """Check references only at the end of the open transaction."""
        self._connection.execute("pragma defer_foreign_keys = on")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one snapshot: all queries inside see the same moment."""
        with as_store_errors(self.path):
            self._connection.execute("begin")
            try:
                yield
            finally:
                self._connection.execute("rollback")

    @contextmanager
    def waiting_at_most(self, seconds: float) -> Iterator[None]:
        """Time out sooner, inside the block, on a store that another process keeps locked."""
        self._set_timeout(min(seconds, self._busy_seconds))
        try:
            yield
        finally:
            self._set_timeout(self._busy_seconds)

    def _set_timeout(self, seconds: float) -> None:
        self._wait_seconds = seconds
        with as_store_errors(self.path):
            self._connection.execute(f"pragma busy_timeout = {int(seconds * 1000)}")

    # ── checks ──────────────────────────────────────────────────────────────────────────────────────────────────

    def file_problems(self) -> list[str]:
        """What SQLite finds wrong with the file; empty when it is sound."""
        found = [str(row[0]) for row in self.rows("pragma integrity_check(10)")]
        return [] if found == ["ok"] else found

    def has_orphans(self) -> bool:
        """Whether a row refers to a row that does not exist."""
        return bool(self.rows("pragma foreign_key_check"))

    def has_own_schema(self) -> bool:
        """Whether this version created the tables, whatever version number the file has."""
        return {row["sql"] for row in self.rows(schema.STATEMENTS)} == schema.own_statements()


def listed(constants: Iterable[str]) -> str:
    """Constants of our own, such as statuses, as the list of an SQL `in`."""
    return ", ".join(f"'{one}'" for one in sorted(constants))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
