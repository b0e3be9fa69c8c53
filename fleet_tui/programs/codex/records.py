"""Reads the records of Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.

The first line of a record has the conversation's folder, its id and its kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path

from fleet_tui.programs.json_values import JsonObject, count, table
from fleet_tui.programs.records import (
    Conversation,
    Record,
    conversations_in,
    home,
    parse_time,
    read_lines,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b'"token_count"', b'"turn_context"')
CALL_MARK = b'"CommandExecution"'


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    def conversation(file: Path, first: JsonObject) -> Conversation | None:
        payload = table(first.get("payload"))
        if not payload:
            return Conversation("", file, 0.0, is_main=False)
        if payload.get("cwd") != worktree or not payload.get("id"):
            return None
        began = parse_time(payload.get("timestamp"))
        return Conversation(str(payload["id"]), file, began, is_main=_is_main(payload))

    folders = _days(_sessions(environment), since)
    files = (file for folder in folders for file in folder.glob("rollout-*.jsonl"))
    return conversations_in(files, since, conversation)


def _is_main(first: JsonObject) -> bool:
    """Codex records conversations of its own, too: for titles, reviews and sub-agents."""
    return isinstance(first.get("source"), str) and first.get("thread_source", "user") == "user"


def _sessions(environment: Mapping[str, str]) -> Path:
    return home(environment, "CODEX_HOME", ".codex") / "sessions"


def _days(sessions: Path, since: float) -> Iterator[Path]:
    """The folders of days on which it may have begun; local time, and a day more on either side to be sure."""
    first = datetime.fromtimestamp(since).astimezone().date()
    last = max(first, datetime.now().astimezone().date()) + timedelta(days=1)
    day = first - timedelta(days=1)
    while day <= last:
        yield _of(sessions, day)
        day += timedelta(days=1)


def _of(sessions: Path, day: date) -> Path:
    return sessions / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}"


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    sessions = _sessions(environment)
    day = _of(sessions, datetime.now().astimezone().date())
    return [sessions, day.parent.parent, day.parent, day]


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: JsonObject) -> None:
    payload = table(entry.get("payload"))
    if entry.get("type") == "turn_context":
        record.model = str(payload.get("model") or record.model)
        return
    info = table(payload.get("info"))
    total, last = table(info.get("total_token_usage")), table(info.get("last_token_usage"))
    if payload.get("type") != "token_count" or not total:
        return
    now, newest = _tokens(total), _tokens(last)
    # In a copied conversation, the first total includes that of the original.
    known = record.recent.get("total") or [all_ - new for all_, new in zip(now, newest, strict=True)]
    more = [all_ - old for all_, old in zip(now, known, strict=True)]
    record.recent["total"] = now
    record.add(record.model, more if min(more) >= 0 else newest)
    record.limit = count(info.get("model_context_window")) or None
    record.set_context(count(last.get("total_tokens")), record.model, parse_time(entry.get("timestamp")))


def _tokens(usage: JsonObject) -> list[int]:
    cached = count(usage.get("cached_input_tokens"))
    return [count(usage.get("input_tokens")) - cached, cached, count(usage.get("output_tokens"))]


def tool_calls(entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    item = table(table(entry.get("payload")).get("item"))
    if item.get("type") == "CommandExecution":
        command = item.get("command")
        # The shell and its options come first.
        last = command[-1] if isinstance(command, list) and command else command
        yield "Ran", {"command": last}, str(item.get("id", ""))
