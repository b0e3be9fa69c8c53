"""Removed worktrees, kept whole until they are emptied.

Moving one here is a rename and a few small files, ignored files included: the repository's entry for it
stays, locked and detached, so that its index, HEAD and objects outlive pruning and garbage collection
while its branch is free. Only `empty` deletes: after saving what git would call work under a ref, and ignored files
in an archive. Each step that was killed is finished by doing it again; a folder under its own name is always whole.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
import subprocess
import time
from pathlib import Path

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.git.archive import archive_of, discard_archive, pack
from fleet_tui.git.entries import Admin, admin_of, admins, connect, entry, read_line, real, remove_tree, write
from fleet_tui.git.inspection import look
from fleet_tui.git.program import COMMIT, lines, output, query, run
from fleet_tui.git.repository import branches
from fleet_tui.git.rescue import save
from fleet_tui.models import Contents
from fleet_tui.values import asdict, dataclass, known, replace

LOCK_REASON = "in the fleet's trash"
DELETING = ".deleting"
"""Ends the name of a folder whose work is saved, and which may be half deleted."""


@dataclass(frozen=True, slots=True)
class Trashed:
    """A worktree in the trash; all but its path is in the record beside it."""

    path: Path
    """Where it is now."""
    original: Path
    repo: Path
    """The repository's folder that all worktrees share."""
    admin_name: str
    branch: str
    """The branch it was on; empty when its HEAD was detached."""
    head: str
    """Its commit; empty when its branch had none."""
    at: float
    stamp: str
    has_folder: bool
    """False when the folder was gone before it came here."""
    branch_deleted: bool
    saved: str = ""
    """The ref that keeps its work, once emptying has begun."""

    def bears(self, mark: str) -> bool:
        """Whether the worktree was made with a name that ends so; git's entry keeps that name when it is moved."""
        return self.admin_name.endswith(mark) or self.original.name.endswith(mark)


@dataclass(frozen=True, slots=True)
class Restored:
    """A worktree that came back."""

    path: Path
    branch: str
    """Empty when HEAD stays detached."""
    note: str
    """Why HEAD stays detached although it was on a branch; empty when all is as before."""


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
) -> Trashed:
    """Move a worktree to the trash folder and free its branch.

    `branch` is the one that the worktree was made for: only that is ever deleted, whatever HEAD is on now.
    `repo_root` finds the repository when the folder is gone, or no longer says where it belongs.
    With `git_dir`, the repository's folder by our own records, the entry is found there, by its name or its `mark`,
    whatever the `.git` in the worktree says.
    """
    worktree = real(worktree.absolute())
    earlier = _earlier(trash, worktree)
    if earlier and earlier.path.is_dir() and not worktree.exists():
        return _settle(earlier)
    admin = _entry(worktree, branch, repo_root, _recorded(worktree, git_dir, mark))
    head, on = _read_head(admin)
    item = Trashed(
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
    )
    if earlier and not earlier.path.exists():
        _record(earlier.path).unlink()
    _move_in(item, admin)
    return _settle(item)


def _earlier(trash: Path, original: Path) -> Trashed | None:
    """The record of a move that was killed, or of one that is repeated."""
    for record in real(trash.absolute()).glob(f"{glob.escape(original.name)}.*.json"):
        with contextlib.suppress(FleetError):
            item = _load(record)
            if item.original == original and item.has_folder:
                return item
    return None


def _recorded(worktree: Path, git_dir: Path | None, mark: str) -> Admin | None:
    """The entry by our own records; None without any, and where the repository is no longer where it was."""
    return entry(git_dir, worktree, mark) if git_dir is not None and (git_dir / "HEAD").exists() else None


def _entry(worktree: Path, branch: str, repo_root: Path | None, recorded: Admin | None) -> Admin:
    """The repository's entry for a worktree, made again if it is missing."""
    if (worktree / ".git").is_dir():
        raise Refused(
            f"{worktree} is a repository of its own, not a linked worktree",
            hint="move its .git away, then: fleet list --repair",
        )
    admin = recorded or admin_of(worktree) or _linked(worktree, repo_root)
    if admin is None:
        raise NotFound(f"{worktree} is not a linked worktree", hint="see: git worktree list")
    if not admin.folder.is_dir():
        _remake(admin, worktree, _head_for(admin.git_dir, branch))
    if _is_copy(worktree, admin):
        raise Refused(
            f"{worktree} is a copy of the worktree {admin.worktree}", hint="remove the copy by hand"
        )
    return admin


def _is_copy(worktree: Path, admin: Admin) -> bool:
    """Whether the entry that a folder names belongs to another folder, which names it too."""
    elsewhere = admin.worktree
    return elsewhere is not None and elsewhere != real(worktree) and admin_of(elsewhere) == admin


def _linked(worktree: Path, repo_root: Path | None) -> Admin | None:
    if repo_root is None:
        return None
    git_dir = output(repo_root, "rev-parse", "--path-format=absolute", "--git-common-dir").removesuffix("\n")
    return next((admin for admin in admins(Path(git_dir)) if admin.worktree == worktree), None)


def _head_for(git_dir: Path, branch: str) -> str:
    if not (git_dir / "HEAD").exists():
        raise _repository_gone(git_dir)
    if branch and branch in branches(git_dir, [branch]):
        return f"ref: refs/heads/{branch}"
    return query(git_dir, "rev-parse", "--verify", "HEAD").strip()


def _repository_gone(git_dir: Path) -> Refused:
    return Refused(
        f"the repository {git_dir} is gone",
        hint="if it was moved, run there: git worktree repair, with the folder's path",
    )


def _remake(admin: Admin, worktree: Path, head: str) -> None:
    admin.folder.mkdir(parents=True)
    write(admin.folder / "HEAD", f"{head}\n")
    write(admin.folder / "commondir", "../..\n")
    connect(admin, worktree)
    output(admin.folder, "--git-dir", str(admin.folder), "read-tree", "HEAD")


def _move_in(item: Trashed, admin: Admin) -> None:
    if os.path.lexists(item.path):
        raise Refused(f"{item.path} is already there", hint="try again with another stamp")
    item.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    locked = admin.folder / "locked"
    old_reason = read_line(locked) if locked.exists() else None
    _write_record(item)
    write(locked, f"{LOCK_REASON}\n")
    try:
        if item.has_folder:
            _rename(item.original, item.path)
    except FleetError:
        _record(item.path).unlink()
        if old_reason is None:
            locked.unlink()
        else:
            write(locked, f"{old_reason}\n")
        raise


def _rename(old: Path, new: Path) -> None:
    try:
        old.rename(new)
    except OSError as error:
        if error.errno == errno.EXDEV:
            raise Refused(
                f"{old} and {new.parent} are on different filesystems, so moving could lose files half-way",
                hint="keep worktrees and trash on one filesystem",
            ) from error
        raise FleetError(f"cannot move {old} to {new}: {error.strerror}") from error


def _settle(item: Trashed) -> Trashed:
    """All that follows the rename; doing it twice is harmless."""
    admin = _admin(item)
    connect(admin, item.path)
    if item.head:
        _set_head(admin, item.head)
    if item.branch_deleted and not _delete_branch(item, admin):
        item = replace(item, branch_deleted=False)
        _write_record(item)
    return item


def _delete_branch(item: Trashed, admin: Admin) -> bool:
    symbolic = f"ref: refs/heads/{item.branch}"
    others = [other.folder for other in admins(admin.git_dir) if other != admin]
    if not item.head or any(read_line(place / "HEAD") == symbolic for place in (admin.git_dir, *others)):
        return False
    return _ask(admin.git_dir, "update-ref", "-d", f"refs/heads/{item.branch}", item.head).returncode == 0


# ── out of it ──


def from_trash(trashed_path: Path) -> Restored:
    """Put a worktree back where it was, on its branch if that is still free and where it was."""
    item = _load(_record(trashed_path))
    is_whole = not item.saved or (item.path.is_dir() and _named_admin(item).folder.is_dir())
    is_resumed = not item.path.exists() and admin_of(item.original) == _named_admin(item)
    if not is_whole and not is_resumed:
        raise Refused(f"{item.path} was being emptied", hint=how_to_restore(item.saved, item.original))
    admin = _admin(item)
    if not is_resumed:
        _move_out(item)
    connect(admin, item.original)
    branch, note = _attach(item, admin)
    if not item.has_folder:
        here = ("--git-dir", str(admin.folder), "--work-tree", str(item.original))
        # A checkout, so with the filters of the repository, like that which made the worktree.
        variables = {"GIT_COMMON_DIR": str(admin.git_dir)}
        output(
            item.original,
            *here,
            *("checkout-index", "--all", "--quiet", "--index"),
            variables=variables,
            trusted=True,
        )
        note = note or "its folder was gone, so the files are as its index had them"
    (admin.folder / "locked").unlink(missing_ok=True)
    # All that an emptying which was cut off has put aside is back in its place.
    discard_archive(item.path)
    _record(item.path).unlink()
    return Restored(item.original, branch, note)


def _move_out(item: Trashed) -> None:
    if os.path.lexists(item.original):
        raise Refused(f"{item.original} is taken", hint="move it away, then undo again")
    if item.has_folder and not item.path.is_dir():
        raise NotFound(f"{item.path} is gone", hint=f"its last commit is {item.head[:10]}")
    item.original.parent.mkdir(parents=True, exist_ok=True)
    if item.has_folder:
        _rename(item.path, item.original)
    else:
        item.original.mkdir()


def _attach(item: Trashed, admin: Admin) -> tuple[str, str]:
    """The branch that HEAD is on again, or why it is not."""
    if not item.branch or not item.head:
        return item.branch, ""
    now, _ = _read_head(admin)
    branch = branches(admin.git_dir, [item.branch]).get(item.branch)
    if now != item.head:
        return "", f"HEAD stays detached: {now[:10]} was checked out in the trash"
    if branch is None:
        made = _ask(admin.git_dir, "update-ref", f"refs/heads/{item.branch}", item.head, "")
        if made.returncode != 0:
            return "", f"HEAD stays detached: branch {item.branch!r} cannot be made again"
    elif branch.commit != item.head:
        return "", f"HEAD stays detached: branch {item.branch!r} has moved to {branch.commit[:10]}"
    elif branch.checked_out_in:
        return "", f"HEAD stays detached: branch {item.branch!r} is checked out in {branch.checked_out_in}"
    _set_head(admin, f"ref: refs/heads/{item.branch}")
    return item.branch, ""


def trashed(trash: Path) -> list[Trashed]:
    """What is in a trash folder, oldest first; a record that is missing or damaged hides no folder."""
    items = []
    for record in trash.absolute().glob("*.json"):
        with contextlib.suppress(FleetError):
            items.append(_load(record))
    known_paths = {item.path for item in items}
    folders = [entry for entry in _folders(trash.absolute()) if entry not in known_paths]
    items += [item for item in map(_without_record, folders) if item is not None]
    # A record whose worktree is still in its place is that of a move which was killed before it began.
    here = [item for item in items if item.path.exists() or not item.original.exists()]
    return sorted(here, key=lambda item: item.at)


def _folders(trash: Path) -> list[Path]:
    try:
        return [entry for entry in sorted(trash.iterdir()) if entry.is_dir() and entry.suffix != DELETING]
    except OSError:
        return []


def find(path: Path, *, original: Path, branch: str) -> Trashed | None:
    """What is at a place in the trash, also when its record is lost; None when nothing is there.

    `original` and `branch` are what the caller knows of it: a lost record does not say. See `remember`.
    """
    try:
        return _load(_record(path))
    except FleetError as error:
        if not path.is_dir():
            return None
        item = _without_record(path)
        if item is None:
            raise Refused(
                f"{path} is no worktree any more, and its trash record cannot be read",
                hint="take what you need from it, then delete it by hand",
            ) from error
        return replace(item, original=original, branch=branch)


def remember(item: Trashed) -> None:
    """Write the record of something in the trash again if it is lost or damaged."""
    try:
        _load(_record(item.path))
    except FleetError:
        _write_record(item)


def saved_refs(git_dir: Path, mark: str) -> list[str]:
    """The refs that keep the work of emptied worktrees whose names end with the mark, oldest first."""
    pattern = f"refs/fleet/trash/*{mark}/*"
    return lines(query(git_dir, "for-each-ref", "--sort=refname", "--format=%(refname)", pattern))


def _without_record(path: Path) -> Trashed | None:
    """What a folder in the trash says about itself; None when it is no worktree."""
    admin = admin_of(path)
    if admin is None or not (admin.git_dir / "HEAD").exists() or _is_copy(path, admin):
        return None
    name, _, stamp = path.name.rpartition(".")
    return Trashed(
        path=path,
        original=path.parent.parent / (name or path.name),
        repo=admin.git_dir,
        admin_name=admin.name,
        branch="",
        head=_read_head(admin)[0],
        at=path.stat().st_mtime,
        stamp=stamp,
        has_folder=True,
        branch_deleted=False,
    )


# ── emptying ──


def contents(item: Trashed) -> Contents:
    """What a trashed worktree holds besides commits, and why it cannot be emptied."""
    if item.saved and not item.path.is_dir():
        return Contents(saved=item.saved)
    if not item.path.is_dir():
        return Contents()
    admin = _named_admin(item)
    if not (admin.git_dir / "HEAD").exists():
        gone = _repository_gone(admin.git_dir)
        return Contents(obstacles=((gone.message, gone.hint),))
    found = look(admin, item.path, head=item.head, original=item.original)
    try:
        _refuse_nested(item)
    except Refused as error:
        found = replace(found, obstacles=((error.message, error.hint), *found.obstacles))
    return found


def empty(trashed: Trashed, *, keep_ignored: bool = True) -> str:
    """Save the work in a trashed worktree under a ref, then delete it; returns the ref.

    Refuses, and changes nothing, if not all of it can be saved and deleted. Ignored files never go into the repository:
    an archive beside the record keeps them, up to a size, if `keep_ignored`.
    """
    item = _load(_record(trashed.path))
    if not item.saved or item.path.is_dir():
        # Also again, if this was killed before the folder was renamed: something may have been written there since.
        item = _saved(item, keep_ignored=keep_ignored)
    admin = _named_admin(item)
    doomed = _doomed(item.path)
    if item.path.is_dir():
        # First, so that a folder under its own name is whole, whenever this is killed.
        _rename(item.path, doomed)
    remove_tree(admin.folder)
    remove_tree(doomed)
    if item.branch_deleted and item.branch not in branches(admin.git_dir, [item.branch]):
        _ask(admin.git_dir, "config", "--remove-section", f"branch.{item.branch}")
    _record(item.path).unlink()
    return item.saved


def is_half_deleted(path: Path) -> bool:
    """Whether something in the trash is saved, and only its deletion was cut off."""
    return _doomed(path).is_dir()


def _doomed(path: Path) -> Path:
    return path.with_name(f"{path.name}{DELETING}")


def _saved(item: Trashed, *, keep_ignored: bool) -> Trashed:
    if not item.path.exists() and admin_of(item.original) == _named_admin(item):
        raise Refused(f"{item.original} was being brought back", hint="finish that with: fleet undo")
    admin = _admin(item)
    found = contents(item)
    if found.obstacles:
        message, hint = found.obstacles[0]
        raise Refused(message, hint=hint)
    ref = f"refs/fleet/trash/{item.admin_name}/{item.stamp}"
    save(admin, item.path, ref, head=item.head, original=item.original)
    if keep_ignored and found.kept:
        pack(item.path, [one.path for one in found.kept], archive_of(item.path))
    item = replace(item, saved=ref)
    _write_record(item)
    return item


def how_to_restore(ref: str, place: Path) -> str:
    """The command that brings back a worktree which has left the trash."""
    import shlex

    return f"its work is saved: git worktree add {shlex.quote(str(place))} {ref}"


def _refuse_nested(item: Trashed) -> None:
    """Another worktree of the repository may stand inside this one, in an ignored folder say."""
    own = _named_admin(item)
    for folder in own.folder.parent.iterdir() if own.folder.parent.is_dir() else ():
        place = Admin(folder).worktree
        if folder != own.folder and place is not None and place.is_relative_to(item.original):
            raise Refused(
                f"{item.path} holds another worktree, {place.name}", hint="undo, and move that one away"
            )


# ── records and HEAD ──


def _record(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _write_record(item: Trashed) -> None:
    facts = asdict(item) | {"original": str(item.original), "repo": str(item.repo)}
    del facts["path"]
    draft = _record(item.path).with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(facts, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(_record(item.path))


def _load(record: Path) -> Trashed:
    try:
        facts = json.loads(record.read_text(encoding="utf-8"))
        facts |= {"original": Path(facts["original"]), "repo": Path(facts["repo"])}
        return Trashed(path=record.with_name(record.name.removesuffix(".json")), **known(Trashed, facts))
    except FileNotFoundError:
        raise NotFound(f"{record.name.removesuffix('.json')} is not in the trash") from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FleetError(f"the trash record {record} cannot be read: {error}") from error


def _admin(item: Trashed) -> Admin:
    """The entry of something in the trash, made again if it is missing."""
    admin = _named_admin(item)
    if not (admin.git_dir / "HEAD").exists():
        raise _repository_gone(admin.git_dir)
    if not admin.folder.is_dir():
        _remake(admin, item.path, item.head)
    return admin


def _named_admin(item: Trashed) -> Admin:
    """The entry where the record has it, or, once the repository was moved, where the folder has it."""
    recorded = Admin(item.repo / "worktrees" / item.admin_name)
    named = admin_of(item.path) or recorded
    candidates = [recorded, named]
    there = [admin for admin in candidates if admin.folder.is_dir()]
    remakable = [admin for admin in candidates if (admin.git_dir / "HEAD").exists()]
    return (there or remakable or [named])[0]


def _ask(git_dir: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git where failing is one of the answers."""
    return run(git_dir, "--git-dir", str(git_dir), *arguments)


def _uses_reftable(admin: Admin) -> bool:
    return (admin.git_dir / "reftable").is_dir()


def _read_head(admin: Admin) -> tuple[str, str]:
    """The commit that HEAD is at, and the branch that it is on; either may be empty."""
    text = read_line(admin.folder / "HEAD")
    if _uses_reftable(admin):
        text = _ask(admin.folder, "symbolic-ref", "-q", "HEAD").stdout.strip()
        text = f"ref: {text}" if text else query(admin.folder, "rev-parse", "HEAD").strip()
    if not text.startswith("ref: "):
        return text, ""
    ref = text.removeprefix("ref: ")
    return _commit_of(admin, ref), ref.removeprefix("refs/heads/")


def _commit_of(admin: Admin, ref: str) -> str:
    loose = read_line(admin.git_dir / ref)
    if COMMIT.fullmatch(loose):
        return loose
    if not loose and not _uses_reftable(admin):
        packed = lines(read_line(admin.git_dir / "packed-refs"))
        return next((line.partition(" ")[0] for line in packed if line.endswith(f" {ref}")), "")
    return run(
        admin.folder, "--git-dir", str(admin.folder), "rev-parse", "-q", "--verify", ref
    ).stdout.strip()


def _set_head(admin: Admin, text: str) -> None:
    if not _uses_reftable(admin):
        write(admin.folder / "HEAD", f"{text}\n")
    elif text.startswith("ref: "):
        query(admin.folder, "symbolic-ref", "HEAD", text.removeprefix("ref: "))
    else:
        query(admin.folder, "update-ref", "--no-deref", "HEAD", text)
