"""Keeps what is kept within its bounds: old trash and old transcripts, at most once a day.

Called by launchers, which nobody waits for. What leaves the trash is saved under a ref first; transcripts go only
of agents that have ended, the oldest first.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import land, paths, transcript
from fleet_tui.config import Config
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, Status
from fleet_tui.store import Store

DAY = 86_400.0
JOURNAL_DAYS = 30


def tidy(store: Store, config: Config, *, now: float) -> None:
    """Bring trash and transcripts back within the user's limits; `config` must hold no project's settings."""
    agents = store.agents()
    living = {agent.id for agent in agents if not agent.has_ended}
    folder = paths.state() / "agents"
    if folder.is_dir():
        transcript.evict(folder, config.transcript_total_mb << 20, living)
    if _is_due(now):
        store.prune_journal(now - JOURNAL_DAYS * DAY)
        for agent in too_much(agents, days=config.trash_days, size=config.trash_mb << 20, now=now):
            try:
                land.empty_trash(store, agent)
            except (FleetError, OSError):
                # It stays where it is; fleet doctor shows it.
                traceback.print_exc()


def too_much(agents: list[Agent], *, days: float, size: int, now: float) -> list[Agent]:
    """Trashed worktrees that are too old, or beyond the size that all of them may have; the oldest go first."""
    waiting = [
        agent
        for agent in agents
        if agent.status is Status.KILLED and agent.trash and Path(agent.trash).is_dir()
    ]
    waiting.sort(key=lambda agent: agent.ended_at or 0.0, reverse=True)
    chosen, total = [], 0
    for agent in waiting:
        total += sum(_sizes(agent.trash))
        if total > size or now - (agent.ended_at or now) > days * DAY:
            chosen.append(agent)
    return chosen[::-1]


def _is_due(now: float) -> bool:
    stamp = paths.state() / "tidied"
    try:
        if now - stamp.stat().st_mtime < DAY:
            return False
    except OSError:
        pass
    stamp.touch(mode=0o600)
    return True


def _sizes(folder: str) -> Iterator[int]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _sizes(entry.path)
        else:
            yield entry.stat(follow_symlinks=False).st_size
