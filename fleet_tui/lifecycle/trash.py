"""Kill, undo and empty: move worktrees of ended agents to the trash, restore them, delete them.

Nothing is lost: uncommitted work is saved under a ref before a folder is deleted.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from fleet_tui import git, paths
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.holder.run_folder import Killed, read_record, write_record
from fleet_tui.lifecycle import branches
from fleet_tui.lifecycle.ending import holding, sweep
from fleet_tui.lifecycle.worktree_location import followed, mark, waiting
from fleet_tui.models import Agent, Status
from fleet_tui.store import row_decoder
from fleet_tui.store.database import Store
from fleet_tui.system.identity import user_and_host
from fleet_tui.trashed import TrashContents, TrashReason

AGENT_VARIABLE = "FLEET_AGENT_ID"
"""In the environment of an agent's program."""


@dataclass(frozen=True, slots=True)
class KillResult:
    """Where the work of a killed agent is."""

    agent: Agent
    path: Path | None
    """In the trash; None if there was nothing to move."""
    branch: str
    """Empty if it was deleted, or there was none."""
    note: str = ""
    """Why nothing was moved, or not everything."""
    left: str = ""
    """Processes that may be left, because the keeper was gone; empty for none."""


def to_trash(
    store: Store, agent: Agent, *, delete_branch: bool, now: float, why: TrashReason = "kill"
) -> KillResult | None:
    """Move the worktree of an ended agent to the trash; None if it is already killed."""
    # Before anything is moved that could not be recorded.
    store.db.refuse_newer()
    with holding(store, agent) as current:
        return (
            None
            if current.status is Status.KILLED
            else _trashed(store, current, delete_branch=delete_branch, removal=Killed(now, _who(store), why))
        )


def _who(store: Store) -> str:
    """Who runs this process: the user, and the agent in whose terminal it runs, if any."""
    person = row_decoder.storable_text(user_and_host())
    agent = os.environ.get(AGENT_VARIABLE, "")
    try:
        return f"{store.agents.get(agent).name}, an agent of {person}" if agent else person
    except FleetError:
        return person


def _trashed(store: Store, agent: Agent, *, delete_branch: bool, removal: Killed) -> KillResult:
    now = removal.at
    worktree, project = Path(agent.worktree), Path(agent.project)
    git_dir = store.agents.git_dirs([agent]).get(agent.id)
    left = sweep(agent)
    delete_branch = delete_branch and agent.branch_made
    if not project.exists():
        kept = KillResult(agent, None, "", f"its repository is gone; {worktree} is left as it is")
    elif worktree.exists():
        kept = _moved(agent, git_dir, delete_branch=delete_branch, removal=removal)
    elif (before := waiting(agent)) is not None:
        # An interrupted kill has moved it without recording that in the store.
        kept = KillResult(agent, before.path, "" if before.branch_deleted else agent.branch)
    elif (place := followed(agent)) is not None:
        kept = _moved(
            replace(agent, worktree=str(place)),
            git_dir,
            delete_branch=delete_branch,
            removal=removal,
            home=worktree,
        )
    elif _is_known(project, worktree):
        kept = replace(
            _moved(agent, git_dir, delete_branch=delete_branch, removal=removal),
            note="its folder was gone; git's index of it is in the trash",
        )
    else:
        kept = _nothing_moved(agent)
    with store.transaction():
        trash = str(kept.path) if kept.path else ""
        store.agents.change(
            agent.id, now, status=Status.KILLED, trash=trash, worktree=kept.agent.worktree, ended_at=now
        )
    # Only the restoration of a lost store needs this record. On a full disk, killing must still work.
    with contextlib.suppress(OSError):
        write_record(paths.killed(agent.id), removal)
    return replace(kept, left=left)


def _nothing_moved(agent: Agent) -> KillResult:
    """The result for an agent without a worktree, which may have no branch either."""
    if agent.branch in git.branch_names(git.discover(Path(agent.project)), agent.branch):
        return KillResult(agent, None, agent.branch, "it had no worktree")
    return KillResult(agent, None, "", f"it had no worktree, and no branch {agent.branch}")


def _is_known(project: Path, worktree: Path) -> bool:
    """Whether git still has an entry, with an index worth keeping, for a worktree whose folder is gone."""
    return any(entry.path == worktree for entry in git.worktrees(git.discover(project)))


def _moved(
    agent: Agent,
    git_dir: Path | None = None,
    *,
    delete_branch: bool,
    removal: Killed,
    home: Path | None = None,
) -> KillResult:
    """Move the worktree to the trash; `home` is its original path, if it has been moved."""
    worktree = Path(agent.worktree)
    moved = git.to_trash(
        worktree,
        _trash_for(worktree, home or worktree),
        stamp=time.strftime("%Y%m%d-%H%M%S", time.gmtime(removal.at)),
        delete_branch=delete_branch,
        branch=agent.branch,
        repo_root=Path(agent.project),
        git_dir=git_dir,
        mark=agent.id,
        who=removal.who,
        why=removal.why,
    )
    return KillResult(agent, moved.path, "" if moved.branch_deleted else agent.branch)


def _trash_for(worktree: Path, home: Path) -> Path:
    """The project's trash, or one beside a worktree on another filesystem: moving must be a rename."""
    folder = home.parent
    if folder.is_dir() and folder.stat().st_dev == worktree.parent.stat().st_dev:
        return paths.trash(folder)
    return paths.trash(worktree.parent)


def contents(agent: Agent) -> TrashContents:
    """What a killed agent's worktree holds besides commits; nothing if it was never moved to the trash."""
    if not agent.trash:
        return TrashContents()
    try:
        item = waiting(agent)
        if item is None:
            return TrashContents(
                obstacles=((f"{agent.trash} is gone", "forget it with: fleet trash --empty"),)
            )
        return git.trash_contents(item)
    except FleetError as error:
        return TrashContents(obstacles=((error.message, error.hint),))


def who_and_why(agent: Agent) -> tuple[str, str]:
    """Who moved a killed agent's worktree to the trash, and what for; both empty if an earlier version did."""
    killed = read_record(paths.killed(agent.id), Killed)
    if killed is not None and killed.why:
        return killed.who, killed.why
    with contextlib.suppress(FleetError):
        item = waiting(agent) if agent.trash else None
        if item is not None:
            return item.who, item.why
    return "", ""


def is_merged(agent: Agent) -> bool:
    """Whether all work in a trashed worktree is on another branch, a tag or a remote, so that nothing depends on it."""
    try:
        item = waiting(agent)
        return (
            item is not None
            and bool(item.head)
            and git.is_on_other_branch(item.repo, item.head, agent.branch)
            and not git.trash_contents(item).uncommitted
        )
    except FleetError:
        return False


def is_half_deleted(agent: Agent) -> bool:
    """Whether emptying was interrupted after the work was saved."""
    return git.is_half_deleted(Path(agent.trash))


def undo(store: Store, agent: Agent, *, now: float) -> str:
    """Restore a killed agent's worktree; returns a note on what differs from before, if anything."""
    with holding(store, agent) as current:
        return _undone(store, current, now=now)


def _undone(store: Store, agent: Agent, *, now: float) -> str:
    if agent.status is not Status.KILLED:
        raise Refused(f"{agent.name} has not been killed", hint="see what can be restored with: fleet trash")
    with store.transaction():
        if store.agents.taken_names(agent.project, [agent.name]):
            raise Refused(f"another agent is now called {agent.name}", hint=f"fleet kill {agent.name} first")
        branches.bring_back(agent)
        restored = _restored(agent)
        paths.killed(agent.id).unlink(missing_ok=True)
        store.agents.change(agent.id, now, status=Status.STOPPED, trash="", worktree=str(restored.path))
    return restored.note


def _restored(agent: Agent) -> git.RestoredWorktree:
    item = waiting(agent)
    try:
        if item is None:
            raise has_left(agent)
        git.restore_record(item)
        return git.from_trash(item.path)
    except NotFound:
        if Path(agent.worktree).is_dir():
            # It was never moved, or an undo was interrupted after moving it back.
            return git.RestoredWorktree(
                Path(agent.worktree), agent.branch, "its worktree was already in place"
            )
        raise


def has_left(agent: Agent) -> NotFound:
    """The error for a worktree that has left the trash; the hint says how to get its work back."""
    import shlex

    refs: list[str] = []
    with contextlib.suppress(FleetError):
        refs = git.saved_refs(git.discover(Path(agent.project)).git_dir, mark(agent))
    if not refs:
        return NotFound(
            f"the worktree of {agent.name} is no longer in the trash", hint=f"its branch was {agent.branch}"
        )
    ref = refs[-1]
    hint = git.how_to_restore(ref, Path(agent.worktree))
    name = "/".join(ref.split("/")[-2:]).replace("/", ".")
    archive = git.archive_of(paths.trash(Path(agent.worktree).parent) / name)
    if archive.exists():
        hint += f"; ignored files: tar -xf {shlex.quote(str(archive))} -C {shlex.quote(agent.worktree)}"
    return NotFound(f"the worktree of {agent.name} has left the trash", hint=hint)


def empty_trash(store: Store, agent: Agent, *, keep_ignored: bool = True) -> str:
    """Save a trashed worktree's uncommitted work under a ref, then delete the folder.

    Returns the ref, or an empty string if the folder was already gone. With `keep_ignored`, small ignored files are
    kept in an archive.
    """
    with holding(store, agent) as current:
        return _emptied(store, current, keep_ignored=keep_ignored)


def _emptied(store: Store, agent: Agent, *, keep_ignored: bool) -> str:
    if not agent.trash:
        raise NotFound(f"{agent.name} is no longer in the trash", hint="see: fleet trash")
    item = waiting(agent)
    ref = ""
    if item is not None:
        git.restore_record(item)
        ref = git.empty_trashed(item, keep_ignored=keep_ignored)
    with store.transaction():
        store.agents.change(agent.id, time.time(), trash="")
    return ref
