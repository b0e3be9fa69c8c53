"""Says what a worktree in the trash holds besides commits, and why it may have to stay there.

Changes nothing: what it finds is shown by `fleet trash`, and decides whether a worktree may be emptied.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fleet_tui.errors import FleetError
from fleet_tui.git import plain
from fleet_tui.git.entries import Admin
from fleet_tui.git.plain import Place
from fleet_tui.git.program import lines, run
from fleet_tui.git.rescue import PLAIN, Desk
from fleet_tui.git.survey import size_of, survey
from fleet_tui.models import Contents, Ignored

_REMOTE_URL = re.compile(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:")
"""A remote that is another machine; a path may be gone like any folder."""


def look(admin: Admin, folder: Path, *, head: str, original: Path) -> Contents:
    """What is in the folder; `original` is where it was before it was moved to the trash."""
    import tempfile

    found = survey(folder)
    obstacles = [(one.text, one.hint) for one in found.obstacles]
    if found.blocks_git:
        return Contents(found.size, obstacles=tuple(obstacles))
    uncommitted: list[str] = []
    ignored: list[Ignored] = []
    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:
        desk = Desk(admin, folder, original, Path(temporary) / "index")
        try:
            desk.copy_index(head)
            desk.stop_overlooking()
            uncommitted, loose = desk.loose_files()
            ignored = [Ignored(name, *size_of(folder / name)) for name in loose]
            for path in found.repositories:
                is_ignored = any(f"{path}/".startswith(one.path) for one in ignored if one.path.endswith("/"))
                if not desk.is_submodule(path) and _would_be_lost(folder / path, is_ignored=is_ignored):
                    obstacles.append(_repository(folder, path))
            desk.check_submodules()
        except FleetError as error:
            obstacles.append((error.message, error.hint))
        except OSError as error:
            obstacles.append((f"{error.filename or folder} cannot be read: {error.strerror}", ""))
    return Contents(
        found.size,
        tuple(sorted(uncommitted)),
        tuple(sorted(ignored, key=lambda one: (one.packed, one.path))),
        tuple(dict.fromkeys(obstacles)),
    )


def _would_be_lost(repository: Path, *, is_ignored: bool) -> bool:
    """Whether a repository inside a worktree is in no saved ref, and nowhere else either."""
    if is_ignored:
        return not _is_mere_clone(repository)
    # A commit holds the files of a bare repository like any others, but of another repository only a commit's name.
    return os.path.lexists(repository / ".git")


def _repository(folder: Path, path: str) -> tuple[str, str]:
    return (
        f"{folder} holds another repository in {path}",
        "undo, and move that repository to a place of its own",
    )


def _is_mere_clone(folder: Path) -> bool:
    """Whether a remote on another machine has everything of a repository: no commit, change or file is its own."""
    if not (folder / ".git").is_dir():
        return False
    urls = run(folder, "--git-dir", str(folder / ".git"), "config", "--get-regexp", r"^remote\..*\.url$")
    places = [line.partition(" ")[2] for line in lines(urls.stdout)]
    if urls.returncode != 0 or not places or not all(map(_REMOTE_URL.match, places)):
        return False
    own = ("HEAD", "--branches", "--glob=refs/stash*", "--not", "--remotes")
    questions = (
        ("rev-list", "--max-count=1", *own),
        ("status", "--porcelain"),
    )
    here = Place(folder / ".git", folder / ".git", folder)
    answers = [plain.look(here, *PLAIN, *question) for question in questions]
    return all(answer.returncode == 0 and not answer.stdout for answer in answers)
