"""Keep a copy of each agent's row beside its own files: from these copies a damaged or lost store is rebuilt.

The store writes a copy whenever something changes that is written down nowhere else. What a holder records (status,
title, how a run ended) is not in it.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet_tui.models import Agent, Batch, Status
from fleet_tui.values import asdict, dataclass, known

FILE = "agent.json"
STALE = "agent.json.stale"
"""A copy that could not be brought up to date: used where there is no row, and never against one."""

COPIED = frozenset(
    {
        "name", "project", "branch", "base", "worktree", "batch", "profile", "argv", "prompt", "run", "machine", "boot_id",
        "session_id", "trash", "port_base", "branch_made", "intent",
    }
)  # fmt: skip
"""Columns whose change is copied; what else a row has is found in the folders of its runs."""


@dataclass(frozen=True, slots=True)
class Copy:
    agent: Agent
    intent: Mapping[str, Any]
    batch: Batch
    project_name: str
    is_current: bool
    """It is whole and has been kept up with the row; one by an earlier version is as old as the agent."""


def write(agents: Path, agent: Agent, intent: Mapping[str, Any], batch: Batch, project_name: str) -> None:
    """Replace the copy in the agent's folder; an agent without a folder has none."""
    folder = agents / agent.id
    if not folder.is_dir():
        return
    path, temporary = folder / FILE, folder / f"{FILE}.new"
    kept = {"agent": asdict(agent), "intent": intent, "batch": asdict(batch), "project_name": project_name}
    text = json.dumps(kept)
    data = f'{text[:-1]}, "sum": {_sum(text)}}}'
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(data)
        temporary.replace(path)
        with contextlib.suppress(FileNotFoundError):
            (folder / STALE).unlink()
    except OSError:
        # A full disk must not keep the store from being changed. Renaming needs no room.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
            path.replace(folder / STALE)


def read_all(agents: Path) -> Iterator[Copy]:
    """All copies that can be read."""
    for folder in sorted(agents.glob("*")):
        for name in (FILE, STALE):
            with contextlib.suppress(
                OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
            ):
                yield _read(folder / name)
                break


def _sum(text: str) -> int:
    """By which a copy that was damaged as well is told from one that knows better than the row."""
    return zlib.crc32(text.encode())


def _read(file: Path) -> Copy:
    values = json.loads(file.read_bytes())
    row = known(Agent, values["agent"])
    kept = values.get("batch")
    is_current = values.pop("sum", None) == _sum(json.dumps(values)) and file.name == FILE
    runs = [int(entry.name) for entry in file.parent.iterdir() if entry.name.isdigit()]
    row |= {
        "argv": tuple(row["argv"]),
        "status": Status.UNKNOWN,
        "evidence": None,
        "run": row["run"] if is_current else max(runs, default=1),
        "pid": None,
        "keeper_pid": None,
    }
    agent = Agent(**row)
    if agent.id != file.parent.name:
        raise ValueError(agent.id)
    batch = (
        Batch(**known(Batch, kept))
        if kept is not None
        else Batch(agent.batch, agent.project, agent.created_at)
    )
    name = str(values.get("project_name") or Path(agent.project).name)
    return Copy(agent, dict(values["intent"]), batch, name, is_current)
