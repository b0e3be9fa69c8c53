"""Copies of agents' rows in their own folders, from which a damaged or lost store is rebuilt.

The store updates a copy when a column changes that is recorded nowhere else. Columns that a holder records itself
(status, title, how a run ended) are not copied.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet_tui.fast_dataclasses import asdict, dataclass, known
from fleet_tui.models import Agent, Batch, Status
from fleet_tui.system import files

FILE = "agent.json"
STALE = "agent.json.stale"
"""A copy that could not be updated. It replaces a missing row and never overrides an existing one."""

COPIED = frozenset(
    {
        "name", "project", "branch", "base", "worktree", "batch", "profile", "argv", "prompt", "run", "machine", "boot_id",
        "session_id", "trash", "port_base", "branch_made", "intent",
    }
)  # fmt: skip
"""Columns whose change updates the copy. The rest of a row can be read from the folders of its runs."""


@dataclass(frozen=True, slots=True)
class AgentCopy:
    agent: Agent
    intent: Mapping[str, Any]
    batch: Batch
    project_name: str
    is_current: bool
    """The checksum matches and the copy follows the row. A copy by an earlier version is as old as the agent."""


def write(agents: Path, agent: Agent, intent: Mapping[str, Any], batch: Batch, project_name: str) -> None:
    """Replace the copy in the agent's folder; a no-op without a folder."""
    folder = agents / agent.id
    if not folder.is_dir():
        return
    path = folder / FILE
    kept = {"agent": asdict(agent), "intent": intent, "batch": asdict(batch), "project_name": project_name}
    text = json.dumps(kept)
    data = f'{text[:-1]}, "sum": {_sum(text)}}}'
    try:
        files.replace(path, data.encode())
        with contextlib.suppress(FileNotFoundError):
            (folder / STALE).unlink()
    except OSError:
        # A full disk must not fail the transaction. Renaming needs no space.
        with contextlib.suppress(OSError):
            path.replace(folder / STALE)


def read_all(agents: Path) -> Iterator[AgentCopy]:
    """Yield every readable copy."""
    for folder in sorted(agents.glob("*")):
        for name in (FILE, STALE):
            with contextlib.suppress(
                OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError
            ):
                yield _read(folder / name)
                break


def _sum(text: str) -> int:
    """A checksum: a damaged copy must not override a sound row."""
    return zlib.crc32(text.encode())


def _read(file: Path) -> AgentCopy:
    values = json.loads(file.read_bytes())
    row = known(Agent, values["agent"])
    kept = values.get("batch")
    is_current = values.pop("sum", None) == _sum(json.dumps(values)) and file.name == FILE
    runs = [int(entry.name) for entry in file.parent.iterdir() if entry.name.isdecimal()]
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
    return AgentCopy(agent, dict(values["intent"]), batch, name, is_current)
