"""The table of spare worktrees: each is written before its folder is made, and removed after it is gone.

Not journaled: no face shows a spare.
"""

from __future__ import annotations

from typing import Any

from fleet_tui.spare_worktree import SpareWorktree
from fleet_tui.store import row_decoder
from fleet_tui.store.sqlite import SqliteDatabase

COLUMNS = ("path", "project", "base", "made_at", "needed_at", "settings")


class SpareTable:
    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def all(self) -> list[SpareWorktree]:
        """The oldest first, also those that are not ready."""
        rows = self._db.rows("select * from spare order by made_at")
        return [SpareWorktree(**row) for row in row_decoder.valid_rows(rows, _decode)]

    def ready(self, project: str) -> list[SpareWorktree]:
        """Those of a project that an agent may take."""
        return [one for one in self.all() if one.project == project and one.settings]

    def put(self, spare: SpareWorktree) -> None:
        """Add or replace a row. Call inside a transaction."""
        self._db.execute(
            f"insert or replace into spare ({', '.join(COLUMNS)}) values ({', '.join('?' * len(COLUMNS))})",  # noqa: S608 - constants
            tuple(getattr(spare, name) for name in COLUMNS),
        )

    def remove(self, path: str) -> None:
        """Call inside a transaction."""
        self._db.execute("delete from spare where path = ?", (path,))


def _decode(row: row_decoder.StoredRow) -> dict[str, Any]:
    return row_decoder.work_row("spare", row)
