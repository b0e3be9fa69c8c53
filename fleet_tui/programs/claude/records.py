"""Reads the records of Claude Code: `projects/<folder>/<session>.jsonl`, and beside it `<session>/subagents/*.jsonl`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from fleet_tui.programs.json_values import JsonObject, array, count, table
from fleet_tui.programs.records import (
    HEAD,
    Conversation,
    Record,
    changed_since,
    folder_name,
    home,
    parse_time,
    read_lines,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b'"usage"', b'"cost-state"')
CALL_MARK = b'"tool_use"'
LONGEST = 200
"""Characters of a folder name. Claude Code cuts a longer name and appends a digest."""


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    found = []
    for folder in _folders(environment, worktree):
        for file in changed_since(folder.glob("*.jsonl"), since):
            found.append(Conversation(file.stem, file, _began(file)))
            helpers = changed_since(folder.glob(f"{file.stem}/subagents/*.jsonl"), since)
            found += [Conversation(file.stem, helper, _began(helper), is_main=False) for helper in helpers]
    # Sub-agents first: the cost that a conversation reports includes theirs.
    return sorted(found, key=lambda one: (one.is_main, one.started_at))


def watched(environment: Mapping[str, str], worktree: str) -> list[Path]:
    folders = _folders(environment, worktree)
    helpers = [helper for folder in folders for helper in folder.glob("*/subagents")]
    return [*folders, *helpers] if folders else [_projects(environment)]


def _projects(environment: Mapping[str, str]) -> Path:
    return home(environment, "CLAUDE_CONFIG_DIR", ".claude") / "projects"


def _folders(environment: Mapping[str, str], worktree: str) -> list[Path]:
    name = folder_name(worktree)
    projects = _projects(environment)
    if len(name) > LONGEST:
        # Truncated folder names may collide.
        return [folder for folder in projects.glob(f"{name[:LONGEST]}-*") if _is_of(folder, worktree)]
    return [projects / name] if (projects / name).is_dir() else []


def _is_of(folder: Path, worktree: str) -> bool:
    mark = f'"cwd":{json.dumps(worktree, ensure_ascii=False)}'.encode()
    for file in folder.glob("*.jsonl"):
        with contextlib.suppress(OSError), file.open("rb") as lines:
            if mark in lines.read(HEAD):
                return True
    return False


def _began(file: Path) -> float:
    try:
        with file.open("rb") as lines:
            for line, _ in zip(lines, range(40), strict=False):
                at = re.search(rb'"timestamp":"([^"]+)"', line)
                if at:
                    return parse_time(at[1].decode(errors="replace"))
    except OSError:
        pass
    return 0.0


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: JsonObject) -> None:
    if entry.get("type") == "cost-state":
        cost = entry.get("totalCostUSD")
        if isinstance(cost, int | float) and not entry.get("hasUnknownModelCost"):
            record.set_cost(float(cost))
        return
    message = table(entry.get("message"))
    usage = table(message.get("usage"))
    model = str(message.get("model", ""))
    # `<synthetic>` and the like are not models and cost nothing.
    if entry.get("type") != "assistant" or not usage or model.startswith("<"):
        return
    at = parse_time(entry.get("timestamp"))
    fresh = count(usage.get("input_tokens")) + count(usage.get("cache_creation_input_tokens"))
    cached, answered = count(usage.get("cache_read_input_tokens")), count(usage.get("output_tokens"))
    if at < record.since:
        record.is_copy = True
    else:
        record.add(model, (fresh, cached, answered), str(message.get("id", "")))
    if not entry.get("isSidechain"):
        # The requested name decides the context limit: `…[1m]` is the same model with a larger one.
        record.set_context(fresh + cached, str(entry.get("requestedModel") or model), at)


def tool_calls(entry: JsonObject) -> Iterator[tuple[str, JsonObject, str]]:
    if entry.get("type") == "assistant":
        for part in map(table, array(table(entry.get("message")).get("content"))):
            if part.get("type") == "tool_use":
                yield str(part.get("name", "")), table(part.get("input")), str(part.get("id", ""))
