"""Keeps trash and transcripts within the user's limits, at most once a day.

Called by launchers, after their caller has hung up. A worktree leaves the trash when its time is over, or earlier, but never
in its first day, when the trash is too large; the oldest go first. Its work is saved under a ref; its ignored files stay in an archive
until its time is over. Transcripts go only of agents that have ended, the oldest first.
"""

from __future__ import annotations

import calendar
import contextlib
import os
import time
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

from fleet_tui import git, land, paths, transcript
from fleet_tui.config import Config
from fleet_tui.errors import FleetError
from fleet_tui.models import Agent, InTrash, Status, Trash
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
        for agent in leaving(agents, config, now=now):
            try:
                empty(store, agent, config, now=now)
            except (FleetError, OSError):
                # It stays where it is; fleet trash and fleet doctor show why.
                traceback.print_exc()
        for archive, goes_at in archives(agents, config):
            if goes_at < now:
                with contextlib.suppress(OSError):
                    archive.unlink()


def empty(store: Store, agent: Agent, config: Config, *, now: float) -> str:
    """Empty one agent's trash; its ignored files are kept unless their time is over too. Returns the ref."""
    return land.empty_trash(store, agent, keep_ignored=now < _goes_at(agent, config))


def leaving(agents: Iterable[Agent], config: Config, *, now: float) -> list[Agent]:
    """The agents whose worktrees leave the trash with the next tidying, those that have begun to leave first."""
    agents = list(agents)
    begun = [agent for agent in agents if agent.trash and land.is_half_deleted(agent)]
    return begun + too_much(agents, days=config.trash_days, size=config.trash_mb << 20, now=now)


def too_much(agents: Iterable[Agent], *, days: float, size: int, now: float) -> list[Agent]:
    """Trashed worktrees whose time is over, or which are more than a day old and beyond the size that all may have;
    the oldest first."""
    chosen, total = [], 0
    for agent in sorted(_waiting(agents), key=lambda agent: agent.ended_at or 0.0, reverse=True):
        total += sum(_sizes(agent.trash))
        age = now - (agent.ended_at or now)
        if age > days * DAY or (total > size and age > DAY):
            chosen.append(agent)
    return chosen[::-1]


def total_size(agents: Iterable[Agent]) -> int:
    """Bytes of all worktrees in the trash."""
    return sum(sum(_sizes(agent.trash)) for agent in _waiting(agents))


def is_over(agents: Iterable[Agent], just_killed: Iterable[Agent], config: Config, *, seconds: float) -> bool:
    """Whether these kills have put the trash over its limit; False if that takes too long to find out."""
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


def report(store: Store, shown: list[Agent], config: Config, *, now: float) -> Trash:
    """What is in the trash: the agents shown in detail, and the size of everything."""
    agents = store.agents()
    over = {agent.id for agent in leaving(agents, config, now=now)}
    items = [
        InTrash(agent, land.contents(agent), _goes_at(agent, config), agent.id in over) for agent in shown
    ]
    return Trash(tuple(items), total_size(agents), config.trash_mb << 20)


def archives(agents: Iterable[Agent], config: Config) -> list[tuple[Path, float]]:
    """The archives of ignored files in these agents' trash, each with when its time is over."""
    folders = {paths.trash(Path(agent.worktree).parent) for agent in agents}
    folders |= {Path(agent.trash).parent for agent in agents if agent.trash}
    found = [archive for folder in sorted(folders) for archive in git.archives(folder)]
    return [(archive, _killed_at(archive) + config.trash_days * DAY) for archive in found]


def _killed_at(archive: Path) -> float:
    """When the worktree of an archive was killed, which its name says."""
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
