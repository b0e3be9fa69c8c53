"""The note about a landing in progress, and the lock that landings of one repository share.

Both lie in the repository's own folder, so that whoever lands next finds them, and so does `fleet doctor`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import asdict, dataclass, known
from fleet_tui.git.plain import GitPlaces
from fleet_tui.system import files

NOTE = "fleet-land.json"
LOCK = "fleet-land.lock"
INDEX = "fleet-land.index"
"""In the worktree's own git folder: the index that is being prepared."""
MARK = b"fleet-land\n"
"""The content of an index.lock that a landing holds."""
LOCK_SECONDS = 30.0
"""To wait for another landing, or for a git that outlived a killed one: moving a branch takes less."""


@dataclass(frozen=True, slots=True)
class LandingNote:
    """A branch that is being moved together with the worktree that has it checked out."""

    branch: str
    old: str
    new: str
    own: str
    """The worktree's own git folder."""
    folder: str

    def place(self, git_dir: Path) -> GitPlaces:
        return GitPlaces(git_dir, Path(self.own), Path(self.folder))


def has_note(git_dir: Path) -> bool:
    """Whether a landing was interrupted, or is being done right now."""
    return (git_dir / NOTE).exists()


def read_note(git_dir: Path) -> LandingNote | None:
    """The note; None if there is none. A note that cannot be read was never finished, so nothing was begun."""
    try:
        found = known(LandingNote, json.loads(files.read(git_dir / NOTE)))
        return LandingNote(**found)
    except (OSError, ValueError, TypeError):
        return None


def write_note(git_dir: Path, note: LandingNote) -> None:
    files.replace(git_dir / NOTE, json.dumps(asdict(note)).encode(), sync=True)


def drop_note(git_dir: Path) -> None:
    (git_dir / NOTE).unlink(missing_ok=True)


@contextlib.contextmanager
def exclusive(git_dir: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[int]:
    """Hold the repository's landing lock; yields its descriptor, which git is given so that an orphan holds it, too."""
    descriptor = files.open_regular(git_dir / LOCK, os.O_WRONLY | os.O_CREAT)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Refused(
                        f"another landing is at work in {git_dir}", hint="try again when it is done"
                    ) from None
                time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)
