"""Ending an agent and taking its worktree away, so that nothing is lost: stop, trash, undo."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from fleet_tui import git, leftovers, paths, processes
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.holder import (
    Killed,
    StopRequest,
    has_unread_requests,
    is_held,
    read_exit,
    read_holder,
    read_stop,
    read_strays,
    request_stop,
    take_lock,
    write_record,
)
from fleet_tui.models import Agent, Contents, Status
from fleet_tui.store import Store
from fleet_tui.values import dataclass, replace

LOCK_SECONDS = 2.0
"""For whoever only looks at the lock."""
MARGIN_SECONDS = 15.0
"""Beyond the programs' grace: for sweeping what they left, and for a launcher to finish."""
ASK_SECONDS = 0.02
"""Between two tries to reach the holder."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where a killed agent's work waits."""

    agent: Agent
    path: Path | None
    """In the trash; None when there was nothing to move."""
    branch: str
    """Empty when it was deleted with it, or when there was none."""
    note: str = ""
    """Why nothing, or not all of it, was moved."""
    left: str = ""
    """Processes that may be left of it, because its keeper was gone; empty for none."""


def stop(agents: Sequence[Agent], *, cause: str, grace: float) -> list[Agent]:
    """End the programs of these agents, all at once; returns those whose holder did not let go in time.

    Writes nothing to the disk as long as the holders are of this version. Agents that were asked before are killed
    without further grace.
    """
    request = StopRequest(cause, grace, os.urandom(8).hex())
    waiting = [_Stopping(agent, request) for agent in agents]
    stuck: list[Agent] = []
    pause = 0.001
    while waiting:
        for one in waiting:
            one.go_on(time.monotonic())
        stuck += [one.agent for one in waiting if one.is_stuck]
        waiting = [one for one in waiting if not one.has_ended and not one.is_stuck]
        if waiting:
            time.sleep(pause)
            pause = min(0.02, pause * 1.5)
    return stuck


class _Stopping:
    """One agent on its way to its end: asked, waited for, and ended by force when its holder does not react."""

    def __init__(self, agent: Agent, request: StopRequest) -> None:
        self.agent = agent
        self.has_ended = False
        self.is_stuck = False
        self._request = request
        self._lock, self._folder = paths.lock(agent.id), paths.run(agent.id, agent.run)
        self._is_asked = False
        self._is_forced = False
        now = time.monotonic()
        self._ask_again_at = now
        self._react_by = now + MARGIN_SECONDS
        self._end_by = now + request.grace + MARGIN_SECONDS

    def go_on(self, now: float) -> None:
        if not is_held(self._lock):
            self.has_ended = True
        elif now >= self._end_by or (now >= self._react_by and self._is_unheard()):
            self._force(now)
        elif not self._is_asked and now >= self._ask_again_at:
            self._ask(now)

    def _ask(self, now: float) -> None:
        # A launcher that has just begun listens soon; until then the request waits in a file.
        self._ask_again_at = now + ASK_SECONDS
        with contextlib.suppress(OSError):
            paths.private(self._folder)
        earlier = read_stop(self._folder)
        self._is_asked = request_stop(self._folder, self._lock, self._request)
        if self._is_asked and earlier not in (None, self._request) and read_stop(self._folder) != earlier:
            # A keeper of an earlier version that waits out the grace of a first request does not hear a second.
            self._end_by = min(self._end_by, now + LOCK_SECONDS)

    def _is_unheard(self) -> bool:
        return not self._is_asked or has_unread_requests(self._lock)

    def _force(self, now: float) -> None:
        if self._is_forced:
            self.is_stuck = True
            return
        self._is_forced = True
        self._react_by = self._end_by = now + LOCK_SECONDS
        if self.agent.machine == processes.here():
            leftovers.end_holders(str(self._lock), state_folder=str(paths.state()))


@contextlib.contextmanager
def holding(store: Store, agent: Agent) -> Iterator[Agent]:
    """The agent as it is now; nobody starts, trashes or restores it before the block ends."""
    paths.private(paths.agent(agent.id))
    lock = take_lock(paths.lock(agent.id), seconds=LOCK_SECONDS)
    if lock is None:
        raise Refused(
            f"{agent.name} is running, or somebody else is busy with it", hint="fleet list shows what it does"
        )
    try:
        yield store.agent(agent.id)
    except OSError as error:
        raise FleetError(
            f"{agent.name}: {error.filename2 or error.filename or agent.worktree}: {error.strerror or error}",
            hint="check space and permissions",
        ) from error
    finally:
        os.close(lock)


def to_trash(store: Store, agent: Agent, *, delete_branch: bool, now: float) -> Kept | None:
    """Move the worktree of an ended agent to the trash; None when it was killed before."""
    with holding(store, agent) as current:
        return (
            None
            if current.status is Status.KILLED
            else _trashed(store, current, delete_branch=delete_branch, now=now)
        )


def sweep(agent: Agent) -> str:
    """End what the program of a lost agent has started: there was no keeper left to do it.

    Returns what may be left all the same, in words; empty for nothing.
    """
    if not was_lost(agent) or agent.machine != processes.here():
        return ""
    state = str(paths.state())
    # A keeper whose lock was deleted with its folder still runs, and cannot be asked any more.
    leftovers.end_holders(str(paths.lock(agent.id)), state_folder=state, deleted_only=True)
    leftovers.end(traces(agent), state_folder=state)
    return suspects(agent)


def end_lost(store: Store, agent: Agent) -> None:
    """End what is left of a lost agent, under its lock."""
    with holding(store, agent) as current:
        sweep(current)


def was_lost(agent: Agent) -> bool:
    """Whether the keeper of the last run is gone without a record of its end, whatever the store knows by now."""
    folder = paths.run(agent.id, agent.run)
    return agent.status is Status.LOST or (read_holder(folder) is not None and read_exit(folder) is None)


def traces(agent: Agent) -> leftovers.Traces:
    """By what the processes of an agent's last run are known."""
    folder = paths.run(agent.id, agent.run)
    found = read_holder(folder)
    if found is None or found.boot_id != processes.boot_id():
        return leftovers.Traces(agent.id)
    return leftovers.Traces(agent.id, found.terminal, read_strays(folder))


def suspects(agent: Agent) -> str:
    """Which processes may have come of a lost agent, without proof: they work in its folders."""
    found_holder = read_holder(paths.run(agent.id, agent.run))
    since = found_holder.keeper_started if found_holder is not None else 0
    folders = {folder: since for folder in (agent.worktree, agent.trash) if folder}
    found = leftovers.working_in(folders, processes.snapshot())
    running = {process.pid: process for group in found.values() for process in group}
    return leftovers.named(list(running.values()))


def _trashed(store: Store, agent: Agent, *, delete_branch: bool, now: float) -> Kept:
    worktree, project = Path(agent.worktree), Path(agent.project)
    git_dir = store.git_dirs([agent]).get(agent.id)
    left = sweep(agent)
    delete_branch = delete_branch and agent.branch_made
    if not project.exists():
        kept = Kept(agent, None, "", f"its repository is gone, and {worktree} is left as it is")
    elif worktree.exists():
        kept = _moved(agent, git_dir, delete_branch=delete_branch, now=now)
    elif (before := waiting(agent)) is not None:
        # A kill that was cut off has moved it without saying so in the store.
        kept = Kept(agent, before.path, "" if before.branch_deleted else agent.branch)
    elif (place := _followed(agent)) is not None:
        kept = _moved(
            replace(agent, worktree=str(place)), git_dir, delete_branch=delete_branch, now=now, home=worktree
        )
    elif _is_known(project, worktree):
        kept = replace(
            _moved(agent, git_dir, delete_branch=delete_branch, now=now),
            note="its folder was gone, what git knew of it is in the trash",
        )
    else:
        kept = _nothing_moved(agent)
    with store.transaction():
        trash = str(kept.path) if kept.path else ""
        store.change(
            agent.id, now, status=Status.KILLED, trash=trash, worktree=kept.agent.worktree, ended_at=now
        )
    # What only a lost store needs must not keep anybody from killing an agent, on a full disk say.
    with contextlib.suppress(OSError):
        write_record(paths.killed(agent.id), Killed(now))
    return replace(kept, left=left)


def _nothing_moved(agent: Agent) -> Kept:
    """Of an agent without a worktree: what was not made has no branch either."""
    if agent.branch in git.branch_names(git.discover(Path(agent.project)), agent.branch):
        return Kept(agent, None, agent.branch, "it had no worktree")
    return Kept(agent, None, "", f"it had no worktree, and no branch {agent.branch}")


def _is_known(project: Path, worktree: Path) -> bool:
    """Whether git remembers a worktree whose folder is gone: its index is still there to be kept."""
    return any(entry.path == worktree for entry in git.worktrees(git.discover(project)))


def _moved(
    agent: Agent, git_dir: Path | None = None, *, delete_branch: bool, now: float, home: Path | None = None
) -> Kept:
    """Move the worktree to the trash; `home` is where it was made, if it is somewhere else now."""
    worktree = Path(agent.worktree)
    moved = git.to_trash(
        worktree,
        _trash_for(worktree, home or worktree),
        stamp=time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)),
        delete_branch=delete_branch,
        branch=agent.branch,
        repo_root=Path(agent.project),
        git_dir=git_dir,
        mark=agent.id,
    )
    return Kept(agent, moved.path, "" if moved.branch_deleted else agent.branch)


def _trash_for(worktree: Path, home: Path) -> Path:
    """The project's trash, or one beside a worktree that was moved to another filesystem: moving is a rename."""
    folder = home.parent
    if folder.is_dir() and folder.stat().st_dev == worktree.parent.stat().st_dev:
        return paths.trash(folder)
    return paths.trash(worktree.parent)


# ── where a worktree is ─────────────────────────────────────────────────────────────────────────────────────────


def _mark(agent: Agent) -> str:
    """How the folder that was made for an agent ends, and git's entry for it, wherever it is moved."""
    return f"-{agent.id}"


def waiting(agent: Agent) -> git.Trashed | None:
    """The agent's worktree in the trash: where the store has it, or else found by the agent's id."""
    home = paths.trash(Path(agent.worktree).parent)
    recorded = None
    if agent.trash:
        recorded = git.find(Path(agent.trash), original=Path(agent.worktree), branch=agent.branch)
        if recorded is not None and recorded.path.is_dir():
            return recorded
    folders = {home, Path(agent.trash).parent} if agent.trash else {home}
    found = [item for folder in folders for item in git.trashed(folder) if item.bears(_mark(agent))]
    there = [item for item in found if item.path.is_dir()]
    newest = max(there or found, key=lambda item: item.stamp, default=None)
    if newest is None or (recorded is not None and not there):
        return recorded
    # With what the store knows: a folder whose record is lost does not say which branch it was on.
    return git.find(newest.path, original=Path(agent.worktree), branch=agent.branch)


def contents(agent: Agent) -> Contents:
    """What a killed agent's worktree holds besides commits; of one that was never moved to the trash, nothing."""
    if not agent.trash:
        return Contents()
    try:
        item = waiting(agent)
        if item is None:
            return Contents(obstacles=((f"{agent.trash} is gone", "fleet trash --empty forgets it"),))
        return git.contents(item)
    except FleetError as error:
        return Contents(obstacles=((error.message, error.hint),))


def is_half_deleted(agent: Agent) -> bool:
    return git.is_half_deleted(Path(agent.trash))


def _followed(agent: Agent) -> Path | None:
    """Where the worktree of an agent was moved to, by git or beside its old place."""
    if not Path(agent.project).exists():
        return None
    place = git.moved_to(git.discover(Path(agent.project)), Path(agent.worktree), _mark(agent))
    # Git's entry follows a worktree to the trash, too.
    return None if place is None or place.parent == paths.trash(place.parent.parent) else place


def misplaced(agent: Agent) -> tuple[Literal["trash", "worktree"], Path] | None:
    """Where an agent's worktree is, in the trash or not, if the store has it somewhere else. Changes nothing."""
    is_killed = agent.status is Status.KILLED
    # An older store whose row was completed from the agent's own files may have the place without the kill.
    if os.path.lexists(agent.worktree) or (is_killed and agent.trash and Path(agent.trash).is_dir()):
        return None
    if agent.status is Status.KILLED and not agent.trash and not _has_traces(agent):
        return None
    if agent.status is not Status.KILLED and not agent.has_worktree:
        return None
    # What cannot be looked at is not found, and others may be.
    with contextlib.suppress(FleetError):
        item = waiting(agent)
        if item is not None and item.path.is_dir():
            return "trash", item.path
        place = _followed(agent)
        return ("worktree", place) if place is not None else None
    return None


def _has_traces(agent: Agent) -> bool:
    """Whether a search is worth its time, for the many agents whose worktrees have left the trash."""
    project, mark = Path(agent.project), _mark(agent)
    entries = [folder / "worktrees" for folder in (project / ".git", project)]
    return (
        (project / ".git").is_file()
        or any(any(folder.glob(f"*{mark}")) for folder in entries)
        or any(paths.trash(Path(agent.worktree).parent).glob(f"*{mark}.*"))
    )


def mend(store: Store, agent: Agent, *, now: float) -> str:
    """Have the store know where an agent's worktree is; returns what has changed, empty if nothing."""
    try:
        with holding(store, agent) if agent.has_ended else contextlib.nullcontext(agent) as current:
            found = misplaced(current)
            if found is None:
                return ""
            kind, place = found
            with store.transaction():
                if kind == "worktree":
                    store.change(agent.id, now, worktree=str(place), trash="")
                elif current.has_ended:
                    item = waiting(current)
                    # An older store may know of an earlier kill only.
                    at = max(current.ended_at or 0.0, item.at if item is not None else now)
                    store.change(agent.id, now, status=Status.KILLED, trash=str(place), ended_at=at)
                else:
                    return ""
    except FleetError:
        # Another process is busy with it and knows better, or it cannot be looked at; others may be mended.
        return ""
    if kind == "worktree":
        return f"{agent.name}: its worktree is {place} now"
    return f"{agent.name}: its worktree is in the trash (fleet undo {agent.name} brings it back)"


def undo(store: Store, agent: Agent, *, now: float) -> str:
    """Bring a killed agent's worktree back; returns what is worth knowing about it."""
    with holding(store, agent) as current:
        return _undone(store, current, now=now)


def _undone(store: Store, agent: Agent, *, now: float) -> str:
    if agent.status is not Status.KILLED:
        raise Refused(f"{agent.name} has not been killed", hint="fleet trash lists what can be brought back")
    with store.transaction():
        if store.taken_names(agent.project, [agent.name]):
            raise Refused(
                f"there is another agent {agent.name} by now", hint=f"fleet kill {agent.name} first"
            )
        _bring_branch_back(agent)
        restored = _restored(agent)
        paths.killed(agent.id).unlink(missing_ok=True)
        store.change(agent.id, now, status=Status.STOPPED, trash="", worktree=str(restored.path))
    return restored.note


def _restored(agent: Agent) -> git.Restored:
    item = waiting(agent)
    try:
        if item is None:
            raise has_left(agent)
        git.remember(item)
        return git.from_trash(item.path)
    except NotFound:
        if Path(agent.worktree).is_dir():
            # It was never moved, or an undo was cut off after it had moved it back.
            return git.Restored(Path(agent.worktree), agent.branch, "its worktree was in its place")
        raise


def has_left(agent: Agent) -> NotFound:
    """What to say of a worktree that is in the trash no more: how to get its work back."""
    import shlex

    refs: list[str] = []
    with contextlib.suppress(FleetError):
        refs = git.saved_refs(git.discover(Path(agent.project)).git_dir, _mark(agent))
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
    """Save a trashed worktree's uncommitted work under a ref, then delete the folder; returns the ref.

    Empty if the folder was gone already. Ignored files are kept in an archive unless their time is over.
    """
    with holding(store, agent) as current:
        return _emptied(store, current, keep_ignored=keep_ignored)


def _emptied(store: Store, agent: Agent, *, keep_ignored: bool) -> str:
    if not agent.trash:
        raise NotFound(f"{agent.name} is not in the trash any more")
    item = waiting(agent)
    ref = ""
    if item is not None:
        git.remember(item)
        ref = git.empty(item, keep_ignored=keep_ignored)
    with store.transaction():
        store.change(agent.id, time.time(), trash="")
    return ref


# ── branches ────────────────────────────────────────────────────────────────────────────────────────────────────


def idle_branches(agents: Sequence[Agent]) -> list[Agent]:
    """Killed agents whose branches were made for them and hold nothing of their own; one for each branch."""
    found: list[Agent] = []
    used = {(agent.project, agent.branch) for agent in agents if agent.status is not Status.KILLED}
    for project in sorted({agent.project for agent in agents}):
        killed = {
            agent.branch: agent
            for agent in agents
            if agent.project == project
            and agent.status is Status.KILLED
            and agent.branch_made
            and (project, agent.branch) not in used
        }
        # A repository that is gone, or cannot be read, has none to offer.
        with contextlib.suppress(FleetError):
            if killed and Path(project).exists():
                git_dir = git.discover(Path(project)).git_dir
                found += [killed[name] for name in git.idle_branches(git_dir, killed)]
    return found


def put_branch_aside(agent: Agent) -> str:
    """Remove the branch of a killed agent from git's branches; returns the ref that keeps it for an undo."""
    return git.put_aside(git.discover(Path(agent.project)).git_dir, agent.branch, _mark(agent))


def _bring_branch_back(agent: Agent) -> None:
    """Before the worktree, which is attached to its branch if that is there; without a branch it comes back detached."""
    with contextlib.suppress(FleetError):
        git.bring_back(git.discover(Path(agent.project)).git_dir, agent.branch, _mark(agent))
