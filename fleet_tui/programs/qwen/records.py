"""Reads the records of Qwen Code: `projects/<folder>/chats/<session>.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.programs.json_values import JsonObject, array, count, table
from fleet_tui.programs.records import (
    Conversation,
    Record,
    conversations_in,
    folder_name,
    home,
    parse_time,
    read_lines,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b"api_response", b'"usageMetadata"')
CALL_MARK = b'"functionCall"'


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    def conversation(file: Path, first: JsonObject) -> Conversation:
        return Conversation(file.stem, file, parse_time(first.get("timestamp")))

    return conversations_in(_chats(environment, worktree).glob("*.jsonl"), since, conversation)


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    chats = _chats(environment, worktree)
    return [chats.parent.parent, chats]


def _chats(environment: Mapping[str, str], worktree: str) -> Path:
    own = home(environment, "QWEN_HOME", ".qwen")
    return own / "projects" / folder_name(worktree) / "chats"


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: JsonObject) -> None:
    at = parse_time(entry.get("timestamp"))
    event = table(table(entry.get("systemPayload")).get("uiEvent"))
    if str(event.get("event.name", "")).endswith("api_response") and at >= record.since:
        cached = count(event.get("cached_content_token_count"))
        sent = count(event.get("input_token_count")) - cached
        answered = count(event.get("output_token_count"))
        record.add(str(event.get("model", "")), (sent, cached, answered), str(event.get("response_id", "")))
    elif entry.get("type") == "assistant":
        used = table(entry.get("usageMetadata"))
        record.set_context(count(used.get("promptTokenCount")), str(entry.get("model", "")), at)


def tool_calls(entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    for part in map(table, array(table(entry.get("message")).get("parts"))):
        call = table(part.get("functionCall"))
        if call:
            yield str(call.get("name", "")), table(call.get("args")), str(call.get("id", ""))
