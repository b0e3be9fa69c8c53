"""Worktrees made in advance: make one, bring it to another commit, turn it into an agent's worktree.

A spare is a detached worktree that git has locked, in the folder `.spares` beside the worktrees of agents. Whoever works
on one holds a lock on its folder; git inherits it. A spare is only made and used where a checkout is nothing but the
files of a commit: no hook and no filter takes part in it, and its settings are those that it was made with.
Whoever is killed here leaves a folder and an entry that `rollback` removes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.creation import WorktreePlan, make_folder, rename_entry
from fleet_tui.git.entries import (
    WorktreeEntry,
    connect,
    is_entry,
    read_line,
    read_link,
    real,
    rename_folder,
    write,
)
from fleet_tui.git.head import set_head
from fleet_tui.git.plain import GitPlaces, run_plain
from fleet_tui.git.plain_checkout import checkout_settings
from fleet_tui.git.program import (
    COMMIT,
    SAFE_OPTIONS,
    GitFailed,
    ask,
    reason,
    run,
    safe_environment,
    start_for,
)
from fleet_tui.git.repository import Repository
from fleet_tui.git.rollback import entries_for, erase

PREFIX = "spare."
"""Of the name of a spare's entry. The name of an agent's entry contains no dot."""
TARGET = ".target"
"""End of the name of the file beside a spare that says to which commit it was being brought."""
LOCK_REASON = "a spare worktree of fleet, for the next agent"
MAKE_SECONDS = 1800.0
"""Timeout of a checkout, which runs at the lowest priority."""
MOST_CHANGED = 300
"""Files in which a spare may differ from the wanted commit: with a thousand, bringing it there took nearly as long as a
new worktree."""
_SETTLED_SECONDS = 1.1
"""Git reads a file again on every status while the index is not younger than the file by a whole second."""
_QUIET = ("-c", "core.untrackedCache=false")
"""The untracked cache names the folder that it was made in, and a spare is moved."""


# ── making one ──


def make_spare(repo: Repository, path: Path, commit: str) -> None:
    """Check out a commit in a new folder whose name is in use nowhere else. Leaves nothing on failure."""
    folder = make_folder(path)
    try:
        _git_at_leisure(
            repo.root, "worktree", "add", "--quiet", "--detach", str(path), commit, keep_open=[folder]
        )
        entry = rename_entry(path, f"{PREFIX}{path.name}")
        if entry is None:
            raise GitFailed(f"git has made no worktree in {path}")
        write(entry.folder / "locked", f"{LOCK_REASON}\n")
    except BaseException:
        erase(repo.git_dir, path, "", commit)
        raise
    finally:
        os.close(folder)


def bring_spare(repo: Repository, path: Path, old: str, new: str) -> bool:
    """Bring a clean spare to another commit that differs little; False if it differs much or the spare is not clean."""
    with _locked(path) as folder:
        entry = _entry(repo.git_dir, path, old) if folder is not None else None
        if folder is None or entry is None:
            return False
        if not _are_close(repo, old, new) or not _is_clean(repo, entry, path):
            return False
        _check_out(path, new, [folder])
    return True


def settle_spare(repo: Repository, path: Path, commit: str) -> None:
    """Refresh the index once it is younger than the files: until then, git reads them again to see whether they changed."""
    with _locked(path) as folder:
        entry = _entry(repo.git_dir, path, commit) if folder is not None else None
        if folder is None or entry is None:
            return
        left = (entry.folder / "index").stat().st_mtime + _SETTLED_SECONDS - time.time()
        time.sleep(min(max(left, 0.0), _SETTLED_SECONDS))
        _git_at_leisure(path, "update-index", "-q", "--refresh", keep_open=[folder])


def is_spare_clean(repo: Repository, path: Path, commit: str) -> bool:
    """Whether a spare is as it was made; False as well while another process works on it."""
    with _locked(path) as folder:
        entry = _entry(repo.git_dir, path, commit) if folder is not None else None
        return entry is not None and _is_clean(repo, entry, path)


def is_spare_in_use(path: Path) -> bool:
    """Whether another process works on a spare."""
    with _locked(path) as folder:
        return folder is None and path.is_dir()


def _git_at_leisure(where: Path, *arguments: str, keep_open: Sequence[int]) -> None:
    command = ["git", "-C", str(where), *SAFE_OPTIONS, *_QUIET, *arguments]
    done = start_for(MAKE_SECONDS, where, command, safe_environment(), keep_open=keep_open)
    if done.returncode != 0:
        raise GitFailed(reason(done))


def _check_out(path: Path, commit: str, keep_open: Sequence[int]) -> None:
    # If this is killed, some files are of one commit and some of the other.
    write(_target_file(path), f"{commit}\n")
    _git_at_leisure(
        path,
        *("-c", "submodule.recurse=false"),
        *("checkout", "--quiet", "--detach", "--no-overwrite-ignore", commit),
        keep_open=keep_open,
    )


def _target_file(path: Path) -> Path:
    return path.with_name(f"{path.name}{TARGET}")


def spare_target(path: Path) -> str:
    """The commit that a spare was being brought to when it was last changed; empty if it never was."""
    commit = read_line(_target_file(path)) if _target_file(path).is_file() else ""
    return commit if COMMIT.fullmatch(commit) else ""


def forget_spare_target(path: Path) -> None:
    """Remove the file that says so, and drafts of it."""
    for file in path.parent.glob(f"{path.name}{TARGET}*"):
        file.unlink(missing_ok=True)


# ── what one is ──


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int | None]:
    """The locked folder; None if it is gone, or another process works on it."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # It may have been moved or removed before it was locked.
        is_there = os.path.samestat(os.fstat(folder), path.lstat())
    except OSError:
        is_there = False
    try:
        yield folder if is_there else None
    finally:
        os.close(folder)


def _entry(git_dir: Path, path: Path, commit: str) -> WorktreeEntry | None:
    """The entry of a spare that is detached at this commit; None if anything is not as it was made."""
    entry = WorktreeEntry(git_dir / "worktrees" / f"{PREFIX}{path.name}")
    folder = entry.folder
    is_as_made = (
        is_entry(entry)
        and read_link(path / ".git") == f"gitdir: {folder}"
        and entry.link == str(real(path) / ".git")
        and read_line(folder / "commondir") == "../.."
        and read_line(folder / "HEAD") == commit
        and not os.path.lexists(folder / "index.lock")
    )
    return entry if is_as_made else None


def _is_clean(repo: Repository, entry: WorktreeEntry, path: Path) -> bool:
    what = ("status", "--porcelain", "-z", "--untracked-files=normal", "--ignored", "--no-renames")
    done = run_plain(GitPlaces(repo.git_dir, entry.folder, path), *what)
    return done.returncode == 0 and not done.stdout


def _are_close(repo: Repository, old: str, new: str) -> bool:
    if old == new:
        return True
    done = ask(repo.git_dir, "diff-tree", "-r", "--name-only", "--no-renames", "-z", old, new)
    return done.returncode == 0 and done.stdout.count("\0") <= MOST_CHANGED


# ── using one ──


@dataclass(frozen=True, slots=True)
class HeldSpare:
    """A spare that was found as it was made, and that nobody else can take until this is closed."""

    path: Path
    commit: str
    folder: int
    """The locked descriptor."""

    def close(self) -> None:
        os.close(self.folder)


def hold_spare(repo: Repository, path: Path, commit: str, fingerprint: str) -> HeldSpare | None:
    """Check that a spare is as it was made at `commit` with these settings, and hold it; None on any doubt."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(_locked(path))
        entry = _entry(repo.git_dir, path, commit) if folder is not None else None
        if folder is None or entry is None:
            return None
        try:
            settings = checkout_settings(repo)
            if settings.problem or settings.fingerprint != fingerprint or not _is_clean(repo, entry, path):
                return None
        except (FleetError, OSError):
            return None
        return HeldSpare(path, commit, os.dup(folder))


def take_spare(
    repo: Repository,
    held: HeldSpare,
    plan: WorktreePlan,
    *,
    admin_name: str,
    lock_reason: str = "",
    keep_open: Sequence[int] = (),
) -> bool:
    """Turn a held spare into the planned worktree, with its new branch.

    Returns False on any doubt, and then nothing has the plan's names. If it is killed, `roll_back_add` of the plan
    removes what it did, and that of the spare the rest. Git inherits the descriptors in `keep_open`.
    """
    path = held.path
    if not plan.makes_branch or path.parent.parent != plan.path.parent or os.path.lexists(plan.path):
        return False
    descriptors = [held.folder, *keep_open]
    try:
        entry = _entry(repo.git_dir, path, held.commit)
        if entry is None or os.path.lexists(entry.folder.parent / admin_name):
            return False
        if held.commit != plan.base:
            if not _are_close(repo, held.commit, plan.base):
                return False
            _check_out(path, plan.base, descriptors)
        if not _make_branch(repo, plan, descriptors):
            return False
    except (FleetError, OSError):
        return False
    try:
        _rename(entry, path, plan, admin_name, lock_reason)
    except (FleetError, OSError):
        erase(repo.git_dir, plan.path, plan.branch, plan.base)
        return False
    return True


def _make_branch(repo: Repository, plan: WorktreePlan, keep_open: Sequence[int]) -> bool:
    """Create the branch, which must not exist."""
    done = run(
        repo.git_dir,
        *("--git-dir", str(repo.git_dir)),
        *("update-ref", "-m", f"branch: Created from {plan.base}", "--stdin"),
        stdin=f"create refs/heads/{plan.branch} {plan.base}\n",
        keep_open=keep_open,
    )
    return done.returncode == 0


def _rename(entry: WorktreeEntry, path: Path, plan: WorktreePlan, admin_name: str, lock_reason: str) -> None:
    """Give entry and folder the agent's names. The entry comes first: an entry that names the spare's folder is removed
    with it."""
    renamed = WorktreeEntry(entry.folder.rename(entry.folder.parent / admin_name))
    write(renamed.folder / "gitdir", f"{real(plan.path) / '.git'}\n")
    rename_folder(path, plan.path)
    connect(renamed, plan.path)
    set_head(renamed, f"ref: refs/heads/{plan.branch}")
    if lock_reason:
        write(renamed.folder / "locked", f"{lock_reason}\n")
    else:
        (renamed.folder / "locked").unlink(missing_ok=True)
    forget_spare_target(path)


def release_spare(git_dir: Path | None, path: Path, place: Path) -> None:
    """Move a spare in which somebody has worked to a place where it is seen; git no longer locks it.

    `git_dir` is None if its repository is gone.
    """
    rename_folder(path, place)
    for entry in [] if git_dir is None else entries_for(git_dir, path):
        connect(entry, place)
        (entry.folder / "locked").unlink(missing_ok=True)


def spare_entries(git_dir: Path) -> list[str]:
    """The names of the folders for which a repository has entries of spares."""
    folder = git_dir / "worktrees"
    return (
        [name.name.removeprefix(PREFIX) for name in sorted(folder.glob(f"{PREFIX}*"))]
        if folder.is_dir()
        else []
    )
