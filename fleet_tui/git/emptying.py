"""Empty the trash: save the work of a trashed worktree under a ref, its ignored files in an archive, and delete it.

An interrupted emptying is finished by repeating it; a folder under its own name is always whole.
"""

from __future__ import annotations

from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.git.archive import archive_of, pack
from fleet_tui.git.entries import admin_of, admins, remove_tree, rename_folder
from fleet_tui.git.inspection import inspect_trash
from fleet_tui.git.program import ask, lines, query
from fleet_tui.git.repository import branches
from fleet_tui.git.rescue import save
from fleet_tui.git.trash_records import (
    DELETING,
    TrashedWorktree,
    entry_of,
    load,
    named_entry,
    record_of,
    repository_gone,
    write_record,
)
from fleet_tui.trashed import TrashContents


def trash_contents(item: TrashedWorktree) -> TrashContents:
    """What a trashed worktree holds besides commits, and why it cannot be emptied."""
    if item.saved and not item.path.is_dir():
        return TrashContents(saved=item.saved)
    if not item.path.is_dir():
        return TrashContents()
    admin = named_entry(item)
    if not (admin.git_dir / "HEAD").exists():
        gone = repository_gone(admin.git_dir)
        return TrashContents(obstacles=((gone.message, gone.hint),))
    found = inspect_trash(admin, item.path, head=item.head, original=item.original)
    try:
        _refuse_nested(item)
    except Refused as error:
        found = replace(found, obstacles=((error.message, error.hint), *found.obstacles))
    return found


def empty_trashed(trashed: TrashedWorktree, *, keep_ignored: bool = True) -> str:
    """Save the work in a trashed worktree under a ref, then delete it; return the ref.

    Raises Refused, and changes nothing, unless all of it can be saved and deleted. Ignored files never go into the
    repository: with `keep_ignored` an archive beside the record keeps them, up to a size limit.
    """
    item = load(record_of(trashed.path))
    if not item.saved or item.path.is_dir():
        # Saved again after an interruption before the rename: the folder may have changed since.
        item = _saved(item, keep_ignored=keep_ignored)
    admin = named_entry(item)
    renamed = _name_while_deleted(item.path)
    if item.path.is_dir():
        # Renamed first, so that a folder under its own name is whole at any moment.
        rename_folder(item.path, renamed)
    remove_tree(admin.folder)
    remove_tree(renamed)
    if item.branch_deleted and item.branch not in branches(admin.git_dir, [item.branch]):
        ask(admin.git_dir, "config", "--remove-section", f"branch.{item.branch}")
    record_of(item.path).unlink()
    return item.saved


def is_half_deleted(path: Path) -> bool:
    """Whether a worktree in the trash is saved, and its deletion was interrupted."""
    return _name_while_deleted(path).is_dir()


def _name_while_deleted(path: Path) -> Path:
    return path.with_name(f"{path.name}{DELETING}")


def _saved(item: TrashedWorktree, *, keep_ignored: bool) -> TrashedWorktree:
    if not item.path.exists() and admin_of(item.original) == named_entry(item):
        raise Refused(f"{item.original} was being restored", hint="finish that with: fleet undo")
    admin = entry_of(item)
    found = trash_contents(item)
    if found.obstacles:
        message, hint = found.obstacles[0]
        raise Refused(message, hint=hint)
    ref = f"refs/fleet/trash/{item.admin_name}/{item.stamp}"
    save(admin, item.path, ref, head=item.head, original=item.original)
    if keep_ignored and found.kept:
        pack(item.path, [one.path for one in found.kept], archive_of(item.path))
    item = replace(item, saved=ref)
    write_record(item)
    return item


def how_to_restore(ref: str, place: Path) -> str:
    """The command that restores a worktree that has left the trash."""
    import shlex

    return f"its work is saved: git worktree add {shlex.quote(str(place))} {shlex.quote(ref)}"


def _refuse_nested(item: TrashedWorktree) -> None:
    """Raise Refused if another worktree of the repository is inside this one, for example in an ignored folder."""
    own = named_entry(item)
    for other in admins(own.git_dir):
        place = other.worktree
        if other != own and place is not None and place.is_relative_to(item.original):
            raise Refused(
                f"{item.path} holds another worktree, {place.name}", hint="undo, then move that one away"
            )


def saved_refs(git_dir: Path, mark: str) -> list[str]:
    """The refs with the work of emptied worktrees whose names end with the mark, oldest first."""
    pattern = f"refs/fleet/trash/*{mark}/*"
    return lines(query(git_dir, "for-each-ref", "--sort=refname", "--format=%(refname)", pattern))
