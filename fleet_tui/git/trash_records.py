"""Trash records: one JSON file beside each trashed worktree, and the entry of the repository that it names."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import asdict, dataclass, known, replace
from fleet_tui.git.entries import WorktreeEntry, admin_of, connect, is_entry, real, write
from fleet_tui.git.head import read_head
from fleet_tui.git.plain import GitPlaces
from fleet_tui.git.program import output
from fleet_tui.system import files

DELETING = ".deleting"
"""Suffix of a folder whose work is saved and whose deletion has begun."""


@dataclass(frozen=True, slots=True)
class TrashedWorktree:
    """A worktree in the trash. All fields but its path are in the record beside it."""

    path: Path
    """Its folder in the trash."""
    original: Path
    repo: Path
    """The repository's folder that all worktrees share."""
    admin_name: str
    branch: str
    """The branch that it was on; empty for a detached HEAD."""
    head: str
    """Its commit; empty if its branch had none."""
    at: float
    stamp: str
    has_folder: bool
    """False if the user had deleted the folder before it was trashed."""
    branch_deleted: bool
    who: str = ""
    """Who moved it here; empty if an earlier version did."""
    why: str = ""
    saved: str = ""
    """The ref that keeps its work once emptying has begun."""

    def bears(self, mark: str) -> bool:
        """Whether the name that the worktree was created with ends with the mark; git's entry keeps that name."""
        return self.admin_name.endswith(mark) or self.original.name.endswith(mark)


def trashed(trash: Path) -> list[TrashedWorktree]:
    """The worktrees in a trash folder, oldest first, also those without a readable record."""
    items = []
    for record in trash.absolute().glob("*.json"):
        with contextlib.suppress(FleetError):
            items.append(load(record))
    known_paths = {item.path for item in items}
    folders = [entry for entry in _folders(trash.absolute()) if entry not in known_paths]
    items += [item for item in map(_without_record, folders) if item is not None]
    # A record whose worktree is still at its original place is from a move that was interrupted.
    here = [item for item in items if item.path.exists() or not item.original.exists()]
    return sorted(here, key=lambda item: item.at)


def _folders(trash: Path) -> list[Path]:
    try:
        return [entry for entry in sorted(trash.iterdir()) if entry.is_dir() and entry.suffix != DELETING]
    except OSError:
        return []


def find_trashed(path: Path, *, original: Path, branch: str) -> TrashedWorktree | None:
    """The worktree at a path in the trash, also if its record is lost; None if nothing is there.

    `original` and `branch` replace what a lost record would contain. See `restore_record`.
    """
    try:
        return load(record_of(path))
    except FleetError as error:
        if not path.is_dir():
            return None
        item = _without_record(path)
        if item is None:
            raise Refused(
                f"{path} is no longer a worktree, and its trash record cannot be read",
                hint="take what you need from it, then delete it by hand",
            ) from error
        return replace(item, original=original, branch=branch)


def restore_record(item: TrashedWorktree) -> None:
    """Rewrite a record that is lost or damaged."""
    try:
        load(record_of(item.path))
    except FleetError:
        write_record(item)


def _without_record(path: Path) -> TrashedWorktree | None:
    """Derive a record from a folder in the trash; None if it is not a worktree."""
    admin = admin_of(path)
    if admin is None or not (admin.git_dir / "HEAD").exists() or is_copy(path, admin):
        return None
    name, _, stamp = path.name.rpartition(".")
    return TrashedWorktree(
        path=path,
        original=path.parent.parent / (name or path.name),
        repo=admin.git_dir,
        admin_name=admin.name,
        branch="",
        head=read_head(admin)[0],
        at=path.stat().st_mtime,
        stamp=stamp,
        has_folder=True,
        branch_deleted=False,
    )


def record_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def write_record(item: TrashedWorktree) -> None:
    facts = asdict(item) | {"original": str(item.original), "repo": str(item.repo)}
    del facts["path"]
    files.replace(record_of(item.path), json.dumps(facts).encode(), sync=True)


def load(record: Path) -> TrashedWorktree:
    try:
        facts = json.loads(record.read_text(encoding="utf-8"))
        facts |= {"original": Path(facts["original"]), "repo": Path(facts["repo"])}
        return TrashedWorktree(
            path=record.with_name(record.name.removesuffix(".json")), **known(TrashedWorktree, facts)
        )
    except FileNotFoundError:
        raise NotFound(
            f"{record.name.removesuffix('.json')} is not in the trash", hint="see: fleet trash"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FleetError(
            f"the trash record {record} cannot be read: {error}", hint="run: fleet doctor"
        ) from error


# ── the entry of a trashed worktree ──


def entry_of(item: TrashedWorktree) -> WorktreeEntry:
    """The repository's entry for a trashed worktree, created again if it is missing."""
    admin = named_entry(item)
    if not (admin.git_dir / "HEAD").exists():
        raise repository_gone(admin.git_dir)
    if not is_entry(admin):
        remake(admin, item.path, item.head)
    return admin


def place_in_trash(item: TrashedWorktree) -> GitPlaces | None:
    """The places of a worktree in the trash, to read it there; None if its folder or its entry is gone."""
    admin = named_entry(item)
    if not item.path.is_dir() or not is_entry(admin):
        return None
    return GitPlaces(admin.git_dir, admin.folder, item.path)


def named_entry(item: TrashedWorktree) -> WorktreeEntry:
    """The entry that the record names, or, after the repository was moved, the one that the folder names."""
    recorded = WorktreeEntry(item.repo / "worktrees" / item.admin_name)
    named = admin_of(item.path) or recorded
    candidates = [recorded, named]
    there = [admin for admin in candidates if is_entry(admin)]
    remakable = [admin for admin in candidates if (admin.git_dir / "HEAD").exists()]
    return (there or remakable or [named])[0]


def remake(admin: WorktreeEntry, worktree: Path, head: str) -> None:
    if os.path.lexists(admin.folder):
        files.set_aside(admin.folder)
    admin.folder.mkdir(parents=True)
    write(admin.folder / "HEAD", f"{head}\n")
    write(admin.folder / "commondir", "../..\n")
    connect(admin, worktree)
    output(admin.folder, "--git-dir", str(admin.folder), "read-tree", "HEAD")


def is_copy(worktree: Path, admin: WorktreeEntry) -> bool:
    """Whether a folder is a copy of a worktree: its entry belongs to another folder that names it, too."""
    elsewhere = admin.worktree
    return elsewhere is not None and elsewhere != real(worktree) and admin_of(elsewhere) == admin


def repository_gone(git_dir: Path) -> Refused:
    return Refused(
        f"the repository {git_dir} is gone",
        hint="if it was moved, run there: git worktree repair, with the folder's path",
    )
