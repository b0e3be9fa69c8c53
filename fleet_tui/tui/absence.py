"""What has happened while nobody looked: when the dashboard was last looked at, and what has changed since, in words.

The mark is a small file in the state folder. Pure apart from reading and writing that file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from fleet_tui.listing import age
from fleet_tui.models import Agent, FleetState, Status
from fleet_tui.tui.attention import KINDS, Change, Kind, counted, kind_of, said_of
from fleet_tui.values import dataclass

LONG_SECONDS = 600.0
"""A host terminal without focus for so long has been left."""
SLACK_SECONDS = 5.0
"""What happened just before somebody left may not have been on the screen yet."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Until when, and until which line of the journal, somebody has looked."""

    at: float
    journal: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One calm list of what has changed, the most urgent first."""

    seconds: float
    """How long nobody looked."""
    agents: tuple[Agent, ...]
    said: str
    """In one line: 1 waits for you 40m, 1 failed: reason, 3 done."""


def read_mark(file: Path) -> Mark | None:
    """None where nobody has looked yet, or the file says nothing."""
    try:
        found = json.loads(file.read_bytes())
        return Mark(float(found["at"]), int(found["journal"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(file: Path, mark: Mark) -> None:
    """In one step; a disk that is full costs a summary, not the dashboard."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    data = json.dumps({"at": mark.at, "journal": mark.journal}).encode()
    with suppress(OSError):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        temporary.replace(file)


def summarize(state: FleetState, moved: AbstractSet[str], mark: Mark, now: float) -> Summary | None:
    """Of the agents that have moved since the mark, those that a person may want to hear of; None without any."""
    found = [
        Change(agent, kind)
        for agent in state.agents
        if agent.id in moved
        and agent.status_since > mark.at - SLACK_SECONDS
        and (kind := kind_of(agent)) is not None
    ]
    if not found:
        return None
    found.sort(key=lambda change: (KINDS.index(change.kind), -change.agent.status_since))
    said = ", ".join(filter(None, (_said(found, kind, now) for kind in KINDS)))
    return Summary(max(0.0, now - mark.at), tuple(change.agent for change in found), said)


def _said(found: list[Change], kind: Kind, now: float) -> str:
    """How many of a kind; of those that wait how long, of those that went wrong why."""
    some = [change for change in found if change.kind == kind]
    if not some:
        return ""
    if kind == "blocked":
        longest = max(now - change.agent.status_since for change in some)
        return f"{counted(some)} {age(longest)}"
    if kind == "error":
        reason = said_of(some[0].agent)
        is_failed = all(change.agent.status is Status.FAILED for change in some)
        head = f"{len(some)} failed" if is_failed else counted(some)
        return f"{head}: {reason}" if reason else head
    return counted(some)
