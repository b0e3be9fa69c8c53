"""Reads the records of Gemini CLI: `tmp/<project name>/chats/session-*.jsonl`; `projects.json` has the names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.programs.json_values import JsonObject, array, count, table
from fleet_tui.programs.records import (
    Conversation,
    Record,
    conversations_in,
    home,
    parse_time,
    read_lines,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b'"tokens"',)
CALL_MARK = b'"toolCalls"'


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    def conversation(file: Path, first: JsonObject) -> Conversation:
        is_main = bool(first) and first.get("kind", "main") == "main"
        began = parse_time(first.get("startTime"))
        return Conversation(str(first.get("sessionId", "")), file, began, is_main=is_main)

    return conversations_in(_chats(environment, worktree).glob("session-*.jsonl"), since, conversation)


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    return [_own(environment), _chats(environment, worktree)]


def _own(environment: Mapping[str, str]) -> Path:
    return home(environment, "GEMINI_CLI_HOME", "") / ".gemini"


def _chats(environment: Mapping[str, str], worktree: str) -> Path:
    own = _own(environment)
    try:
        names = table(table(json.loads((own / "projects.json").read_bytes())).get("projects"))
    except (OSError, ValueError):
        names = {}
    name = str(names.get(worktree) or hashlib.sha256(worktree.encode()).hexdigest())
    return own / "tmp" / name / "chats"


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: JsonObject) -> None:
    tokens = table(entry.get("tokens"))
    if entry.get("type") != "gemini" or not tokens:
        return
    at, model = parse_time(entry.get("timestamp")), str(entry.get("model", ""))
    sent, cached = count(tokens.get("input")), count(tokens.get("cached"))
    answered = count(tokens.get("output")) + count(tokens.get("thoughts"))
    if at >= record.since:
        record.add(model, (sent - cached, cached, answered), str(entry.get("id", "")))
    if record.is_main:
        record.set_context(sent, model, at)


def tool_calls(entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    for call in map(table, array(entry.get("toolCalls"))):
        yield str(call.get("name", "")), table(call.get("args")), str(call.get("id", ""))
