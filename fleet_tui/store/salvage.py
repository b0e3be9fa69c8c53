"""Read every sound row of a damaged store file, and fill a new store with them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleet_tui.fast_dataclasses import dataclass, field
from fleet_tui.models import Agent, Batch, Receipt
from fleet_tui.store import batches, receipts, row_decoder
from fleet_tui.store.agents import to_row
from fleet_tui.store.database import Store


@dataclass(frozen=True, slots=True)
class StoreContents:
    """All sound rows of a store."""

    projects: list[dict[str, Any]] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    agents: list[tuple[Agent, dict[str, Any], int]] = field(default_factory=list)
    """Each with its intent and the read offset of its events."""
    receipts: list[Receipt] = field(default_factory=list)
    journal: list[dict[str, Any]] = field(default_factory=list)
    spending: list[dict[str, Any]] = field(default_factory=list)
    work: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The rows of the tables about the work of agents, by table."""
    journal_end: int = 0
    """The number of the last line of the journal: readers remember it, and the next one has to be higher."""
    unreadable: frozenset[str] = frozenset()
    """Tables that could not be read to their end."""
    damaged: Mapping[str, int] = field(default_factory=dict)
    """How many rows of each table were left out."""


def salvage(path: Path) -> StoreContents:
    """Read the sound rows of a damaged file: all that can be reached from either end of a table."""
    read: dict[str, list[Any]] = {table: [] for table in row_decoder.DECODERS}
    damaged: dict[str, int] = {}
    unreadable: set[str] = set()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.row_factory, db.text_factory = sqlite3.Row, row_decoder.decode_text
        for table, decode in row_decoder.DECODERS.items():
            rows: dict[int, sqlite3.Row] = {}
            for order in ("asc", "desc"):
                try:
                    for row in db.execute(f"select rowid as place, * from {table} order by rowid {order}"):  # noqa: S608 - constants
                        rows[row["place"]] = row
                except (sqlite3.Error, MemoryError, UnicodeDecodeError):
                    unreadable.add(table)
                else:
                    break
            for place in sorted(rows):
                try:
                    read[table].append(decode(rows[place]))
                except row_decoder.DamagedRow:
                    damaged[table] = damaged.get(table, 0) + 1
    lines = read["journal"]
    is_whole = "journal" not in unreadable
    return StoreContents(
        read["project"], read["batch"], read["agent"], read["receipt"], lines, read["spending"],
        {table: read[table] for table in row_decoder.WORK_TABLES},
        # No store has as many lines as seconds have passed since 1970.
        max((line["id"] for line in lines), default=0) if is_whole else int(time.time()),
        frozenset(unreadable), damaged,
    )  # fmt: skip


def fill(store: Store, contents: StoreContents) -> None:
    """Insert what was read from another file into a new store. Call inside a transaction."""
    rows: dict[str, list[dict[str, Any]]] = {
        "project": contents.projects,
        "batch": [_columns(batch, batches.COLUMNS) for batch in contents.batches],
        "agent": [
            to_row(agent) | {"intent": json.dumps(intent), "events_read": read_to}
            for agent, intent, read_to in contents.agents
        ],
        "receipt": [_columns(receipt, receipts.COLUMNS) for receipt in contents.receipts],
        "journal": contents.journal,
        "spending": contents.spending,
        **contents.work,
    }
    for table, values in rows.items():
        for row in values:
            store.db.execute(
                f"insert into {table} ({', '.join(row)}) values ({', '.join('?' * len(row))}) on conflict do nothing",  # noqa: S608 - names of our own
                tuple(row.values()),
            )
    store.db.execute("delete from sqlite_sequence where name = 'journal'")
    store.db.execute("insert into sqlite_sequence (name, seq) values ('journal', ?)", (contents.journal_end,))


def _columns(value: Batch | Receipt, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}
