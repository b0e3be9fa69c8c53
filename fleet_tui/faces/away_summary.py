"""Summarize what changed while the user was away from the dashboard.

A mark, a small file in the state folder, records when the user was last there. Pure apart from that file.
"""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

from fleet_tui.faces.notices import StatusChange, counts_by_kind, notice_kind, status_text
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import NOTICE_KINDS, Agent, FleetState, NoticeKind, Status
from fleet_tui.quantities import age
from fleet_tui.system import files

LONG_SECONDS = 600.0
"""A host terminal without the focus for this long counts as left."""
SLACK_SECONDS = 5.0
"""Changes this shortly before the user left may not have been painted yet."""


@dataclass(frozen=True, slots=True)
class Mark:
    """When the user was last there, and the newest line of the journal then."""

    at: float
    journal: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What has changed since the mark, the most urgent first."""

    seconds: float
    """How long the user was away."""
    agents: tuple[Agent, ...]
    said: str
    """One line: 1 waits for you 40m, 1 failed to start: reason, 3 done."""


def read_mark(file: Path) -> Mark | None:
    """The mark; None if there is none yet, or the file is unreadable."""
    try:
        found = json.loads(file.read_bytes())
        return Mark(float(found["at"]), int(found["journal"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_mark(file: Path, mark: Mark) -> None:
    """Write the mark. A failure, such as a full disk, costs a summary at most, so it is ignored."""
    with suppress(OSError):
        files.replace(file, json.dumps({"at": mark.at, "journal": mark.journal}).encode())


def summarize(state: FleetState, moved: AbstractSet[str], mark: Mark, now: float) -> Summary | None:
    """The agents that moved since the mark to a status worth a notice; None if there are none."""
    found = [
        StatusChange(agent, kind)
        for agent in state.agents
        if agent.id in moved
        and agent.status_since > mark.at - SLACK_SECONDS
        and (kind := notice_kind(agent)) is not None
    ]
    if not found:
        return None
    found.sort(key=lambda change: (NOTICE_KINDS.index(change.kind), -change.agent.status_since))
    said = ", ".join(filter(None, (_said(found, kind, now) for kind in NOTICE_KINDS)))
    return Summary(max(0.0, now - mark.at), tuple(change.agent for change in found), said)


def _said(found: list[StatusChange], kind: NoticeKind, now: float) -> str:
    """The count of one kind, with how long the first has waited, or why the first failed."""
    some = [change for change in found if change.kind == kind]
    if not some:
        return ""
    if kind == "blocked":
        longest = max(now - change.agent.status_since for change in some)
        return f"{counts_by_kind(some)} {age(longest)}"
    if kind == "error":
        reason = status_text(some[0].agent)
        is_failed = all(change.agent.status is Status.FAILED for change in some)
        head = f"{len(some)} failed to start" if is_failed else counts_by_kind(some)
        return f"{head}: {reason}" if reason else head
    return counts_by_kind(some)
