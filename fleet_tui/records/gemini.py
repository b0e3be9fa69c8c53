"""Gemini CLI: `tmp/<name of the project>/chats/session-*.jsonl`; `projects.json` has the names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from fleet_tui.records.record import (
    Conversation,
    Entry,
    Record,
    changed_since,
    head,
    home,
    moment,
    number,
    read_lines,
    table,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b'"tokens"',)


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    found = []
    for file in changed_since(_chats(environment, worktree).glob("session-*.jsonl"), since):
        first = head(file)
        is_main = bool(first) and first.get("kind", "main") == "main"
        began = moment(first.get("startTime"))
        found.append(Conversation(str(first.get("sessionId", "")), file, began, is_main=is_main))
    return sorted(found, key=lambda one: one.started_at)


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


def _take(record: Record, entry: Entry) -> None:
    tokens = table(entry.get("tokens"))
    if entry.get("type") != "gemini" or not tokens:
        return
    at, model = moment(entry.get("timestamp")), str(entry.get("model", ""))
    sent, cached = number(tokens.get("input")), number(tokens.get("cached"))
    answered = number(tokens.get("output")) + number(tokens.get("thoughts"))
    if at >= record.since:
        record.add(model, (sent - cached, cached, answered), str(entry.get("id", "")))
    if record.is_main:
        record.uses(sent, model, at)
