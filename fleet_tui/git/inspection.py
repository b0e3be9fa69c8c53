"""Inspect a worktree in the trash: what it holds besides commits, and what keeps it from being emptied.

Only reads. `fleet trash` shows the result, and emptying refuses while there are obstacles.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from fleet_tui.errors import FleetError
from fleet_tui.git import plain
from fleet_tui.git.entries import WorktreeEntry
from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import lines, run
from fleet_tui.git.rescue import PLAIN, IndexCopy
from fleet_tui.git.survey import size_of, survey
from fleet_tui.trashed import IgnoredFile, TrashContents

_REMOTE_URL = re.compile(r"(?:https?|ssh|git)://|[\w.-]+@[\w.-]+:")
"""A remote on another machine; a local path may be deleted like any folder."""


def inspect_trash(admin: WorktreeEntry, folder: Path, *, head: str, original: Path) -> TrashContents:
    """Inspect a folder; `original` is its path before it was moved to the trash."""
    import tempfile

    found = survey(folder)
    obstacles = [(one.text, one.hint) for one in found.obstacles]
    if found.blocks_git:
        return TrashContents(found.size, obstacles=tuple(obstacles))
    uncommitted: list[str] = []
    ignored: list[IgnoredFile] = []
    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:
        saving = IndexCopy(admin, folder, original, Path(temporary) / "index")
        try:
            saving.copy_index(head)
            saving.stop_overlooking()
            uncommitted, loose = saving.loose_files()
            ignored = [IgnoredFile(name, *size_of(folder / name)) for name in loose]
            for path in found.repositories:
                is_ignored = any(f"{path}/".startswith(one.path) for one in ignored if one.path.endswith("/"))
                if not saving.is_submodule(path) and _would_be_lost(folder / path, is_ignored=is_ignored):
                    obstacles.append(_repository(folder, path))
            saving.check_submodules()
        except FleetError as error:
            obstacles.append((error.message, error.hint))
        except OSError as error:
            obstacles.append((f"{error.filename or folder} cannot be read: {error.strerror}", ""))
    return TrashContents(
        found.size,
        tuple(sorted(uncommitted)),
        tuple(sorted(ignored, key=lambda one: (one.packed, one.path))),
        tuple(dict.fromkeys(obstacles)),
    )


def _would_be_lost(repository: Path, *, is_ignored: bool) -> bool:
    """Whether deleting a repository inside a worktree would lose it: neither a saved ref nor a remote has it."""
    if is_ignored:
        return not _is_mere_clone(repository)
    # The saved ref holds the files of a bare repository, but only a commit id of one with a work tree.
    return os.path.lexists(repository / ".git")


def _repository(folder: Path, path: str) -> tuple[str, str]:
    return (
        f"{folder} holds another repository in {path}",
        "undo, then move that repository elsewhere",
    )


def _is_mere_clone(folder: Path) -> bool:
    """Whether a remote on another machine has everything: no commit, change or untracked file is only here."""
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
    here = GitPlaces(folder / ".git", folder / ".git", folder)
    answers = [plain.run_plain(here, *PLAIN, *question) for question in questions]
    return all(answer.returncode == 0 and not answer.stdout for answer in answers)
