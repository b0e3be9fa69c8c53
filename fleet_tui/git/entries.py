"""Entries of linked worktrees: git's small files in repository and worktree, read and written without starting git.

Owns the entry that a repository keeps for each worktree, the links between the two, and git's lock on it. Starts no
program and knows nothing of what is checked out.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.system import files

if TYPE_CHECKING:
    from fleet_tui.models import Agent


MOST_LINK = 8192
"""How many bytes of a `.git` file, or of one in an entry, are read: it holds one path."""


class WorktreeChanged(Refused):
    """A worktree's `.git` no longer names the entry that was created for it; the message says what it holds."""


@dataclass(frozen=True, slots=True)
class WorktreeEntry:
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
        """The content of the `gitdir` file; empty if git was killed before it wrote it."""
        return read_line(self.folder / "gitdir")

    @property
    def worktree(self) -> Path | None:
        return Path(os.path.normpath(self.folder / self.link)).parent if self.link else None


def is_entry(admin: WorktreeEntry) -> bool:
    """Whether an entry is a folder: a link in its place leads to another one, which git would change."""
    return admin.folder.is_dir() and not admin.folder.is_symlink()


def admin_of(worktree: Path) -> WorktreeEntry | None:
    """The entry that a worktree names, whether it exists or not; None if it names none."""
    line = read_link(worktree / ".git")
    if not line.startswith("gitdir: "):
        return None
    folder = Path(os.path.normpath(worktree / line.removeprefix("gitdir: ")))
    return WorktreeEntry(folder) if folder.parent.name == "worktrees" else None


def read_link(path: Path) -> str:
    """The content of a `.git` file; empty for anything else."""
    try:
        return read_line(path)
    except OSError:
        return ""


def entry(git_dir: Path, worktree: Path, mark: str = "") -> WorktreeEntry:
    """The entry that was created for a worktree, whether it exists or not: by the folder's name, or, if the folder was
    moved, by the mark at the end of the entry's name. Ignores what the worktree contains."""
    named = WorktreeEntry(git_dir / "worktrees" / worktree.name)
    if mark and not named.folder.is_dir():
        return next((admin for admin in admins(git_dir) if admin.name.endswith(mark)), named)
    return named


def linked(git_dir: Path, worktree: Path, mark: str = "") -> WorktreeEntry:
    """The entry that was created for a worktree. Raises WorktreeChanged if the two no longer belong together.

    A report, not a guard: the worktree may change right afterwards, so use only the returned entry.
    """
    problem = link_problem(git_dir, worktree, mark)
    if problem:
        raise WorktreeChanged(f"{worktree.name}: {problem}", hint="repair it with: fleet list --repair")
    return entry(git_dir, worktree, mark)


def link_problem(git_dir: Path, worktree: Path, mark: str = "") -> str:
    """Why a worktree does not lead to the entry that was created for it, in a few words; empty if it does, also if git
    has pruned that entry."""
    if _is_as_made(str(git_dir), str(worktree)):
        return ""
    link = worktree / ".git"
    try:
        kind = link.lstat().st_mode
    except OSError:
        return "its .git is gone"
    if stat.S_ISDIR(kind):
        return "its .git was replaced by a folder"
    made = entry(git_dir, worktree, mark)
    named = admin_of(worktree) if stat.S_ISREG(kind) else None
    if named is None or not _is_same(named.folder, made.folder):
        return "its .git was changed"
    if os.path.lexists(made.folder) and (
        not is_entry(made) or not _is_common(made) or _in_the_way(str(made.folder))
    ):
        return "its entry in the repository was changed"
    return ""


def _is_as_made(git_dir: str, worktree: str) -> bool:
    """Whether link and entry are byte by byte as git writes them, as nearly all are. A fast path, because every listing
    checks every agent."""
    made = f"{git_dir}/worktrees/{os.path.basename(worktree)}"  # noqa: PTH119 - a path object takes longer
    is_linked = _read_at_once(f"{worktree}/.git") == os.fsencode(f"gitdir: {made}\n")
    return (
        is_linked
        and _read_at_once(f"{made}/commondir") == b"../..\n"
        and not os.path.islink(made)  # noqa: PTH114 - a path object takes longer
        and not _in_the_way(made)
    )


def _in_the_way(made: str) -> list[str]:
    """What is not a regular file, but in the place of one that every git command opens: a pipe would block it."""
    return [name for name in ("HEAD", "index", "config.worktree") if _is_irregular(f"{made}/{name}")]


def _is_irregular(path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def _read_at_once(path: str) -> bytes:
    """The beginning of a regular file; empty for anything else, such as a symbolic link or a FIFO."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, MOST_LINK)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _is_common(admin: WorktreeEntry) -> bool:
    """Whether an entry leads to the repository that contains it."""
    said = read_link(admin.folder / "commondir")
    return said == "../.." or _is_same(admin.folder / said, admin.git_dir)


def is_work_tree_of(git_dir: Path, own: Path, folder: Path) -> bool:
    """Whether a folder says itself, with its `.git`, that it is the work tree of a git folder: of the repository's own, or
    of one of its entries. What is written in the repository may name any folder of the user."""
    if own != git_dir:
        named = admin_of(folder)
        is_ours = _is_same(own.parent, git_dir / "worktrees") and is_entry(WorktreeEntry(own))
        return is_ours and named is not None and _is_same(named.folder, own)
    link = folder / ".git"
    if link.is_dir():
        return _is_same(link, git_dir)
    line = read_link(link)
    return line.startswith("gitdir: ") and _is_same(folder / line.removeprefix("gitdir: "), git_dir)


def link_problems(git_dirs: Mapping[str, Path], agents: Iterable[Agent]) -> dict[str, str]:
    """The `link_problem` of each agent that has one, by id; `git_dirs` are their repositories by our records."""
    found = {}
    for agent in agents:
        git_dir = git_dirs.get(agent.id)
        if git_dir is None or not agent.has_worktree or _is_as_made(str(git_dir), agent.worktree):
            continue
        if Path(agent.worktree).is_dir() and git_dir.is_dir():
            problem = link_problem(git_dir, Path(agent.worktree), agent.id)
            if problem:
                found[agent.id] = problem
    return found


def _is_same(one: Path, other: Path) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def relink(git_dir: Path, worktree: Path, mark: str = "") -> bool:
    """Reconnect a worktree with the entry that was created for it; False if that is gone, the worktree is a link, or its
    `.git` is a folder."""
    made = entry(git_dir, worktree, mark)
    link = worktree / ".git"
    if worktree.is_symlink() or not is_entry(made) or (link.is_dir() and not link.is_symlink()):
        return False
    for name in _in_the_way(str(made.folder)):
        files.set_aside(made.folder / name)
    connect(made, worktree)
    return True


def admins(git_dir: Path) -> list[WorktreeEntry]:
    """All entries of a repository, including unfinished ones."""
    try:
        return [
            WorktreeEntry(folder) for folder in sorted((git_dir / "worktrees").iterdir()) if folder.is_dir()
        ]
    except FileNotFoundError:
        return []


def connect(admin: WorktreeEntry, worktree: Path) -> None:
    """Make entry and worktree name each other, by relative paths if the entry has one, else by absolute ones."""
    if not _is_common(admin):
        write(admin.folder / "commondir", "../..\n")
    is_relative = bool(admin.link) and not admin.link.startswith("/")
    place = real(worktree)
    link, back = str(place / ".git"), str(admin.folder)
    if is_relative:
        link, back = os.path.relpath(link, admin.folder), os.path.relpath(back, place)
    write(admin.folder / "gitdir", f"{link}\n")
    # A link may lead to another worktree or to any other folder of the user.
    if place.is_dir() and not place.is_symlink():
        write(place / ".git", f"gitdir: {back}\n")


def lock(git_dir: Path, worktree: Path, reason: str, mark: str = "") -> None:
    """Lock a worktree, so that git does not prune or remove it."""
    write(_existing(git_dir, worktree, mark).folder / "locked", f"{reason}\n")


def unlock(git_dir: Path, worktree: Path, mark: str = "") -> None:
    (_existing(git_dir, worktree, mark).folder / "locked").unlink(missing_ok=True)


def _existing(git_dir: Path, worktree: Path, mark: str) -> WorktreeEntry:
    admin = entry(git_dir, worktree, mark)
    if not admin.folder.is_dir():
        raise NotFound(f"{worktree} is not a linked worktree", hint="see: git worktree list")
    return admin


def read_line(path: Path, most: int = MOST_LINK) -> str:
    """A file's only line; empty if there is none, or if it has a zero byte, which no path has.

    Never blocks, and reads no more than `most` bytes: an agent may have put anything there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return ""
    with open(descriptor, "rb") as file:  # noqa: PTH123 - there is no path to a descriptor
        text = file.read(most)
    return "" if b"\0" in text else text.decode("utf-8", "surrogateescape").rstrip("\n")


def write(path: Path, text: str) -> None:
    """Replace a file in one step, keeping odd bytes of paths.

    Unlike `system.files.replace`, with the permissions of the user's umask: other users of a shared repository read it.
    """
    draft = path.with_name(f"{path.name}.fleet-{os.getpid()}")
    draft.unlink(missing_ok=True)
    with draft.open("xb") as file:  # never through a planted link
        file.write(text.encode("utf-8", "surrogateescape"))
    try:
        draft.replace(path)
    except IsADirectoryError:
        files.set_aside(path)
        draft.replace(path)


def rename_folder(old: Path, new: Path) -> None:
    try:
        old.rename(new)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise Refused(
                f"{old} and {new.parent} are on different filesystems, so an interrupted move could lose files",
                hint="keep worktrees and trash on one filesystem",
            ) from error
        raise FleetError(
            f"cannot move {old} to {new}: {error.strerror}", hint="check space and permissions"
        ) from error


def remove_tree(path: Path) -> None:
    """Delete a folder, read-only folders in it included; of a link, only the link."""
    import shutil  # deferred: it imports every compression library

    if path.is_symlink():
        path.unlink()
        return
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        for folder, _, _ in os.walk(path):
            # If this fails, so does the deletion below, which names the folder.
            with contextlib.suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(path)


def real(path: Path) -> Path:
    """The path as git writes it: links resolved, although the last part need not exist."""
    return Path(os.path.realpath(path.parent)) / path.name
