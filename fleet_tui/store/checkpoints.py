"""The checkpoint table: which saved states of worktrees there are. Their files are in the repositories."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from fleet_tui.fast_dataclasses import replace
from fleet_tui.store import row_decoder
from fleet_tui.store.journal import JournalTable
from fleet_tui.store.sqlite import SqliteDatabase
from fleet_tui.work import Checkpoint, CheckpointKind

_KINDS = frozenset(CheckpointKind)


class CheckpointTable:
    def __init__(self, db: SqliteDatabase, journal: JournalTable) -> None:
        self._db = db
        self._journal = journal

    def of(self, agent_id: str) -> list[Checkpoint]:
        """The checkpoints of an agent, oldest first."""
        rows = self._db.rows("select * from checkpoint where agent = ? order by number", (agent_id,))
        return row_decoder.valid_rows(rows, _checkpoint)

    def agents(self) -> list[str]:
        """The ids of agents that have checkpoints."""
        return [row["agent"] for row in self._db.rows("select distinct agent from checkpoint")]

    def last_number(self, agent_id: str) -> int:
        """The highest number of an agent's checkpoints; 0 if there is none. Damaged rows count, too."""
        rows = self._db.rows("select coalesce(max(number), 0) from checkpoint where agent = ?", (agent_id,))
        return int(rows[0][0])

    def add(self, one: Checkpoint) -> None:
        """Add a checkpoint, or replace the one of that number. Call inside a transaction."""
        values = {
            "agent": one.agent, "number": one.number, "commit_id": one.commit, "tree": one.tree, "kind": str(one.kind),
            "at": one.at, "note": row_decoder.storable_text(one.note), "turn": one.turn, "restored": one.restored,
            "added": one.added, "removed": one.removed, "changed": one.changed,
            "files": json.dumps(one.files), "left_out": json.dumps(one.left_out),
        }  # fmt: skip
        self._db.execute(
            f"insert or replace into checkpoint ({', '.join(values)}) values ({', '.join('?' * len(values))})",  # noqa: S608 - names of our own
            tuple(values.values()),
        )
        self._journal.add(one.at, one.agent, "checkpoint", {"number": one.number, "kind": str(one.kind)})

    def rename(self, one: Checkpoint, note: str, at: float) -> Checkpoint:
        """Change a checkpoint's note. Call inside a transaction."""
        note = row_decoder.storable_text(note)
        self._db.execute(
            "update checkpoint set note = ?, kind = ? where agent = ? and number = ?",
            (note, str(CheckpointKind.NAMED), one.agent, one.number),
        )
        self._journal.add(at, one.agent, "checkpoint", {"number": one.number, "note": note})
        return replace(one, note=note, kind=CheckpointKind.NAMED)

    def remove(self, agent_id: str, numbers: Sequence[int], at: float) -> None:
        """Forget checkpoints. Call inside a transaction."""
        self._db.execute(
            "delete from checkpoint where agent = ? and number in (select value from json_each(?))",
            (agent_id, json.dumps(list(numbers))),
        )
        self._journal.add(at, agent_id, "checkpoint", {"removed": list(numbers)})


def _checkpoint(row: sqlite3.Row) -> Checkpoint:
    values: dict[str, Any] = row_decoder.work_row("checkpoint", row)
    if values["kind"] not in _KINDS:
        raise row_decoder.DamagedRow("kind")
    values["kind"] = CheckpointKind(values["kind"])
    for name in ("files", "left_out"):
        values[name] = row_decoder.words(values[name], name)
    values["commit"] = values.pop("commit_id")
    return Checkpoint(**values)
