"""Enforce the user's limits on trash, transcripts and the journal.

Launchers call this after their caller has gone on; trash and journal at most once a day. A worktree leaves the trash
when it is too old, or, if its work is merged, after its first day when the trash is too large, oldest first. Its work is
saved under a ref, and its ignored files stay in an archive until they are too old as well. Only transcripts of ended agents are removed,
oldest first.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from fleet_tui import git, paths
from fleet_tui.config.settings import Config
from fleet_tui.errors import FleetError
from fleet_tui.holder.transcript import retention
from fleet_tui.lifecycle import trash
from fleet_tui.models import Agent, Status
from fleet_tui.store.database import Store
from fleet_tui.trashed import TrashItem, TrashReport

DAY = 86_400.0
JOURNAL_DAYS = 30


def tidy(store: Store, config: Config, *, now: float) -> None:
    """Enforce the limits; `config` must be the user's, without a project's settings."""
    agents = store.agents.all()
    living = {agent.id for agent in agents if not agent.has_ended}
    folder = paths.state() / "agents"
    if folder.is_dir():
        retention.evict(folder, config.transcript_total_mb << 20, living)
    if _is_due(now):
        with store.transaction():
            store.journal.prune(now - JOURNAL_DAYS * DAY)
        for agent in leaving(agents, config, now=now):
            try:
                empty(store, agent, config, now=now)
            except (FleetError, OSError):
                # The worktree stays; fleet trash and fleet doctor show why.
                traceback.print_exc()
        for archive, goes_at in archives(agents, config):
            if goes_at < now:
                with contextlib.suppress(OSError):
                    archive.unlink()


def empty(store: Store, agent: Agent, config: Config, *, now: float) -> str:
    """Delete one agent's trashed worktree, keeping its ignored files unless they are too old; returns the ref."""
    return trash.empty_trash(store, agent, keep_ignored=now < _goes_at(agent, config))


def leaving(agents: Iterable[Agent], config: Config, *, now: float) -> list[Agent]:
    """The agents whose worktrees are to leave the trash, starting with interrupted deletions."""
    agents = list(agents)
    begun = [agent for agent in agents if agent.trash and trash.is_half_deleted(agent)]
    return begun + too_much(agents, days=config.trash_days, size=config.trash_mb << 20, now=now)


def too_much(
    agents: Iterable[Agent],
    *,
    days: float,
    size: int,
    now: float,
) -> list[Agent]:
    """Trashed worktrees older than `days`, and if the total is more than `size`, merged ones older than a day; oldest
    first."""
    waiting = _waiting(agents)
    sizes = {agent.id: sum(_sizes(agent.trash)) for agent in waiting}
    total = sum(sizes.values())
    chosen = []
    for agent in sorted(waiting, key=lambda agent: agent.ended_at or 0.0):
        age = now - (agent.ended_at or now)
        if age > days * DAY or (total > size and age > DAY and trash.is_merged(agent)):
            chosen.append(agent)
            total -= sizes[agent.id]
    return chosen


def total_size(agents: Iterable[Agent]) -> int:
    """The size of all trashed worktrees, in bytes."""
    return sum(sum(_sizes(agent.trash)) for agent in _waiting(agents))


def is_over(agents: Iterable[Agent], just_killed: Iterable[Agent], config: Config, *, seconds: float) -> bool:
    """Whether these kills took the trash over its limit; False if measuring takes too long."""
    new = {agent.id for agent in just_killed}
    deadline = time.monotonic() + seconds
    before = after = 0
    for agent in _waiting(agents):
        for size in _sizes(agent.trash):
            after += size
            before += 0 if agent.id in new else size
            if before > config.trash_mb << 20 or time.monotonic() > deadline:
                return False
    return after > config.trash_mb << 20


def report(store: Store, shown: list[Agent], config: Config, *, now: float) -> TrashReport:
    """The trash: details of the given agents, and the total size."""
    agents = store.agents.all()
    over = {agent.id for agent in leaving(agents, config, now=now)}
    items = [
        TrashItem(
            agent,
            trash.contents(agent),
            _goes_at(agent, config),
            agent.id in over,
            *trash.who_and_why(agent),
        )
        for agent in shown
    ]
    return TrashReport(tuple(items), total_size(agents), config.trash_mb << 20)


def archives(agents: Iterable[Agent], config: Config) -> list[tuple[Path, float]]:
    """The archives of ignored files in these agents' trash, each with the time when it is too old."""
    folders = {paths.trash(Path(agent.worktree).parent) for agent in agents}
    folders |= {Path(agent.trash).parent for agent in agents if agent.trash}
    found = [archive for folder in sorted(folders) for archive in git.archives(folder)]
    return [(archive, _killed_at(archive) + config.trash_days * DAY) for archive in found]


def _killed_at(archive: Path) -> float:
    """When the archived worktree was killed, by the archive's name."""
    stamp = archive.name.removesuffix("".join(archive.suffixes[-2:])).rpartition(".")[2]
    try:
        return float(calendar.timegm(time.strptime(stamp, "%Y%m%d-%H%M%S")))
    except ValueError:
        return archive.stat().st_mtime


def _goes_at(agent: Agent, config: Config) -> float:
    return (agent.ended_at or 0.0) + config.trash_days * DAY


def _waiting(agents: Iterable[Agent]) -> list[Agent]:
    return [
        agent
        for agent in agents
        if agent.status is Status.KILLED and agent.trash and Path(agent.trash).is_dir()
    ]


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
            with contextlib.suppress(OSError):
                yield entry.stat(follow_symlinks=False).st_size
