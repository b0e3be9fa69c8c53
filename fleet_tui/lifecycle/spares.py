"""Spare worktrees: decide where one is worth its place, keep it ready for the next agent, and remove it.

A launcher does this after its agents have started, at the lowest priority, and never two at once. The row of a spare is
stored before its folder is made and removed after it is gone, so none is lost track of. A spare in which somebody has
worked is not deleted: it becomes a visible folder beside the worktrees of agents, which `fleet doctor` names.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from fleet_tui import git, names, paths
from fleet_tui.errors import FleetError, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.spare_worktree import SpareWorktree
from fleet_tui.store.database import Store
from fleet_tui.system import usage

DAY = 86_400.0
FEWEST_FILES = 1000
"""A smaller checkout is nearly as fast as taking a spare."""
MOST_BYTES = 2 << 30
"""Of a checkout; a larger one takes too much of the disk for what it saves."""
LEFT_FREE = 1 << 30
"""Bytes that stay free on the disk, besides twice the size of the checkout."""
PATIENCE = 20.0
"""Seconds to wait until the machine has a core to spare: agents that have just started come first."""
_LOOK_SECONDS = 0.5


def keep_ready(
    store: Store, project: Path, worktrees: Path, count: int, *, patience: float = PATIENCE
) -> None:
    """Keep `count` spares of a project ready, and remove what is old or left over in all projects.

    Does nothing while another process does it. The caller lowers its priority first, unless somebody waits for it.
    """
    with alone() as is_alone:
        if not is_alone:
            return
        known = store.spares.all()
        for spare in known:
            if leftover(spare, now=time.time()) or not count:
                remove(store, spare)
        for path in unknown(known, worktrees):
            remove(store, SpareWorktree(str(path), str(project), "", 0.0, 0.0))
        if count:
            _Keeper(store, project, worktrees).keep(count, patience)


@contextlib.contextmanager
def alone() -> Iterator[bool]:
    """Hold the lock of whoever makes or removes spares; yields False while another process holds it."""
    descriptor = os.open(paths.spares_lock(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def leftover(spare: SpareWorktree, *, now: float) -> str:
    """Why a spare is of no more use; empty if it is ready. Call it while `alone`, or expect one that is being made."""
    if not spare.settings:
        return "its making was interrupted"
    if not Path(spare.path).is_dir():
        return "its folder is gone"
    if not Path(spare.project).exists():
        return "its repository is gone"
    if now - spare.needed_at > DAY:
        return "no agent has started in its project for a day"
    return ""


def unknown(known: list[SpareWorktree], worktrees: Path) -> list[Path]:
    """Folders of spares that no row names, as after a lost store."""
    folder = paths.spares(worktrees)
    named = {one.path for one in known}
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and str(path) not in named]


def remove(store: Store, spare: SpareWorktree) -> str:
    """Remove a spare; returns what became of it. One in use stays, and one in which somebody has worked is released."""
    path, project = Path(spare.path), Path(spare.project)
    try:
        done = _removed(path, project, spare)
    except (FleetError, OSError) as error:
        return f"kept: {error}"
    if done:
        with store.transaction():
            store.spares.remove(spare.path)
    return done or "kept: it is in use"


def _removed(path: Path, project: Path, spare: SpareWorktree) -> str:
    """What became of a spare; empty if it is in use."""
    if git.is_spare_in_use(path):
        return ""
    if not project.exists():
        return _remove_without_repository(path, spare)
    also = git.spare_target(path)
    git_dir = git.discover(project).git_dir
    try:
        git.roll_back_add(
            project, path=path, branch="", makes_branch=False, base=spare.base or also, also=also, seconds=0.0
        )
    except Refused as refused:
        return _released(git_dir, path, str(refused))
    git.forget_spare_target(path)
    return "removed"


def _remove_without_repository(path: Path, spare: SpareWorktree) -> str:
    if not path.is_dir():
        return "removed"
    if not spare.settings or _was_changed(path, spare.needed_at):
        return _released(None, path, "its repository is gone")
    shutil.rmtree(path)
    git.forget_spare_target(path)
    return "removed"


def _was_changed(path: Path, since: float) -> bool:
    """Whether anything in the folder was created, written or renamed after this time."""
    for folder, folders, files in os.walk(path):
        for name in ("", *folders, *files):
            with contextlib.suppress(FileNotFoundError):
                if Path(folder, name).lstat().st_ctime > since:
                    return True
    return False


def _released(git_dir: Path | None, path: Path, why: str) -> str:
    place = path.parent.parent / f"spare-{path.name}"
    git.release_spare(git_dir, path, place)
    git.forget_spare_target(path)
    return f"somebody has worked in it, so it is now {place}: {why}"


class _Keeper:
    """Keeps the spares of one project ready."""

    def __init__(self, store: Store, project: Path, worktrees: Path) -> None:
        self._store = store
        self._project = project
        self._folder = paths.spares(worktrees)

    def keep(self, count: int, patience: float) -> None:
        repository = git.discover(self._project)
        settings = git.checkout_settings(repository)
        unfit = settings.problem or git.checkout_problem(repository, repository.head, settings)
        size = None if unfit else git.tree_size(repository, repository.head)
        is_worth_it = size is not None and size[0] >= FEWEST_FILES and size[1] <= MOST_BYTES
        kept = 0
        for spare in self._known():
            if is_worth_it and kept < count and self._renew(repository, spare, settings.fingerprint):
                kept += 1
            else:
                remove(self._store, spare)
        if not is_worth_it or size is None or kept == count:
            return
        _wait_until_quiet(patience)
        for _ in range(count - kept):
            if shutil.disk_usage(paths.private(self._folder)).free < 2 * size[1] + LEFT_FREE:
                return
            self._make(repository, settings.fingerprint)

    def _known(self) -> list[SpareWorktree]:
        return [one for one in self._store.spares.all() if one.project == str(self._project)]

    def _renew(self, repository: git.Repository, spare: SpareWorktree, settings: str) -> bool:
        """Whether a spare is ready at the repository's HEAD, or could be brought there with little work."""
        path, base = Path(spare.path), repository.head
        if spare.settings != settings or path.parent != self._folder:
            return False
        if spare.base == base:
            is_ready = git.is_spare_clean(repository, path, base)
        else:
            self._put(replace(spare, settings=""))
            try:
                is_ready = git.bring_spare(repository, path, spare.base, base)
            except FleetError:
                traceback.print_exc()
                is_ready = False
        if is_ready:
            git.settle_spare(repository, path, base)
            self._put(replace(spare, base=base, settings=settings, needed_at=time.time()))
            git.forget_spare_target(path)
        return is_ready

    def _make(self, repository: git.Repository, settings: str) -> None:
        path = self._folder / names.new_id(os.urandom)
        now = time.time()
        spare = SpareWorktree(str(path), str(self._project), repository.head, now, now)
        self._put(spare)
        try:
            git.make_spare(repository, path, repository.head)
            git.settle_spare(repository, path, repository.head)
        except FleetError:
            traceback.print_exc()
            remove(self._store, spare)
        else:
            self._put(replace(spare, settings=settings, needed_at=time.time()))

    def _put(self, spare: SpareWorktree) -> None:
        with self._store.transaction():
            self._store.spares.put(spare)


def _wait_until_quiet(seconds: float) -> None:
    """Wait until at least one core is idle, but no longer than this."""
    deadline = time.monotonic() + seconds
    before = usage.machine()
    while time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)
        now = usage.machine(before)
        if now.cores <= now.cpu_count - 1 + 0.5:
            return
        before = now
