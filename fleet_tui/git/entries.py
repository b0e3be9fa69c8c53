"""The small files by which git knows a linked worktree, read and written without starting git.

Owns the entry that a repository keeps for each worktree, the links between the two, and git's lock on it.
Nothing here starts a program, and nothing here knows what is checked out.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from fleet_tui.errors import NotFound
from fleet_tui.values import dataclass


@dataclass(frozen=True, slots=True)
class Admin:
    """The folder that a repository keeps for one linked worktree: its HEAD, index, lock and link."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def git_dir(self) -> Path:
        """The repository's own folder, two levels up."""
        return self.folder.parent.parent

    @property
    def link(self) -> str:
        """What the `gitdir` file says, empty when git was killed before it was written."""
        return read_line(self.folder / "gitdir")

    @property
    def worktree(self) -> Path | None:
        return Path(os.path.normpath(self.folder / self.link)).parent if self.link else None


def admin_of(worktree: Path) -> Admin | None:
    """The entry that a worktree names, whether or not it is still there; None if it names none."""
    try:
        line = read_line(worktree / ".git")
    except (IsADirectoryError, NotADirectoryError, PermissionError):
        return None
    if not line.startswith("gitdir: "):
        return None
    folder = Path(os.path.normpath(worktree / line.removeprefix("gitdir: ")))
    return Admin(folder) if folder.parent.name == "worktrees" else None


def admins(git_dir: Path) -> list[Admin]:
    """All entries of a repository, half-made ones included."""
    try:
        return [Admin(folder) for folder in sorted((git_dir / "worktrees").iterdir()) if folder.is_dir()]
    except FileNotFoundError:
        return []


def connect(admin: Admin, worktree: Path) -> None:
    """Let entry and worktree name each other, in the way, absolute or relative, that the entry uses."""
    is_relative = bool(admin.link) and not admin.link.startswith("/")
    place = real(worktree)
    link, back = str(place / ".git"), str(admin.folder)
    if is_relative:
        link, back = os.path.relpath(link, admin.folder), os.path.relpath(back, place)
    write(admin.folder / "gitdir", f"{link}\n")
    if place.is_dir():
        write(place / ".git", f"gitdir: {back}\n")


def lock(path: Path, reason: str) -> None:
    """Keep git from pruning or removing a worktree."""
    write(_existing_admin(path).folder / "locked", f"{reason}\n")


def unlock(path: Path) -> None:
    (_existing_admin(path).folder / "locked").unlink(missing_ok=True)


def _existing_admin(path: Path) -> Admin:
    admin = admin_of(path)
    if admin is None or not admin.folder.is_dir():
        raise NotFound(f"{path} is not a linked worktree")
    return admin


def read_line(path: Path) -> str:
    """A file's only line; empty if there is no such file."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape").rstrip("\n")
    except FileNotFoundError:
        return ""


def write(path: Path, text: str) -> None:
    """Replace a file in one step."""
    draft = path.with_name(f"{path.name}.fleet-{os.getpid()}")
    draft.write_bytes(text.encode("utf-8", "surrogateescape"))
    draft.replace(path)


def remove_tree(path: Path) -> None:
    """Delete a folder, read-only folders in it included."""
    import shutil  # here, because it loads every compression library

    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        for folder, _, _ in os.walk(path):
            # What cannot be changed cannot be deleted either, and is named then.
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path)


def real(path: Path) -> Path:
    """As git writes it: links resolved, but the last part need not exist."""
    return Path(os.path.realpath(path.parent)) / path.name
