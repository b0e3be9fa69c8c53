"""Qwen Code: `projects/<folder>/chats/<session>.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fleet_tui.records.record import (
    Conversation,
    Entry,
    Record,
    changed_since,
    folder_name,
    head,
    home,
    moment,
    number,
    read_lines,
    table,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b"api_response", b'"usageMetadata"')


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    files = changed_since(_chats(environment, worktree).glob("*.jsonl"), since)
    found = [Conversation(file.stem, file, moment(head(file).get("timestamp"))) for file in files]
    return sorted(found, key=lambda one: one.started_at)


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    chats = _chats(environment, worktree)
    return [chats.parent.parent, chats]


def _chats(environment: Mapping[str, str], worktree: str) -> Path:
    own = home(environment, "QWEN_HOME", ".qwen")
    return own / "projects" / folder_name(worktree) / "chats"


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: Entry) -> None:
    at = moment(entry.get("timestamp"))
    event = table(table(entry.get("systemPayload")).get("uiEvent"))
    if str(event.get("event.name", "")).endswith("api_response") and at >= record.since:
        cached = number(event.get("cached_content_token_count"))
        sent = number(event.get("input_token_count")) - cached
        answered = number(event.get("output_token_count"))
        record.add(str(event.get("model", "")), (sent, cached, answered), str(event.get("response_id", "")))
    elif entry.get("type") == "assistant":
        used = table(entry.get("usageMetadata"))
        record.uses(number(used.get("promptTokenCount")), str(entry.get("model", "")), at)
