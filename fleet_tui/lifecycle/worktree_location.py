"""Locate an agent's worktree, whether in place, moved or in the trash, and correct the store."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Literal

from fleet_tui import git, paths
from fleet_tui.errors import FleetError
from fleet_tui.lifecycle.ending import holding
from fleet_tui.models import Agent, Status
from fleet_tui.store.database import Store


def mark(agent: Agent) -> str:
    """The suffix of the agent's worktree folder and of git's entry for it; it survives a move."""
    return f"-{agent.id}"


def waiting(agent: Agent) -> git.TrashedWorktree | None:
    """The agent's worktree in the trash: at the recorded path, or found by the agent's id."""
    home = paths.trash(Path(agent.worktree).parent)
    recorded = None
    if agent.trash:
        recorded = git.find_trashed(Path(agent.trash), original=Path(agent.worktree), branch=agent.branch)
        if recorded is not None and recorded.path.is_dir():
            return recorded
    folders = {home, Path(agent.trash).parent} if agent.trash else {home}
    found = [item for folder in folders for item in git.trashed(folder) if item.bears(mark(agent))]
    there = [item for item in found if item.path.is_dir()]
    newest = max(there or found, key=lambda item: item.stamp, default=None)
    if newest is None or (recorded is not None and not there):
        return recorded
    # Pass on what the store knows: without its trash record, a folder does not show its branch.
    return git.find_trashed(newest.path, original=Path(agent.worktree), branch=agent.branch)


def followed(agent: Agent) -> Path | None:
    """Where an agent's worktree was moved, by git or to another name in its folder; None if not found."""
    if not Path(agent.project).exists():
        return None
    place = git.moved_to(git.discover(Path(agent.project)), Path(agent.worktree), mark(agent))
    # Git's entry may point into the trash, which is no move.
    return None if place is None or place.parent == paths.trash(place.parent.parent) else place


def misplaced(agent: Agent) -> tuple[Literal["trash", "worktree"], Path] | None:
    """The actual location of a worktree, if it differs from the recorded one. Reads only."""
    is_killed = agent.status is Status.KILLED
    # A row restored from an older copy may have the path in the trash without the kill.
    if os.path.lexists(agent.worktree) or (is_killed and agent.trash and Path(agent.trash).is_dir()):
        return None
    if agent.status is Status.KILLED and not agent.trash and not _has_traces(agent):
        return None
    if agent.status is not Status.KILLED and not agent.has_worktree:
        return None
    # An unreadable repository must not keep others from being found.
    with contextlib.suppress(FleetError):
        item = waiting(agent)
        if item is not None and item.path.is_dir():
            return "trash", item.path
        place = followed(agent)
        return ("worktree", place) if place is not None else None
    return None


def _has_traces(agent: Agent) -> bool:
    """Whether a search can succeed. Most killed agents have left the trash, and searching each is slow."""
    project, suffix = Path(agent.project), mark(agent)
    entries = [folder / "worktrees" for folder in (project / ".git", project)]
    return (
        (project / ".git").is_file()
        or any(any(folder.glob(f"*{suffix}")) for folder in entries)
        or any(paths.trash(Path(agent.worktree).parent).glob(f"*{suffix}.*"))
    )


def correct(store: Store, agent: Agent, *, now: float) -> str:
    """Record the actual location of an agent's worktree; returns a note, empty if nothing changed."""
    try:
        with holding(store, agent) if agent.has_ended else contextlib.nullcontext(agent) as current:
            found = misplaced(current)
            if found is None:
                return ""
            kind, place = found
            with store.transaction():
                if kind == "worktree":
                    store.agents.change(agent.id, now, worktree=str(place), trash="")
                elif current.has_ended:
                    item = waiting(current)
                    # An older copy may have an earlier kill.
                    at = max(current.ended_at or 0.0, item.at if item is not None else now)
                    store.agents.change(agent.id, now, status=Status.KILLED, trash=str(place), ended_at=at)
                else:
                    return ""
    except FleetError:
        # Another process is using the agent, or the repository is unreadable; go on with other agents.
        return ""
    if kind == "worktree":
        return f"{agent.name}: its worktree is now {place}"
    return f"{agent.name}: its worktree is in the trash (restore it with: fleet undo {agent.name})"
