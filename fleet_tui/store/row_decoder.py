"""Decode rows of the store, reject damaged ones, and encode values for columns.

SQLite checks types when it writes, not when it reads. After a flipped bit a column may hold invalid UTF-8, a number in
place of a text, or JSON that does not parse. A row is accepted as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import functools
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from fleet_tui.models import Agent, Batch, Evidence, Receipt, ReceiptState, Status

if TYPE_CHECKING:
    from typing import Protocol

    class StoredRow(Protocol):
        def __getitem__(self, name: str, /) -> Any: ...


T = TypeVar("T")

LATEST = 1e11
"""The latest accepted time, in seconds since 1970: later than any that is stored, and still a valid calendar date."""
LARGEST = 1 << 53
SMALL = 1 << 32

RECEIPT_STATES = frozenset(ReceiptState)

ColumnKind = Literal[
    "text", "path", "maybe path", "time", "maybe time", "int", "maybe int", "real", "maybe real"
]

AGENT_COLUMNS: dict[str, ColumnKind] = {
    "id": "text", "name": "text", "project": "path", "branch": "text", "base": "text", "worktree": "path",
    "batch": "text", "profile": "text", "argv": "text", "prompt": "text", "status": "text", "created_at": "time",
    "run": "int", "status_detail": "text", "evidence": "text", "status_since": "time", "started_at": "maybe time",
    "ended_at": "maybe time", "exit_code": "maybe int", "exit_signal": "maybe int", "pid": "maybe int",
    "keeper_pid": "maybe int", "machine": "text", "boot_id": "text", "session_id": "text", "title": "text",
    "trash": "maybe path", "port_base": "int", "branch_made": "int", "lost_output": "int",
}  # fmt: skip
_BATCH: dict[str, ColumnKind] = {"id": "text", "project": "path", "prompt": "text", "created_at": "time"}
_RECEIPT: dict[str, ColumnKind] = {
    "id": "text", "agent": "text", "text": "text", "state": "text", "reason": "text", "at": "time",
}  # fmt: skip
_PROJECT: dict[str, ColumnKind] = {"root": "path", "name": "text", "created_at": "time"}
_JOURNAL: dict[str, ColumnKind] = {
    "id": "int", "at": "time", "agent": "text", "kind": "text", "data": "text", "run": "maybe int", "seq": "maybe int",
}  # fmt: skip
_SPENDING: dict[str, ColumnKind] = {
    "agent": "text", "input_tokens": "int", "cached_tokens": "int", "output_tokens": "int", "cost": "maybe real",
    "context_tokens": "maybe int", "context_limit": "maybe int", "model": "text", "at": "time", "cost_before": "real",
    "sources": "text",
}  # fmt: skip
WORK_TABLES: dict[str, dict[str, ColumnKind]] = {
    "reviewed_file": {"agent": "text", "path": "text", "content": "text", "at": "time"},
    "review_comment": {
        "id": "text", "agent": "text", "path": "text", "side": "text", "first": "int", "last": "int", "against": "text",
        "quoted": "text", "before": "text", "after": "text", "text": "text", "created_at": "time", "round": "int",
        "sent_at": "maybe time", "receipt": "text", "handled_at": "maybe time",
    },
    "check_run": {
        "id": "text", "agent": "text", "command": "text", "tree": "text", "onto": "text", "state": "text",
        "started_at": "time", "ended_at": "maybe time", "exit_code": "maybe int", "summary": "text",
        "after_tree": "text", "note": "text",
    },
    "checkpoint": {
        "agent": "text", "number": "int", "commit_id": "text", "tree": "text", "kind": "text", "at": "time",
        "note": "text", "turn": "int", "restored": "int", "added": "int", "removed": "int", "changed": "int", "files": "text",
        "left_out": "text",
    },
    "landing": {
        "id": "text", "project": "path", "agent": "text", "into_name": "text", "strategy": "text", "old": "text",
        "new": "text", "head": "text", "state": "text", "at": "time", "message": "text", "reason": "text",
        "undone_at": "maybe time",
    },
    "pull_request": {
        "agent": "text", "url": "text", "number": "int", "state": "text", "checks": "text", "review": "text",
        "rounds": "int", "at": "time", "head": "text", "failed": "text", "note": "text", "handled": "text", "receipt": "text",
    },
    "spare": {
        "path": "path", "project": "path", "base": "text", "made_at": "time", "needed_at": "time", "settings": "text",
    },
}  # fmt: skip
"""The columns of the tables about the work of agents, whose rows are copied as they are when a store is rebuilt."""

_STATUSES = frozenset(Status)
_DECODE = json.JSONDecoder().decode


class DamagedRow(ValueError):
    """Raised for a row that differs from what was written; the message names the column."""


def decode_text(data: bytes) -> str | bytes:
    """Decode a text of SQLite, as its `text_factory`; invalid UTF-8 stays bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def agent(row: StoredRow, *, is_newer: bool = False) -> Agent:
    """Decode an agent. In a newer store an unknown status becomes UNKNOWN; otherwise it is damage."""
    values = _checked(row, AGENT_COLUMNS)
    if "/" in values["id"] or values["id"] in ("", ".", ".."):
        raise DamagedRow("id")
    if values["run"] < 1:
        raise DamagedRow("run")
    if values["status"] in _STATUSES:
        values["status"] = Status(values["status"])
    elif is_newer:
        values["status"] = Status.UNKNOWN
    else:
        raise DamagedRow("status")
    values["argv"] = words(values["argv"], "argv")
    values["branch_made"] = bool(values["branch_made"])
    values["evidence"] = _evidence(values["evidence"]) if values["evidence"] else None
    return Agent(**values)


def label(row: StoredRow) -> str:
    """The name to show for the agent of a damaged row."""
    for name in ("name", "id"):
        if isinstance(row[name], str) and row[name]:
            return str(row[name])
    return "an agent"


def intent(column: Any) -> dict[str, Any]:
    """Decode a launch intent; empty if none was written."""
    if column == "":
        return {}
    found = _json(column, "intent")
    if not isinstance(found, dict):
        raise DamagedRow("intent")
    return found


def offset(value: Any) -> int:
    """Decode the offset up to which a file was read."""
    if not _IS["int"](value):
        raise DamagedRow("events_read")
    return int(value)


def batch(row: StoredRow) -> Batch:
    return Batch(**_checked(row, _BATCH))


def receipt(row: StoredRow) -> Receipt:
    found = Receipt(**_checked(row, _RECEIPT))
    if found.state not in RECEIPT_STATES:
        raise DamagedRow("state")
    return found


def project(row: StoredRow) -> dict[str, Any]:
    return _checked(row, _PROJECT)


def journal_line(row: StoredRow) -> dict[str, Any]:
    """Decode a journal line; its data stays JSON text."""
    values = _checked(row, _JOURNAL)
    _json(values["data"], "data")
    return values


def spending(row: StoredRow) -> dict[str, Any]:
    values = _checked(row, _SPENDING)
    _json(values["sources"], "sources")
    return values


def work_row(table: str, row: StoredRow) -> dict[str, Any]:
    """Decode a row of one of WORK_TABLES; JSON stays text."""
    return _checked(row, WORK_TABLES[table])


def fits_journal(event: Mapping[str, Any]) -> bool:
    """Whether a holder's event fits the journal. The agent can write to the event log, too, so it may hold anything."""
    return (
        _IS["int"](event["seq"])
        and 0 <= event["at"] < LATEST
        and storable_text(event["kind"]) == event["kind"]
    )


def storable_text(value: Any) -> str:
    """Make any value a text that a column can hold and that decodes as sound."""
    return str(value).replace("\0", "").encode(errors="replace").decode()


def encoded(value: Any) -> Any:
    """Encode a value for its column."""
    if isinstance(value, Evidence):
        return json.dumps(value.to_plain() | {"at": value.at})
    if isinstance(value, tuple | list | dict):
        return json.dumps(value)
    if isinstance(value, Status):
        return str(value)
    if isinstance(value, bool):
        return int(value)
    return value


def valid_rows(rows: Sequence[sqlite3.Row], decode: Callable[[sqlite3.Row], T]) -> list[T]:
    """Decode rows, leaving the damaged ones out."""
    found = []
    for row in rows:
        with contextlib.suppress(DamagedRow):
            found.append(decode(row))
    return found


def stored_agent(row: StoredRow) -> tuple[Agent, dict[str, Any], int]:
    """An agent with its intent and the read offset of its events."""
    return agent(row), intent(row["intent"]), offset(row["events_read"])


DECODERS: dict[str, Callable[[sqlite3.Row], Any]] = {
    "project": project,
    "batch": batch,
    "agent": stored_agent,
    "receipt": receipt,
    "journal": journal_line,
    "spending": spending,
    **{table: functools.partial(work_row, table) for table in WORK_TABLES},
}
"""The tables, each after those that it refers to."""


# ── values ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_text(value: Any) -> bool:
    return type(value) is str and "\0" not in value


def _is_int(value: Any) -> bool:
    return type(value) is int and -LARGEST < value < LARGEST


def _is_real(value: Any) -> bool:
    return type(value) is float and isfinite(value)


def _is_time(value: Any) -> bool:
    return type(value) is float and 0.0 <= value < LATEST


def _is_path(value: Any) -> bool:
    return _is_text(value) and value.startswith("/")


_IS: dict[ColumnKind, Callable[[Any], bool]] = {
    "text": _is_text,
    "path": _is_path,
    "maybe path": lambda value: value == "" or _is_path(value),
    "time": _is_time,
    "maybe time": lambda value: value is None or _is_time(value),
    "int": lambda value: _is_int(value) and value >= 0,
    "maybe int": lambda value: value is None or (_is_int(value) and abs(value) < SMALL),
    "real": _is_real,
    "maybe real": lambda value: value is None or _is_real(value),
}


def _checked(row: StoredRow, columns: Mapping[str, ColumnKind]) -> dict[str, Any]:
    values = {}
    for name, kind in columns.items():
        try:
            values[name] = value = row[name]
        except (IndexError, KeyError):
            # The table is damaged, or of an earlier version.
            raise DamagedRow(name) from None
        if not _IS[kind](value):
            raise DamagedRow(name)
    return values


def words(column: Any, name: str) -> tuple[str, ...]:
    """Decode a JSON list of texts."""
    found = _json(column, name)
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise DamagedRow(name)
    return tuple(found)


def _json(column: Any, name: str) -> Any:
    try:
        return _DECODE(column)
    except (ValueError, TypeError, RecursionError):
        raise DamagedRow(name) from None


def _evidence(column: str) -> Evidence:
    values = _json(column, "evidence")
    if not isinstance(values, dict) or "source" not in values:
        raise DamagedRow("evidence")
    texts = (values.get(name, "") for name in ("source", "text", "rule"))
    at, choices = values.get("at", 0.0), values.get("choices", [])
    if (
        not all(isinstance(one, str) for one in texts)
        or type(at) not in (int, float)
        or not isinstance(choices, list)
        or not all(isinstance(one, list) and len(one) == 2 for one in choices)
    ):
        raise DamagedRow("evidence")
    return Evidence.from_plain(values, at)
