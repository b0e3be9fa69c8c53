"""Claude Code: `projects/<folder>/<session>.jsonl`, and beside it `<session>/subagents/*.jsonl`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from fleet_tui.records.record import (
    HEAD,
    Conversation,
    Entry,
    Record,
    changed_since,
    folder_name,
    home,
    moment,
    number,
    read_lines,
    table,
)

COMPANIONS: tuple[str, ...] = ()
MARKS = (b'"usage"', b'"cost-state"')
LONGEST = 200
"""Of a folder's name as it stands; a longer one is cut and gets a digest."""


def conversations(environment: Mapping[str, str], worktree: str, since: float) -> list[Conversation]:
    found = []
    for folder in _folders(environment, worktree):
        for file in changed_since(folder.glob("*.jsonl"), since):
            found.append(Conversation(file.stem, file, _began(file)))
            helpers = changed_since(folder.glob(f"{file.stem}/subagents/*.jsonl"), since)
            found += [Conversation(file.stem, helper, _began(helper), is_main=False) for helper in helpers]
    # Helpers first: the cost that a conversation tells has theirs in it.
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
        # Cut, the names of several worktrees may be alike.
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
                    return moment(at[1].decode(errors="replace"))
    except OSError:
        pass
    return 0.0


def read(record: Record) -> None:
    read_lines(record, MARKS, _take)


def _take(record: Record, entry: Entry) -> None:
    if entry.get("type") == "cost-state":
        cost = entry.get("totalCostUSD")
        if isinstance(cost, int | float) and not entry.get("hasUnknownModelCost"):
            record.tell(float(cost))
        return
    message = table(entry.get("message"))
    usage = table(message.get("usage"))
    model = str(message.get("model", ""))
    # What it says in the model's place, such as an error, has cost nothing.
    if entry.get("type") != "assistant" or not usage or model.startswith("<"):
        return
    at = moment(entry.get("timestamp"))
    fresh = number(usage.get("input_tokens")) + number(usage.get("cache_creation_input_tokens"))
    cached, answered = number(usage.get("cache_read_input_tokens")), number(usage.get("output_tokens"))
    if at < record.since:
        record.is_copy = True
    else:
        record.add(model, (fresh, cached, answered), str(message.get("id", "")))
    if not entry.get("isSidechain"):
        # Asked for by another name, a model may have another limit.
        record.uses(fresh + cached, str(entry.get("requestedModel") or model), at)
