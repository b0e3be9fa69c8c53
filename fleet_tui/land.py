"""Ending an agent and taking its worktree away, so that nothing is lost: stop, trash, undo."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet_tui import git, paths, processes
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.holder import (
    Killed,
    StopRequest,
    has_unread_requests,
    is_held,
    request_stop,
    take_lock,
    write_record,
)
from fleet_tui.models import Agent, Status
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
        elif not self._is_asked and now >= self._ask_again_at:
            # A launcher that has just begun listens soon; until then the request waits in a file.
            self._ask_again_at = now + ASK_SECONDS
            with contextlib.suppress(OSError):
                paths.private(self._folder)
            self._is_asked = request_stop(self._folder, self._lock, self._request)
        elif now >= self._end_by or (now >= self._react_by and self._is_unheard()):
            self._force(now)

    def _is_unheard(self) -> bool:
        return not self._is_asked or has_unread_requests(self._lock)

    def _force(self, now: float) -> None:
        if self._is_forced:
            self.is_stuck = True
            return
        self._is_forced = True
        self._react_by = self._end_by = now + LOCK_SECONDS
        if self.agent.machine == processes.here():
            processes.end_holders(str(self._lock), state_folder=str(paths.state()))


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


def sweep(agent: Agent) -> None:
    """End what the program of a lost agent has started: there was no keeper left to do it."""
    if agent.status is Status.LOST and agent.machine == processes.here():
        processes.end_marked(agent.id, state_folder=str(paths.state()))


def _trashed(store: Store, agent: Agent, *, delete_branch: bool, now: float) -> Kept:
    worktree, project = Path(agent.worktree), Path(agent.project)
    git_dir = store.git_dirs([agent]).get(agent.id)
    sweep(agent)
    if not project.exists():
        kept = Kept(agent, None, "", f"its repository is gone, and {worktree} is left as it is")
    elif not worktree.exists() and (moved := _moved_before(worktree)) is not None:
        kept = Kept(agent, moved.path, "" if moved.branch_deleted else agent.branch)
    elif worktree.exists():
        kept = _moved(agent, git_dir, delete_branch=delete_branch and agent.branch_made, now=now)
    elif _is_known(project, worktree):
        kept = replace(
            _moved(agent, git_dir, delete_branch=delete_branch and agent.branch_made, now=now),
            note="its folder was gone, what git knew of it is in the trash",
        )
    else:
        kept = _nothing_moved(agent)
    with store.transaction():
        trash = str(kept.path) if kept.path else ""
        store.change(agent.id, now, status=Status.KILLED, trash=trash, ended_at=now)
    # What only a lost store needs must not keep anybody from killing an agent, on a full disk say.
    with contextlib.suppress(OSError):
        write_record(paths.killed(agent.id), Killed(now))
    return kept


def _nothing_moved(agent: Agent) -> Kept:
    """Of an agent without a worktree: what was not made has no branch either."""
    if agent.branch in git.branch_names(git.discover(Path(agent.project)), agent.branch):
        return Kept(agent, None, agent.branch, "it had no worktree")
    return Kept(agent, None, "", f"it had no worktree, and no branch {agent.branch}")


def _moved_before(worktree: Path) -> git.Trashed | None:
    """What a kill that was cut off has left in the trash without saying so in the store."""
    trash = paths.trash(worktree.parent)
    entries = git.trashed(trash) if trash.is_dir() else []
    return next((entry for entry in entries if entry.original == worktree), None)


def _is_known(project: Path, worktree: Path) -> bool:
    """Whether git remembers a worktree whose folder is gone: its index is still there to be kept."""
    return any(entry.path == worktree for entry in git.worktrees(git.discover(project)))


def _moved(agent: Agent, git_dir: Path | None = None, *, delete_branch: bool, now: float) -> Kept:
    worktree = Path(agent.worktree)
    moved = git.to_trash(
        worktree,
        paths.trash(worktree.parent),
        stamp=time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)),
        delete_branch=delete_branch,
        branch=agent.branch,
        repo_root=Path(agent.project),
        git_dir=git_dir,
        mark=agent.id,
    )
    return Kept(agent, moved.path, "" if moved.branch_deleted else agent.branch)


def undo(store: Store, agent: Agent, *, now: float) -> str:
    """Bring a killed agent's worktree back; returns what is worth knowing about it."""
    with holding(store, agent) as current:
        return _undone(store, current, now=now)


def _undone(store: Store, agent: Agent, *, now: float) -> str:
    if agent.status is not Status.KILLED:
        raise Refused(f"{agent.name} has not been killed", hint="fleet trash lists what can be brought back")
    if not agent.trash and not Path(agent.worktree).is_dir():
        raise NotFound(f"{agent.name} has no worktree in the trash")
    with store.transaction():
        if store.taken_names(agent.project, [agent.name]):
            raise Refused(
                f"there is another agent {agent.name} by now", hint=f"fleet kill {agent.name} first"
            )
        restored = _restored(agent)
        paths.killed(agent.id).unlink(missing_ok=True)
        store.change(agent.id, now, status=Status.STOPPED, trash="", worktree=str(restored.path))
    return restored.note


def _restored(agent: Agent) -> git.Restored:
    stayed = git.Restored(Path(agent.worktree), agent.branch, "its worktree was in its place")
    if not agent.trash:
        return stayed
    try:
        return git.from_trash(Path(agent.trash))
    except NotFound:
        if Path(agent.worktree).is_dir():
            # An undo that was cut off after it had moved it.
            return stayed
        raise NotFound(
            f"the worktree of {agent.name} is no longer in the trash",
            hint=f"its branch was {agent.branch}; saved work: git for-each-ref refs/fleet/trash",
        ) from None


def empty_trash(store: Store, agent: Agent) -> str:
    """Save a trashed worktree's uncommitted work under a ref, then delete the folder; returns the ref."""
    with holding(store, agent) as current:
        return _emptied(store, current)


def _emptied(store: Store, agent: Agent) -> str:
    if not agent.trash:
        raise NotFound(f"{agent.name} is not in the trash any more")
    entry = next(
        (entry for entry in git.trashed(Path(agent.trash).parent) if entry.path == Path(agent.trash)), None
    )
    # Without an entry it was emptied before, by somebody who could not say so, or removed by hand.
    ref = git.empty(entry) if entry is not None else ""
    with store.transaction():
        store.change(agent.id, time.time(), trash="")
    return ref
