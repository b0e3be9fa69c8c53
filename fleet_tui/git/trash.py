"""Move worktrees to the trash and back.

Moving one here is a rename and a few small files, ignored files included. The repository keeps the worktree's entry,
locked and with a detached HEAD: so index, HEAD and objects survive pruning and garbage collection, and the branch is
free. A move that was interrupted is finished by repeating it. Only `emptying` deletes.
"""

from __future__ import annotations

import contextlib
import glob
import os
import time
from pathlib import Path

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass, replace
from fleet_tui.git.archive import discard_archive
from fleet_tui.git.emptying import how_to_restore
from fleet_tui.git.entries import (
    WorktreeEntry,
    admin_of,
    admins,
    connect,
    entry,
    is_entry,
    read_line,
    real,
    rename_folder,
    write,
)
from fleet_tui.git.head import is_readable, read_head, set_head
from fleet_tui.git.program import ask, output, query
from fleet_tui.git.repository import branches
from fleet_tui.git.trash_records import (
    TrashedWorktree,
    entry_of,
    is_copy,
    load,
    named_entry,
    record_of,
    remake,
    repository_gone,
    write_record,
)
from fleet_tui.system import files

LOCK_REASON = "in the fleet's trash"


@dataclass(frozen=True, slots=True)
class RestoredWorktree:
    """A worktree that was restored."""

    path: Path
    branch: str
    """Empty if HEAD stays detached."""
    note: str
    """Why HEAD stays detached although it was on a branch; empty if all is as before."""


# ── into the trash ──


def to_trash(
    worktree: Path,
    trash: Path,
    *,
    stamp: str,
    delete_branch: bool,
    branch: str = "",
    repo_root: Path | None = None,
    git_dir: Path | None = None,
    mark: str = "",
    who: str = "",
    why: str = "",
) -> TrashedWorktree:
    """Move a worktree to the trash folder and free its branch; the record says who did it and why.

    `branch` is the one that the worktree was created for: only that one is ever deleted, whatever HEAD is on now.
    `repo_root` leads to the repository if the folder is gone or its `.git` is damaged.
    `git_dir`, from our own records, leads to the entry by its name or its `mark`, whatever the `.git` in the worktree
    says.
    """
    worktree = real(worktree.absolute())
    earlier = _earlier(trash, worktree)
    if earlier and earlier.path.is_dir() and not worktree.exists():
        return _settle(earlier)
    admin = _entry(worktree, branch, repo_root, _recorded(worktree, git_dir, mark))
    head, on = read_head(admin)
    item = TrashedWorktree(
        path=real(trash.absolute()) / f"{worktree.name}.{stamp}",
        original=worktree,
        repo=admin.git_dir,
        admin_name=admin.name,
        branch=on,
        head=head,
        at=time.time(),
        stamp=stamp,
        has_folder=worktree.is_dir(),
        branch_deleted=delete_branch and bool(on) and branch in ("", on),
        who=who,
        why=why,
    )
    if earlier and not earlier.path.exists():
        record_of(earlier.path).unlink()
    _move_in(item, admin)
    return _settle(item)


def _earlier(trash: Path, original: Path) -> TrashedWorktree | None:
    """The record of an earlier, perhaps interrupted move of the same worktree."""
    for record in real(trash.absolute()).glob(f"{glob.escape(original.name)}.*.json"):
        with contextlib.suppress(FleetError):
            item = load(record)
            if item.original == original and item.has_folder:
                return item
    return None


def _recorded(worktree: Path, git_dir: Path | None, mark: str) -> WorktreeEntry | None:
    """The entry by our own records; None without them, or if the repository was moved."""
    return entry(git_dir, worktree, mark) if git_dir is not None and (git_dir / "HEAD").exists() else None


def _entry(
    worktree: Path, branch: str, repo_root: Path | None, recorded: WorktreeEntry | None
) -> WorktreeEntry:
    """The repository's entry for a worktree, created again if it is missing."""
    if (worktree / ".git").is_dir():
        raise Refused(
            f"{worktree} is a repository of its own, not a linked worktree",
            hint="move its .git away, then: fleet list --repair",
        )
    admin = recorded or admin_of(worktree) or _linked(worktree, repo_root)
    if admin is None:
        raise NotFound(f"{worktree} is not a linked worktree", hint="see: git worktree list")
    if not is_entry(admin):
        remake(admin, worktree, _head_for(admin.git_dir, branch))
    elif not is_readable(admin):
        # Out of the way first: git, which is asked for the branch, reads the HEAD of every entry.
        if os.path.lexists(admin.folder / "HEAD"):
            files.set_aside(admin.folder / "HEAD")
        write(admin.folder / "HEAD", f"{_head_for(admin.git_dir, branch)}\n")
    is_recorded = recorded is not None and recorded.name == worktree.name
    if not is_recorded and is_copy(worktree, admin):
        raise Refused(
            f"{worktree} is a copy of the worktree {admin.worktree}", hint="remove the copy by hand"
        )
    return admin


def _linked(worktree: Path, repo_root: Path | None) -> WorktreeEntry | None:
    if repo_root is None:
        return None
    git_dir = output(repo_root, "rev-parse", "--path-format=absolute", "--git-common-dir").removesuffix("\n")
    return next((admin for admin in admins(Path(git_dir)) if admin.worktree == worktree), None)


def _head_for(git_dir: Path, branch: str) -> str:
    if not (git_dir / "HEAD").exists():
        raise repository_gone(git_dir)
    if branch and branch in branches(git_dir, [branch]):
        return f"ref: refs/heads/{branch}"
    return query(git_dir, "rev-parse", "--verify", "HEAD").strip()


def _move_in(item: TrashedWorktree, admin: WorktreeEntry) -> None:
    if os.path.lexists(item.path):
        raise Refused(f"{item.path} already exists", hint="try again with another stamp")
    item.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    locked = admin.folder / "locked"
    old_reason = read_line(locked) if locked.exists() else None
    write_record(item)
    write(locked, f"{LOCK_REASON}\n")
    try:
        if item.has_folder:
            rename_folder(item.original, item.path)
    except FleetError:
        record_of(item.path).unlink()
        if old_reason is None:
            locked.unlink()
        else:
            write(locked, f"{old_reason}\n")
        raise


def _settle(item: TrashedWorktree) -> TrashedWorktree:
    """Everything after the rename. Idempotent."""
    admin = entry_of(item)
    connect(admin, item.path)
    if item.head:
        set_head(admin, item.head)
    if item.branch_deleted and not _delete_branch(item, admin):
        item = replace(item, branch_deleted=False)
        write_record(item)
    return item


def _delete_branch(item: TrashedWorktree, admin: WorktreeEntry) -> bool:
    symbolic = f"ref: refs/heads/{item.branch}"
    others = [other.folder for other in admins(admin.git_dir) if other != admin]
    if not item.head or any(read_line(place / "HEAD") == symbolic for place in (admin.git_dir, *others)):
        return False
    return (
        ask(
            admin.git_dir, "update-ref", "--no-deref", "-d", f"refs/heads/{item.branch}", item.head
        ).returncode
        == 0
    )


# ── out of it ──


def from_trash(trashed_path: Path) -> RestoredWorktree:
    """Restore a worktree to its original place, on its branch if that is free and has not moved."""
    item = load(record_of(trashed_path))
    is_whole = not item.saved or (item.path.is_dir() and named_entry(item).folder.is_dir())
    is_resumed = not item.path.exists() and admin_of(item.original) == named_entry(item)
    if not is_whole and not is_resumed:
        raise Refused(f"{item.path} was being emptied", hint=how_to_restore(item.saved, item.original))
    admin = entry_of(item)
    if not is_resumed:
        _move_out(item)
    connect(admin, item.original)
    branch, note = _attach(item, admin)
    if not item.has_folder:
        here = ("--git-dir", str(admin.folder), "--work-tree", str(item.original))
        # A checkout, so with the repository's filters, like the one that created the worktree.
        variables = {"GIT_COMMON_DIR": str(admin.git_dir)}
        output(
            item.original,
            *here,
            *("checkout-index", "--all", "--quiet", "--index"),
            variables=variables,
            trusted=True,
        )
        note = note or "its folder was gone, so its files were restored from its index"
    (admin.folder / "locked").unlink(missing_ok=True)
    # An interrupted emptying may have left an archive of files that are all still in place.
    discard_archive(item.path)
    record_of(item.path).unlink()
    return RestoredWorktree(item.original, branch, note)


def _move_out(item: TrashedWorktree) -> None:
    if os.path.lexists(item.original):
        raise Refused(f"{item.original} is taken", hint="move it away, then undo again")
    if item.has_folder and not item.path.is_dir():
        raise NotFound(f"{item.path} is gone", hint=f"its last commit is {item.head[:10]}")
    item.original.parent.mkdir(parents=True, exist_ok=True)
    if item.has_folder:
        rename_folder(item.path, item.original)
    else:
        item.original.mkdir()


def _attach(item: TrashedWorktree, admin: WorktreeEntry) -> tuple[str, str]:
    """Put HEAD back on its branch; return the branch, or why HEAD stays detached."""
    if not item.branch or not item.head:
        return item.branch, ""
    now, _ = read_head(admin)
    branch = branches(admin.git_dir, [item.branch]).get(item.branch)
    if now != item.head:
        return "", f"HEAD stays detached: {now[:10]} was checked out in the trash"
    if branch is None:
        made = ask(admin.git_dir, "update-ref", f"refs/heads/{item.branch}", item.head, "")
        if made.returncode != 0:
            return "", f"HEAD stays detached: branch {item.branch!r} cannot be created again"
    elif branch.commit != item.head:
        return "", f"HEAD stays detached: branch {item.branch!r} has moved to {branch.commit[:10]}"
    elif branch.checked_out_in:
        return "", f"HEAD stays detached: branch {item.branch!r} is checked out in {branch.checked_out_in}"
    set_head(admin, f"ref: refs/heads/{item.branch}")
    return item.branch, ""
