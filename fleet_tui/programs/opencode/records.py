"""Reads the records of OpenCode: one SQLite file for all conversations, which OpenCode may be writing to."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.programs.json_values import JsonObject, count, table
from fleet_tui.programs.records import Conversation, Record, home

COMPANIONS: tuple[str, ...] = ("-wal",)
CALL_MARK = b""

_SESSIONS = "select id, parent_id, time_created from session where directory = ? and time_updated >= ? order by time_created"
_SUMS = """
select coalesce(json_extract(data, '$.modelID'), '') as model,
  sum(json_extract(data, '$.tokens.input') + json_extract(data, '$.tokens.cache.write')) as sent,
  sum(json_extract(data, '$.tokens.cache.read')) as cached,
  sum(json_extract(data, '$.tokens.output') + json_extract(data, '$.tokens.reasoning')) as answered,
  sum(json_extract(data, '$.cost')) as cost
from message where session_id = ? and time_created >= ? and json_extract(data, '$.role') = 'assistant' group by model
"""
_NEWEST = """
select data, time_updated from message where session_id = ? and json_extract(data, '$.role') = 'assistant'
  and json_extract(data, '$.tokens.output') > 0 order by time_created desc limit 1
"""


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    path = _file(environment)
    with contextlib.suppress(sqlite3.Error), _opened(path) as db:
        return [
            Conversation(row[0], path, row[2] / 1000, is_main=row[1] is None)
            for row in db.execute(_SESSIONS, (worktree, since * 1000))
        ]
    return []


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    path = _file(environment)
    return [path, *(path.with_name(path.name + end) for end in COMPANIONS)]


def _file(environment: Mapping[str, str]) -> Path:
    return home(environment, "XDG_DATA_HOME", ".local/share") / "opencode" / "opencode.db"


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # No write-ahead log means that no process has the file open. Opening it normally would leave a log behind.
    is_still = not path.with_name(path.name + "-wal").exists()
    address = f"{path.as_uri()}?mode=ro{'&immutable=1' if is_still else ''}"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0.2)) as db:
        yield db


def read(record: Record) -> None:
    """Replace the sums of one conversation: OpenCode keeps totals, so there is no offset to continue from."""
    with contextlib.suppress(sqlite3.Error, ValueError), _opened(Path(record.path)) as db:
        rows = db.execute(_SUMS, (record.id, record.since * 1000)).fetchall()
        newest = db.execute(_NEWEST, (record.id,)).fetchone()
        record.models = {row[0]: [count(row[1]), count(row[2]), count(row[3])] for row in rows}
        # OpenCode writes 0 if it does not know the price.
        cost = sum(row[4] or 0.0 for row in rows)
        record.told, record.untold = (cost, {}) if cost else (None, dict(record.models))
        if newest is not None:
            data = table(json.loads(newest[0]))
            tokens = table(data.get("tokens"))
            cache = table(tokens.get("cache"))
            context = sum(map(count, (tokens.get("input"), cache.get("read"), cache.get("write"))))
            record.set_context(context, str(data.get("modelID", "")), newest[1] / 1000)


def tool_calls(_entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    """None: a tail of the file has no lines to read."""
    yield from ()
