"""Checkpoints of agents: make, list, compare, restore and rename them.

A checkpoint is a commit under a hidden ref of the repository and a row of the store. The ref is written first: a ref
without a row is adopted when the next checkpoint is made, so being killed between the two loses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet_tui import git, paths
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.models import Agent, ReceiptState, Status
from fleet_tui.review.diff import OpenDiff, git_dir_of
from fleet_tui.store.database import Store
from fleet_tui.work import Checkpoint, CheckpointKind, CheckRun, Diff, RestoredFiles, Timeline

BASE, NOW, BEFORE = "base", "now", ""
"""What a checkpoint can be compared with besides others: where the agent started, its files now, the one before it."""
SHOWN_FILES = 8
"""How many names of changed files a row has."""
LEFT_OUT_NAMES = 50
LOCK_SECONDS = 30.0
NUMBERS = 3
"""How many numbers are tried before the reason is reported."""
IN_TURN = frozenset({Status.SETUP, Status.STARTING, Status.WORKING, Status.BLOCKED})
"""Statuses of an agent whose program may be changing files."""
_BEGUN = frozenset(
    {ReceiptState.ACCEPTED, ReceiptState.ANSWERED, ReceiptState.FAILED, ReceiptState.INTERRUPTED}
)


# ── making ──────────────────────────────────────────────────────────────────────────────────────────────────────


def make(store: Store, agent: Agent, note: str = "") -> tuple[Checkpoint, bool]:
    """Save the agent's files as they are now. The second value is False if the last checkpoint has them already.

    With a note, a checkpoint is made in any case.
    """
    with _Worktree.opened(store, agent) as worktree:
        return worktree.save(CheckpointKind.NAMED, note=note, always=bool(note))


def make_after_turn(store: Store, agent: Agent) -> Checkpoint | None:
    """Save the files that a turn has changed; None if it changed nothing."""
    with _Worktree.opened(store, agent) as worktree:
        turn, prompt = _last_turn(store, agent, worktree.known)
        made, is_new = worktree.save(CheckpointKind.TURN, note=prompt, turn=turn)
        return made if is_new else None


def _last_turn(store: Store, agent: Agent, known: Sequence[Checkpoint]) -> tuple[int, str]:
    """The number of the turn that has just ended, and its prompt if that was sent through us."""
    begun = [one for one in store.receipts.of(agent.id) if one.state in _BEGUN]
    before = [one for one in known if one.kind is CheckpointKind.TURN]
    number = max(len(begun), max((one.turn for one in before), default=0) + 1)
    newest = begun[-1] if begun else None
    is_new = newest is not None and (not before or newest.at > before[-1].at)
    return number, newest.text if newest is not None and is_new else ""


class _Worktree:
    """An agent's worktree while nobody else makes or restores its checkpoints."""

    def __init__(self, store: Store, agent: Agent, place: git.GitPlaces, scratch: git.ScratchObjects) -> None:
        self.store, self.agent, self.place, self.scratch = store, agent, place, scratch
        self.git_dir = place.git_dir
        self._adopt()
        self.known = store.checkpoints.of(agent.id)

    @classmethod
    @contextlib.contextmanager
    def opened(cls, store: Store, agent: Agent) -> Iterator[_Worktree]:
        store.db.refuse_newer()
        place = git.place_of(git_dir_of(store, agent), Path(agent.worktree), agent.id)
        with _lock(agent), git.scratch_objects(place.git_dir) as scratch:
            yield cls(store, agent, place, scratch)

    def snapshot(self) -> git.Snapshot:
        found = git.files_tree(self.place, self.scratch, self.agent.id)
        # A worktree that was moved to the trash meanwhile looks as if all files had been deleted.
        git.place_of(self.git_dir, Path(self.agent.worktree), self.agent.id)
        return found

    def save(
        self,
        kind: CheckpointKind,
        *,
        note: str = "",
        turn: int = 0,
        restored: int = 0,
        always: bool = False,
        files: git.Snapshot | None = None,
    ) -> tuple[Checkpoint, bool]:
        """Save the files, unless the last checkpoint has them."""
        files = files or self.snapshot()
        last = self.known[-1] if self.known else start_of(self.git_dir, self.agent)
        if not always and last is not None and last.tree == files.tree:
            return last, False
        # Prompts stay in the store: a ref may be pushed.
        kept = note if kind is CheckpointKind.NAMED else ""
        written = self._written(files.tree, kind, kept, turn, restored)
        made = replace(self._described(written, last), note=note, left_out=files.left_out[:LEFT_OUT_NAMES])
        with self.store.transaction(uses_reserve=False):
            self.store.checkpoints.add(made)
        self.known = [*self.known, made]
        return made, True

    def _written(
        self, tree: str, kind: CheckpointKind, note: str, turn: int, restored: int
    ) -> git.CheckpointCommit:
        number = self._next_number()
        for taken in range(number, number + NUMBERS):
            # Something that git does not list may be in the way of the ref: a symbolic ref to nothing, a stale lock.
            with contextlib.suppress(git.GitFailed):
                return git.save_checkpoint(
                    self.place, self.agent.id, number=taken, tree=tree, kind=kind, note=note, turn=turn, restored=restored,
                )  # fmt: skip
        return git.save_checkpoint(
            self.place, self.agent.id, number=number + NUMBERS, tree=tree, kind=kind, note=note, turn=turn, restored=restored,
        )  # fmt: skip

    def _next_number(self) -> int:
        in_git = [one.number for one in git.checkpoint_commits(self.git_dir, self.agent.id)]
        return max(self.store.checkpoints.last_number(self.agent.id), *in_git, 0) + 1

    def _adopt(self) -> None:
        """Add rows for checkpoints that only the repository has: of a process that was killed, or of a lost store."""
        known = {one.number for one in self.store.checkpoints.of(self.agent.id)}
        written = git.checkpoint_commits(self.git_dir, self.agent.id)
        last = start_of(self.git_dir, self.agent)
        found = []
        for one in written:
            described = self._described(one, last) if one.number not in known else None
            if described is not None:
                found.append(described)
            last = described or _plain(one, self.agent)
        if found:
            with self.store.transaction(uses_reserve=False):
                for described in found:
                    self.store.checkpoints.add(described)

    def _described(self, one: git.CheckpointCommit, before: Checkpoint | None) -> Checkpoint:
        """A checkpoint with what it has changed since the one before."""
        made = _plain(one, self.agent)
        if before is None:
            return made
        changed = git.changed_files(self.git_dir, before.tree, one.tree)
        return replace(
            made,
            added=sum(file.added for file in changed),
            removed=sum(file.removed for file in changed),
            changed=len(changed),
            files=tuple(file.path for file in changed[:SHOWN_FILES]),
        )


def _plain(one: git.CheckpointCommit, agent: Agent) -> Checkpoint:
    return Checkpoint(
        agent.id, one.number, one.commit, one.tree, one.kind, one.at, one.note, one.turn, one.restored
    )


@contextlib.contextmanager
def _lock(agent: Agent) -> Iterator[None]:
    folder = paths.private(paths.agent(agent.id))
    descriptor = os.open(folder / "checkpoint.lock", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)  # fmt: skip
    try:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Refused(
                        f"another command is using the checkpoints of {agent.name}", hint="try again later"
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


# ── reading ─────────────────────────────────────────────────────────────────────────────────────────────────────


def start_of(git_dir: Path, agent: Agent) -> Checkpoint | None:
    """The commit that the agent started from, as checkpoint 0; None if the repository has lost it."""
    if not agent.base:
        return None
    try:
        tree = git.tree_of(git_dir, agent.base)
    except git.GitFailed:
        return None
    return Checkpoint(agent.id, 0, agent.base, tree, CheckpointKind.START, agent.created_at)


def start(store: Store, agent: Agent) -> Checkpoint | None:
    git_dir = repository_of(store, agent)
    return start_of(git_dir, agent) if git_dir is not None else None


def timeline(store: Store, agent: Agent, *, kept_days: int) -> Timeline:
    """All checkpoints of an agent, and how its files differ from the newest now."""
    first = start(store, agent)
    found = (*([first] if first else []), *store.checkpoints.of(agent.id))
    now = None
    # Without a worktree there is no now; nothing is read from the trash.
    if found:
        with contextlib.suppress(FleetError), compared(store, agent, found[-1].number, NOW) as difference:
            now = difference.diff
    git_dir = repository_of(store, agent)
    subject = git.subject_of(git_dir, agent.base) if git_dir is not None and agent.base else ""
    return Timeline(
        agent.id, found, now, _checks(store, found), f"{agent.base[:7]} {subject}".strip(), kept_days
    )


def _checks(store: Store, found: Sequence[Checkpoint]) -> tuple[tuple[int, CheckRun], ...]:
    """The last check that ran on exactly the files of a checkpoint."""
    if not found:
        return ()
    runs = {one.tree: one for one in store.checks.of([found[0].agent]) if not one.onto and one.ended_at}
    return tuple((one.number, runs[one.tree]) for one in found if one.tree in runs)


def find(store: Store, agent: Agent, number: int) -> Checkpoint:
    """An agent's checkpoint by its number; 0 is where it started."""
    if number == 0:
        found = start(store, agent)
    else:
        found = next((one for one in store.checkpoints.of(agent.id) if one.number == number), None)
    if found is None:
        raise NotFound(
            f"{agent.name} has no checkpoint {number}", hint=f"fleet checkpoint {agent.name} --list"
        )
    return found


@contextlib.contextmanager
def compared(store: Store, agent: Agent, number: int, against: str = BEFORE) -> Iterator[OpenDiff]:
    """What changed between two checkpoints: from the one before, another by number, the base or until now."""
    one = find(store, agent, number)
    if against == NOW:
        git_dir = git_dir_of(store, agent)
        place = git.place_of(git_dir, Path(agent.worktree), agent.id)
        with git.scratch_objects(git_dir) as scratch:
            now = git.take_snapshot(place, scratch, agent.id)
            objects = scratch.variables
            # From the checkpoint to now: that is how the files went on.
            changed = git.changed_files(git_dir, one.tree, now.tree, objects=objects)
            label = f"checkpoint {number}"
            yield OpenDiff(Diff(agent.id, label, one.tree, now.tree, tuple(changed), now.left_out), git_dir, objects)  # fmt: skip
        return
    found = repository_of(store, agent)
    if found is None:
        raise NotFound(f"the repository of {agent.name} is gone", hint=f"it was {agent.project}")
    old = _compared(store, agent, one, against)
    changed = git.changed_files(found, old.tree, one.tree)
    label = "its start" if old.number == 0 else f"checkpoint {old.number}"
    yield OpenDiff(Diff(agent.id, label, old.tree, one.tree, tuple(changed), one.left_out), found, {})


def _compared(store: Store, agent: Agent, new: Checkpoint, against: str) -> Checkpoint:
    if against == BASE:
        return find(store, agent, 0)
    if against == BEFORE:
        earlier = [one.number for one in store.checkpoints.of(agent.id) if one.number < new.number]
        return find(store, agent, earlier[-1] if earlier else 0)
    if not against.isdecimal():
        raise NotFound(
            f"there is no checkpoint {against!r}", hint="give a number, base or now; --list shows the numbers"
        )
    return find(store, agent, int(against))


def repository_of(store: Store, agent: Agent) -> Path | None:
    found = store.agents.git_dirs([agent]).get(agent.id)
    return found if found is not None and found.is_dir() else None


# ── restoring ───────────────────────────────────────────────────────────────────────────────────────────────────


def restore(store: Store, agent: Agent, number: int, *, force: bool = False) -> RestoredFiles:
    """Bring the agent's files back to a checkpoint, after saving them as they are.

    HEAD, branch, index and ignored files stay. If this is interrupted, doing it again finishes it.
    """
    wanted = find(store, agent, number)
    if agent.status in IN_TURN and not force:
        raise Refused(
            f"{agent.name} is {agent.status}: its program may be writing files",
            hint=f"wait for it, stop it with: fleet stop {agent.name}, or pass --force",
        )
    with _Worktree.opened(store, agent) as worktree:
        if doing := git.operation_in_progress(worktree.place):
            raise Refused(
                f"{agent.name} is in the middle of a {doing}",
                hint=f"finish it, or end it with: git -C {agent.worktree} {doing} --abort",
            )
        _check_objects(worktree, wanted)
        files = worktree.snapshot()
        way = git.in_the_way(worktree.place, files.tree, wanted.tree, files.left_out)
        if way:
            more = f" and {len(way) - 3} more" if len(way) > 3 else ""
            raise Refused(
                f"{', '.join(way[:3])}{more}: in no checkpoint, and where checkpoint {number} has another file",
                hint="nothing was changed; move them away first",
            )
        saved, _ = worktree.save(CheckpointKind.SAVED, restored=number, files=files)
        try:
            done = git.bring_files(worktree.place, worktree.scratch, agent.id, files.tree, wanted.tree)
        except git.GitFailed as error:
            raise Refused(
                f"{error.message}",
                hint=f"a file changed meanwhile; checkpoint {saved.number} has all as it was before. Try again",
            ) from error
        if files.tree != wanted.tree:
            worktree.save(CheckpointKind.RESTORED, restored=number, always=True)
    return RestoredFiles(wanted, saved.number, len(done.changed), done.pointers, done.submodules)


def _check_objects(worktree: _Worktree, wanted: Checkpoint) -> None:
    try:
        git.tree_of(worktree.git_dir, wanted.commit)
    except git.GitFailed as error:
        raise NotFound(
            f"the repository has lost checkpoint {wanted.number}: {error.message}",
            hint=f"fleet checkpoint {worktree.agent.name} --list shows the others",
        ) from error


# ── changing the list ───────────────────────────────────────────────────────────────────────────────────────────


def rename(store: Store, agent: Agent, number: int, note: str) -> Checkpoint:
    """Give a checkpoint a name; a named one is kept as long as its agent."""
    if number == 0:
        raise Refused("the start of an agent has no name", hint="name one of its checkpoints")
    found = find(store, agent, number)
    with store.transaction():
        return store.checkpoints.rename(found, note, time.time())
