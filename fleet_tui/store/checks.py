"""The check_run table: how the project's check command went on each agent's work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase, listed
from fleet_tui.work import CheckRun, CheckState

if TYPE_CHECKING:
    from fleet_tui.store.row_decoder import StoredRow

_UNFINISHED = (CheckState.WAITING, CheckState.RUNNING)
_COLUMNS = (
    "id", "agent", "command", "tree", "onto", "state", "started_at", "ended_at", "exit_code", "summary", "after_tree",
    "note",
)  # fmt: skip
_IS_UNFINISHED = f"state in ({listed(_UNFINISHED)})"

_FINISH = f"""
update check_run set state = ?, ended_at = ?, exit_code = ?, summary = ?, after_tree = ?,
note = case when note = '' then ? else note end where id = ? and {_IS_UNFINISHED}
"""  # noqa: S608 - constants


class CheckTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    def add(self, run: CheckRun) -> None:
        """Add a run. Call inside a transaction."""
        values = (
            run.id, run.agent, run.command, run.tree, run.onto, str(run.state), run.started_at, run.ended_at,
            run.exit_code, run.summary, run.after, run.note,
        )  # fmt: skip
        self._db.execute(
            f"insert into check_run ({', '.join(_COLUMNS)}) values (?{', ?' * (len(_COLUMNS) - 1)})",  # noqa: S608 - constants
            values,
        )
        self._note(run.id, run.agent, run.state, run.started_at)

    def begin(self, run: CheckRun, at: float) -> bool:
        """Take a waiting run in order to start it; False if it was cancelled. Call inside a transaction."""
        taken = self._db.execute(
            "update check_run set state = 'running', started_at = ? where id = ? and state = 'waiting'",
            (at, run.id),
        )
        if taken.rowcount:
            self._note(run.id, run.agent, CheckState.RUNNING, at)
        return taken.rowcount > 0

    def finish(self, run: CheckRun) -> bool:
        """Record how an unfinished run ended; False if that is recorded already. Call inside a transaction.

        A note that a canceller has written stays.
        """
        done = self._db.execute(
            _FINISH,
            (
                str(run.state), run.ended_at, run.exit_code, row_decoder.storable_text(run.summary), run.after,
                row_decoder.storable_text(run.note), run.id,
            ),
        )  # fmt: skip
        if done.rowcount:
            self._note(run.id, run.agent, run.state, run.ended_at or run.started_at)
        return done.rowcount > 0

    def cancel(self, run: CheckRun, note: str, at: float) -> bool:
        """Cancel a run that has not begun, and note the reason for one that has; whether it was still waiting. Call inside
        a transaction."""
        self._db.execute(
            f"update check_run set note = ? where id = ? and {_IS_UNFINISHED}",  # noqa: S608 - constants
            (row_decoder.storable_text(note), run.id),
        )
        done = self._db.execute(
            "update check_run set state = 'cancelled', ended_at = ? where id = ? and state = 'waiting'",
            (at, run.id),
        )
        if done.rowcount:
            self._note(run.id, run.agent, CheckState.CANCELLED, at)
        return done.rowcount > 0

    def get(self, run_id: str) -> CheckRun | None:
        found = self._runs("where id = ?", (run_id,))
        return found[0] if found else None

    def of(self, agent_ids: Sequence[str]) -> list[CheckRun]:
        """All runs of these agents, oldest first."""
        marks = ", ".join("?" * len(agent_ids))
        return self._runs(f"where agent in ({marks}) order by started_at, rowid", tuple(agent_ids))

    def unfinished(self, agent_ids: Sequence[str]) -> list[CheckRun]:
        marks = ", ".join("?" * len(agent_ids))
        return self._runs(f"where agent in ({marks}) and {_IS_UNFINISHED}", tuple(agent_ids))

    def forget(self, run_id: str) -> None:
        """Delete a run. Call inside a transaction."""
        self._db.execute("delete from check_run where id = ?", (run_id,))

    def _runs(self, condition: str, values: Sequence[str]) -> list[CheckRun]:
        rows = self._db.rows(f"select {', '.join(_COLUMNS)} from check_run {condition}", values)  # noqa: S608 - constants
        return row_decoder.valid_rows(rows, _decoded)

    def _note(self, run_id: str, agent: str, state: CheckState, at: float) -> None:
        self._journal.add(at, agent, "check", {"id": run_id, "state": str(state)})


def _decoded(row: StoredRow) -> CheckRun:
    values = row_decoder.work_row("check_run", row)
    try:
        values["state"] = CheckState(values["state"])
    except ValueError:
        raise row_decoder.DamagedRow("state") from None
    return CheckRun(after=values.pop("after_tree"), **values)
