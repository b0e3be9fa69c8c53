"""Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`, whose first line says where and what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
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
MARKS = (b'"token_count"', b'"turn_context"')


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    found = []
    for folder in _days(_sessions(environment), since):
        for file in changed_since(folder.glob("rollout-*.jsonl"), since):
            first = table(head(file).get("payload"))
            if not first:
                found.append(Conversation("", file, 0.0, is_main=False))
            elif first.get("cwd") == worktree and first.get("id"):
                began = moment(first.get("timestamp"))
                found.append(Conversation(str(first["id"]), file, began, is_main=_is_a_persons(first)))
    return sorted(found, key=lambda one: one.started_at)


def _is_a_persons(first: Entry) -> bool:
    """It holds conversations with itself too: to find a title, to review, to let helpers work."""
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


def _take(record: Record, entry: Entry) -> None:
    payload = table(entry.get("payload"))
    if entry.get("type") == "turn_context":
        record.model = str(payload.get("model") or record.model)
        return
    info = table(payload.get("info"))
    total, last = table(info.get("total_token_usage")), table(info.get("last_token_usage"))
    if payload.get("type") != "token_count" or not total:
        return
    now, newest = _tokens(total), _tokens(last)
    # The first sum may go on from that of the conversation that this one is a copy of.
    known = record.recent.get("total") or [all_ - new for all_, new in zip(now, newest, strict=True)]
    more = [all_ - old for all_, old in zip(now, known, strict=True)]
    record.recent["total"] = now
    record.add(record.model, more if min(more) >= 0 else newest)
    record.limit = number(info.get("model_context_window")) or None
    record.uses(number(last.get("total_tokens")), record.model, moment(entry.get("timestamp")))


def _tokens(usage: Entry) -> list[int]:
    cached = number(usage.get("cached_input_tokens"))
    return [number(usage.get("input_tokens")) - cached, cached, number(usage.get("output_tokens"))]
