"""The spending table: what was last read of each agent's spending.

Not journaled, because it can be read again from the programs' records.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet_tui.store import row_decoder
from fleet_tui.store.sqlite import SqliteDatabase


class SpendingTable:
    def __init__(self, db: SqliteDatabase) -> None:
        self._db = db

    def all(self) -> dict[str, dict[str, Any]]:
        """The rows, by agent."""
        found = row_decoder.valid_rows(self._db.rows("select * from spending"), row_decoder.spending)
        return {row["agent"]: row for row in found}

    def put(self, agent_id: str, values: Mapping[str, Any]) -> None:
        """Replace an agent's row. Call inside a transaction."""
        self._db.execute(
            f"insert into spending (agent, {', '.join(values)}) values (?{', ?' * len(values)}) "  # noqa: S608 - column names come from code
            f"on conflict (agent) do update set {', '.join(f'{name} = excluded.{name}' for name in values)}",
            (agent_id, *values.values()),
        )
