"""A repository whose branch is called main, and what tests of landings compare before and after."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from fleet_tui.git.landing_note import INDEX, LOCK, NOTE
from tests.git.repositories import call, commit, make


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "project", "-b", "main")


def landed(
    repo: Path, place: Path, files: Mapping[str, str], *, gone: tuple[str, ...] = ()
) -> tuple[str, str]:
    """The commit of main, and one on top of it in the other worktree."""
    old = call(repo, "rev-parse", "main")
    call(place, "reset", "-q", "--hard", old)
    for name in gone:
        call(place, "rm", "-q", "-r", name)
    return old, commit(place, dict(files))


def state(where: Path) -> tuple[str, str, dict[str, bytes | str]]:
    """The branch, what git says, and every file."""
    found: dict[str, bytes | str] = {}
    for parent, folders, names in os.walk(where):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *(one for one in folders if Path(parent, one).is_symlink())]:
            path = Path(parent, name)
            if path != where / ".git":
                content = str(path.readlink()) if path.is_symlink() else path.read_bytes()
                found[str(path.relative_to(where))] = content
    return call(where, "rev-parse", "HEAD"), call(where, "status", "--porcelain", "--ignored"), found


def locks(repo: Path) -> list[str]:
    return sorted(
        str(one.relative_to(repo))
        for one in (repo / ".git").rglob("*")
        if (one.name.endswith(".lock") and one.name != LOCK) or one.name.startswith((NOTE, INDEX))
    )
