"""One landing at a time in each repository: the lock that says so, the wish to stop, and what a killed one has left.

A landing takes as long as a check, which is much longer than moving the branch, which has a lock of its own in the
repository.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fleet_tui import git, paths
from fleet_tui.errors import Refused
from fleet_tui.landings import Landing, LandingState
from fleet_tui.store.database import Store

INTERRUPTED = "it was interrupted; nothing was changed"


@contextmanager
def landing_session(git_dir: Path) -> Iterator[None]:
    """Hold the right to land in a repository. Raises Refused while somebody else has it."""
    descriptor = os.open(_file(git_dir, "lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                "another landing is running in this project", hint="try again when it is done"
            ) from None
        _file(git_dir, "stop").unlink(missing_ok=True)
        yield
    finally:
        os.close(descriptor)


def is_landing(git_dir: Path) -> bool:
    """Whether somebody is landing in a repository."""
    descriptor = os.open(_file(git_dir, "lock"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def ask_to_stop(git_dir: Path) -> bool:
    """Ask a train to stop after the agent that it is landing; False if nobody is landing."""
    if not is_landing(git_dir):
        return False
    _file(git_dir, "stop").touch(mode=0o600)
    return True


def is_asked_to_stop(git_dir: Path) -> bool:
    return _file(git_dir, "stop").exists()


def _file(git_dir: Path, name: str) -> Path:
    digest = hashlib.sha256(os.fsencode(git_dir)).hexdigest()[:16]
    return paths.private(paths.state() / "landing") / f"{digest}.{name}"


def settle(store: Store, git_dir: Path, project: str) -> list[Landing]:
    """Record how the landings of killed processes ended; returns them. Needs the session, and a healed repository."""
    begun = [one for one in store.landings.of(project) if one.state is LandingState.BEGUN]
    for one in begun:
        tips = git.branches(git_dir, [one.into])
        tip = tips[one.into].commit if one.into in tips else ""
        has_landed = bool(tip) and git.has_commit(git_dir, one.new, tip)
        state = LandingState.LANDED if has_landed else LandingState.FAILED
        with store.transaction():
            store.landings.change(one, state, time.time(), reason="" if has_landed else INTERRUPTED)
    return [store.landings.get(one.id) for one in begun]
