"""The journal table: every change of the store in order, and which agents changed since a line of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fleet_tui.models import ENDED
from fleet_tui.store import row_decoder
from fleet_tui.store.sqlite import SqliteDatabase, listed

_PRUNE = f"""
delete from journal where at < ?
and agent not in (select id from agent where status not in ({listed(ENDED)}))
"""  # noqa: S608 - constants


class JournalTable:
    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def add(
        self,
        at: float,
        agent: str,
        kind: str,
        data: Mapping[str, Any],
        run: int | None = None,
        seq: int | None = None,
    ) -> bool:
        """Append a line; False when the event of a holder, with its run and number, is in the journal already."""
        cursor = self._db.execute(
            "insert into journal (at, agent, kind, data, run, seq) values (?, ?, ?, ?, ?, ?) on conflict do nothing",
            (at, agent, kind, json.dumps(data), run, seq),
        )
        return cursor.rowcount > 0

    def last_id(self) -> int:
        return int(self._db.rows("select coalesce(max(id), 0) from journal")[0][0])

    def since(self, line: int, limit: int = 1000) -> list[dict[str, Any]]:
        """The lines after one of them, oldest first."""
        rows = self._db.rows("select * from journal where id > ? order by id limit ?", (line, limit))
        return [
            {name: line[name] for name in ("id", "at", "agent", "kind")} | {"data": json.loads(line["data"])}
            for line in row_decoder.valid_rows(rows, row_decoder.journal_line)
        ]

    def agents_with_status_since(self, line: int) -> frozenset[str]:
        """The ids of agents whose status was written after a line."""
        rows = self._db.rows(
            "select distinct agent from journal where id > ? and kind in ('agent-changed', 'agent-added') "
            "and case when json_valid(data) then json_extract(data, '$.status') end is not null",
            (line,),
        )
        return frozenset(row["agent"] for row in rows)

    def prune(self, before: float) -> None:
        """Delete old lines of agents that have ended since. Call inside a transaction."""
        self._db.execute(_PRUNE, (before,))
