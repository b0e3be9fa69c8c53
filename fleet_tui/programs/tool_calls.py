"""Tool calls that a program has made, read from its record of the conversation: when, which tool, and about what.

Only the end of a record is read, as callers poll while an agent works.
"""

from __future__ import annotations

from pathlib import Path

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.programs.json_values import JsonObject, parsed
from fleet_tui.programs.record_readers import RECORD_READERS
from fleet_tui.programs.records import parse_time

TAIL = 256 * 1024
"""Bytes read from the end of a record."""
_SUBJECTS = (
    "command", "cmd", "file_path", "absolute_path", "notebook_path", "path", "pattern", "query", "url", "description",
)  # fmt: skip
"""Arguments that say what a call is about, the most specific first."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    at: float
    tool: str
    about: str
    id: str = ""


def last_calls(reader: str, path: Path, worktree: str, most: int) -> list[ToolCall]:
    """The last calls in a record, oldest first; empty if its program's records cannot be read line by line."""
    records = RECORD_READERS.get(reader)
    found: dict[str, ToolCall] = {}
    for line in _tail(path) if records is not None and records.CALL_MARK else ():
        if records is None or records.CALL_MARK not in line:
            continue
        entry = parsed(line)
        for tool, arguments, call_id in records.tool_calls(entry):
            call = ToolCall(parse_time(entry.get("timestamp")), tool, _about(arguments, worktree), call_id)
            # A message that grows is written again with the same calls.
            found.setdefault(call_id or f"{len(found)}", call)
    return list(found.values())[-most:]


def _tail(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            whole = file.read(TAIL).split(b"\n")
    except OSError:
        return []
    return whole[1:-1] if size > TAIL else whole[:-1]


def _about(arguments: JsonObject, worktree: str) -> str:
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value.removeprefix(f"{worktree}/")
    return ""
