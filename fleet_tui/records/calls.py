"""The tools that a program has called, as its record of a conversation tells them: when, which, and with what.

Only the end of a record is read: it is asked for again and again while an agent works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fleet_tui.records.record import Entry, moment, parsed, table
from fleet_tui.values import dataclass

TAIL = 256 * 1024
"""Bytes of a record that are looked through."""
_TELLING = (
    "command", "cmd", "file_path", "absolute_path", "notebook_path", "path", "pattern", "query", "url", "description",
)  # fmt: skip
"""Arguments that say what a call is about, the most telling first."""


@dataclass(frozen=True, slots=True)
class Call:
    at: float
    tool: str
    about: str
    id: str = ""


Teller = Callable[[Entry], Iterator[tuple[str, Entry, str]]]
"""The tools that an entry of a record calls, with their arguments and ids."""


def _claude(entry: Entry) -> Iterator[tuple[str, Entry, str]]:
    content = table(entry.get("message")).get("content")
    if entry.get("type") == "assistant" and isinstance(content, list):
        for part in map(table, content):
            if part.get("type") == "tool_use":
                yield str(part.get("name", "")), table(part.get("input")), str(part.get("id", ""))


def _codex(entry: Entry) -> Iterator[tuple[str, Entry, str]]:
    item = table(table(entry.get("payload")).get("item"))
    if item.get("type") == "CommandExecution":
        command = item.get("command")
        # A shell and its options in front say nothing.
        last = command[-1] if isinstance(command, list) and command else command
        yield "Ran", {"command": last}, str(item.get("id", ""))


def _gemini(entry: Entry) -> Iterator[tuple[str, Entry, str]]:
    calls = entry.get("toolCalls")
    for call in map(table, calls if isinstance(calls, list) else ()):
        yield str(call.get("name", "")), table(call.get("args")), str(call.get("id", ""))


def _qwen(entry: Entry) -> Iterator[tuple[str, Entry, str]]:
    parts = table(entry.get("message")).get("parts")
    for part in map(table, parts if isinstance(parts, list) else ()):
        call = table(part.get("functionCall"))
        if call:
            yield str(call.get("name", "")), table(call.get("args")), str(call.get("id", ""))


_TELLERS: Mapping[str, tuple[bytes, Teller]] = {
    "claude": (b'"tool_use"', _claude),
    "codex": (b'"CommandExecution"', _codex),
    "gemini": (b'"toolCalls"', _gemini),
    "qwen": (b'"functionCall"', _qwen),
}


def last_calls(reader: str, path: Path, worktree: str, most: int) -> list[Call]:
    """The last calls in a record, oldest first; none where the program writes none down that we know."""
    mark, teller = _TELLERS.get(reader, (b"", None))
    found: dict[str, Call] = {}
    for line in _tail(path) if teller is not None else ():
        if mark not in line or teller is None:
            continue
        entry = parsed(line)
        for tool, arguments, call_id in teller(entry):
            call = Call(moment(entry.get("timestamp")), tool, _about(arguments, worktree), call_id)
            # A message that is written again as it grows has the same calls in it.
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


def _about(arguments: Entry, worktree: str) -> str:
    for name in _TELLING:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value.removeprefix(f"{worktree}/")
    return ""
