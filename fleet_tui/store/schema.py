"""Schema version and migrations: `migrations/0001.sql` creates version 1, and file N leads from version N - 1 to N.

A migration only adds, so that an older program can still read the store. Each one changes the schema, because
`has_own_schema` tells a newer store from a damaged version number by it. The text of a statement is final once released:
SQLite keeps it, comments aside, and it is compared byte by byte.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

VERSION = 4
"""What this program writes: the number of the last file. A constant, because opening a store must not list a folder."""
FOLDER = Path(__file__).with_name("migrations")

STATEMENTS = "select sql from sqlite_master where sql is not null and name not like 'sqlite_%'"
"""Selects the statements that a database was made with, as SQLite keeps them."""


def version_of(db: sqlite3.Connection) -> int:
    return int(db.execute("pragma user_version").fetchone()[0])


def migrate(db: sqlite3.Connection, found: int) -> None:
    """Migrate a file of version `found` to VERSION; 0 is an empty file. A no-op on a newer one. Call inside a
    transaction."""
    if found > VERSION:
        return
    if found < 0:
        raise sqlite3.DatabaseError("its version number is wrong")
    for version in range(found + 1, VERSION + 1):
        script = (FOLDER / f"{version:04}.sql").read_text(encoding="utf-8")
        for statement in _split(script):
            db.execute(statement)
    db.execute(f"pragma user_version = {VERSION}")


def own_statements() -> set[str]:
    """The statements of a new store of this version."""
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        migrate(db, 0)
        return {sql for (sql,) in db.execute(STATEMENTS)}


def _split(script: str) -> Iterator[str]:
    text = "\n".join(line.split("--")[0] for line in script.splitlines())
    return (part.strip() for part in text.split(";") if part.strip())
