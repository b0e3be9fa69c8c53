"""The landing table: what was landed on which branch, and what has become of it."""

from __future__ import annotations

from typing import Any

from fleet_tui.errors import NotFound
from fleet_tui.landings import STRATEGIES, Landing, LandingState
from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase

_COLUMNS = {
    "id": "id", "project": "project", "agent": "agent", "into": "into_name", "strategy": "strategy", "old": "old",
    "new": "new", "head": "head", "state": "state", "at": "at", "message": "message", "reason": "reason",
    "undone_at": "undone_at",
}  # fmt: skip
"""By field, the column: `into` is a word of SQL."""
_STATES = frozenset(LandingState)
_STRATEGIES = frozenset(STRATEGIES)


class LandingTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    def add(self, landing: Landing) -> None:
        """Record a landing that begins. Call inside a transaction."""
        values = {column: getattr(landing, name) for name, column in _COLUMNS.items()}
        values |= {
            name: row_decoder.storable_text(values[name]) for name in ("message", "reason", "into_name")
        }
        values["state"] = str(landing.state)
        self._db.execute(
            f"insert into landing ({', '.join(values)}) values (?{', ?' * (len(values) - 1)})",  # noqa: S608 - column names come from code
            tuple(values.values()),
        )
        self._note(landing.at, landing.agent, landing.id, landing.state)

    def change(self, landing: Landing, state: LandingState, at: float, *, reason: str = "") -> None:
        """Set what has become of a landing. Call inside a transaction."""
        undone = at if state is LandingState.UNDONE else None
        self._db.execute(
            "update landing set state = ?, reason = ?, undone_at = ? where id = ?",
            (str(state), row_decoder.storable_text(reason), undone, landing.id),
        )
        self._note(at, landing.agent, landing.id, state)

    def get(self, landing_id: str) -> Landing:
        found = self._where("where id = ?", landing_id)
        if not found:
            raise NotFound(f"no landing {landing_id!r}", hint="see: fleet undo --help")
        return found[0]

    def of(self, project: str = "", agent: str = "") -> list[Landing]:
        """The landings of a project or an agent, or all of them, oldest first."""
        if agent:
            return self._where("where agent = ?", agent)
        return self._where("where project = ?", project) if project else self._where("")

    def _where(self, condition: str, *values: Any) -> list[Landing]:
        rows = self._db.rows(f"select * from landing {condition} order by at, rowid", values)  # noqa: S608 - constants
        found = row_decoder.valid_rows(rows, lambda row: row_decoder.work_row("landing", row))
        return [_landing(row) for row in found if row["state"] in _STATES and row["strategy"] in _STRATEGIES]

    def _note(self, at: float, agent: str, landing_id: str, state: LandingState) -> None:
        self._journal.add(at, agent, "landing", {"id": landing_id, "state": str(state)})


def _landing(row: dict[str, Any]) -> Landing:
    values = {name: row[column] for name, column in _COLUMNS.items()}
    return Landing(**values | {"state": LandingState(values["state"])})
