"""Turn rows of the store into data, and reject damaged ones.

SQLite checks types when it writes, not when it reads: after a flipped bit a column may hold bytes that are no text, a
number for a text, or JSON that does not parse. A row is taken as a whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal

from fleet_tui.models import Agent, Batch, Evidence, Receipt, ReceiptState, Status, Wish
from fleet_tui.values import asdict, known

if TYPE_CHECKING:
    from typing import Protocol

    class Row(Protocol):
        def __getitem__(self, name: str, /) -> Any: ...


LATEST = 1e11
"""Seconds since 1970: no time in the store is later, and calendars can name it."""
LARGEST = 1 << 53
SMALL = 1 << 32

RECEIPT_STATES = frozenset(ReceiptState)

Kind = Literal["text", "path", "maybe path", "time", "maybe time", "int", "maybe int", "real", "maybe real"]

AGENT_COLUMNS: dict[str, Kind] = {
    "id": "text", "name": "text", "project": "path", "branch": "text", "base": "text", "worktree": "path",
    "batch": "text", "profile": "text", "argv": "text", "prompt": "text", "status": "text", "created_at": "time",
    "run": "int", "status_detail": "text", "evidence": "text", "status_since": "time", "started_at": "maybe time",
    "ended_at": "maybe time", "exit_code": "maybe int", "exit_signal": "maybe int", "pid": "maybe int",
    "keeper_pid": "maybe int", "machine": "text", "boot_id": "text", "session_id": "text", "title": "text",
    "trash": "maybe path", "port_base": "int", "branch_made": "int", "lost_output": "int",
}  # fmt: skip
_BATCH: dict[str, Kind] = {"id": "text", "project": "path", "prompt": "text", "created_at": "time"}
_RECEIPT: dict[str, Kind] = {
    "id": "text", "agent": "text", "text": "text", "state": "text", "reason": "text", "at": "time",
}  # fmt: skip
_PROJECT: dict[str, Kind] = {"root": "path", "name": "text", "created_at": "time"}
_JOURNAL: dict[str, Kind] = {
    "id": "int", "at": "time", "agent": "text", "kind": "text", "data": "text", "run": "maybe int", "seq": "maybe int",
}  # fmt: skip
_SPENDING: dict[str, Kind] = {
    "agent": "text", "input_tokens": "int", "cached_tokens": "int", "output_tokens": "int", "cost": "maybe real",
    "context_tokens": "maybe int", "context_limit": "maybe int", "model": "text", "at": "time", "cost_before": "real",
    "sources": "text",
}  # fmt: skip

_STATUSES = frozenset(Status)
_DECODE = json.JSONDecoder().decode


class Damaged(ValueError):
    """A row that cannot be what was written; the message names the column."""


def text(data: bytes) -> str | bytes:
    """How SQLite's text is read once some of it is known to be no UTF-8: such a value stays bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def agent(row: Row, *, is_newer: bool = False) -> Agent:
    """The agent of a row. A newer program may know statuses that this one does not."""
    values = _checked(row, AGENT_COLUMNS)
    if "/" in values["id"] or values["id"] in ("", ".", ".."):
        raise Damaged("id")
    if values["run"] < 1:
        raise Damaged("run")
    if values["status"] in _STATUSES:
        values["status"] = Status(values["status"])
    elif is_newer:
        values["status"] = Status.UNKNOWN
    else:
        raise Damaged("status")
    values["argv"] = _words(values["argv"])
    values["branch_made"] = bool(values["branch_made"])
    values["evidence"] = _evidence(values["evidence"]) if values["evidence"] else None
    return Agent(**values)


def label(row: Row) -> str:
    """What to call the agent of a damaged row."""
    for name in ("name", "id"):
        if isinstance(row[name], str) and row[name]:
            return str(row[name])
    return "an agent"


def intent(said: Any) -> dict[str, Any]:
    """What the launcher was to make; empty where that was never written."""
    if said == "":
        return {}
    found = _json(said, "intent")
    if not isinstance(found, dict):
        raise Damaged("intent")
    return found


def offset(value: Any) -> int:
    """How far a file was read."""
    if not _IS["int"](value):
        raise Damaged("events_read")
    return int(value)


def batch(row: Row) -> Batch:
    return Batch(**_checked(row, _BATCH))


def receipt(row: Row) -> Receipt:
    found = Receipt(**_checked(row, _RECEIPT))
    if found.state not in RECEIPT_STATES:
        raise Damaged("state")
    return found


def project(row: Row) -> dict[str, Any]:
    return _checked(row, _PROJECT)


def journal_line(row: Row) -> dict[str, Any]:
    """A line of the journal with its data still as JSON."""
    values = _checked(row, _JOURNAL)
    _json(values["data"], "data")
    return values


def spending(row: Row) -> dict[str, Any]:
    values = _checked(row, _SPENDING)
    _json(values["sources"], "sources")
    return values


def is_recordable(event: Mapping[str, Any]) -> bool:
    """Whether a line of the journal can be made of a holder's event: its file can be written by the agent as well."""
    return _IS["int"](event["seq"]) and 0 <= event["at"] < LATEST and written(event["kind"]) == event["kind"]


def written(value: Any) -> str:
    """A value as a text that a column can hold, and that is not taken for damaged when it is read."""
    return str(value).replace("\0", "").encode(errors="replace").decode()


def plain(value: Any) -> Any:
    """What a column of the store holds for a value."""
    if isinstance(value, Evidence):
        return json.dumps(asdict(value))
    if isinstance(value, tuple | list | dict):
        return json.dumps(value)
    if isinstance(value, Status):
        return str(value)
    if isinstance(value, bool):
        return int(value)
    return value


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


_IS: dict[Kind, Callable[[Any], bool]] = {
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


def _checked(row: Row, columns: Mapping[str, Kind]) -> dict[str, Any]:
    values = {}
    for name, kind in columns.items():
        try:
            values[name] = value = row[name]
        except (IndexError, KeyError):
            # The table itself is damaged, or of an earlier version.
            raise Damaged(name) from None
        if not _IS[kind](value):
            raise Damaged(name)
    return values


def _json(said: Any, name: str) -> Any:
    try:
        return _DECODE(said)
    except (ValueError, TypeError, RecursionError):
        raise Damaged(name) from None


def _words(said: str) -> tuple[str, ...]:
    found = _json(said, "argv")
    if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
        raise Damaged("argv")
    return tuple(found)


def _evidence(said: str) -> Evidence:
    """Also of what another version has written: unknown fields are passed over."""
    values = _json(said, "evidence")
    if not isinstance(values, dict):
        raise Damaged("evidence")
    found = known(Evidence, values)
    try:
        choices = tuple((str(key), str(says)) for key, says in found.get("choices", ()))
        made = Evidence(**found | {"choices": choices, "wish": Wish.from_plain(found.get("wish"))})
    except (TypeError, ValueError):
        raise Damaged("evidence") from None
    texts = (made.source, made.text, made.rule)
    if not all(isinstance(one, str) for one in texts) or type(made.at) not in (int, float):
        raise Damaged("evidence")
    return made
