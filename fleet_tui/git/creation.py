"""Create a worktree with its branch, all or nothing.

Owns the checks beforehand and the checkout; `rollback` removes what was made in vain. The git program does the
checkout, so that filters, LFS, sparse checkout and hooks work as usual. It spawns as few processes as it can: each
delays the start of an agent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import (
    WorktreeEntry,
    admin_of,
    connect,
    write,
)
from fleet_tui.git.program import (
    COMMIT,
    TRIES,
    GitFailed,
    is_busy,
    lines,
    pause,
    query,
    reason,
    run,
)
from fleet_tui.git.repository import Branch, Repository, branches
from fleet_tui.git.rollback import erase

_HERE = re.compile(r"(?:HEAD|@)(?=[~^]|$)")
_BRANCH_TAKEN = re.compile(r"a branch named .* already exists|reference already exists", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WorktreePlan:
    """A worktree that passed the checks and can be created."""

    branch: str
    base: str
    """The commit to start from; for an existing branch its tip, unless the user named a base."""
    path: Path
    makes_branch: bool


def plan(
    repo: Repository, branch: str, *, base: str = "", existing: bool = False, path: Path
) -> WorktreePlan:
    """Check that a worktree can be created; with `existing`, for an existing branch."""
    return _plan(repo, [branch], [path], base, existing=existing)[0]


def plan_many(
    repo: Repository, names: Sequence[str], paths: Sequence[Path], base: str = ""
) -> list[WorktreePlan]:
    """Check the worktrees of a fan-out together, also against each other."""
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"branch {name!r} is requested twice", hint="give each agent its own name")
        for parent in _parents(name):
            if parent in names:
                raise _clash(name, parent)
    return _plan(repo, names, paths, base, existing=False)


def _plan(
    repo: Repository, names: Sequence[str], paths: Sequence[Path], base: str, *, existing: bool
) -> list[WorktreePlan]:
    paths = [path.absolute() for path in paths]
    taken = [path for path in paths if os.path.lexists(path)]
    if taken or len(set(paths)) != len(names):
        raise Refused(
            f"the folder {(taken or paths)[0]} already exists", hint="choose another name, or move it away"
        )
    parents = {parent for name in names for parent in _parents(name)}
    start, found_parents = resolve(repo, base, parents)
    refs = branches(repo.git_dir, names)
    plans = []
    for name, path in zip(names, paths, strict=True):
        _check_clash(name, found_parents, refs)
        ref = refs.get(name)
        _check_branch(name, ref, existing=existing)
        own_tip = ref.commit if ref and not base else start
        plans.append(WorktreePlan(name, own_tip, path, makes_branch=not existing))
    return plans


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def resolve(repo: Repository, base: str, names: set[str]) -> tuple[str, set[str]]:
    """The commit that a base names, and which of some branches exist, with at most one process."""
    wanted = sorted(names)
    questions = [f"refs/heads/{name}" for name in wanted]
    if base:
        questions.append(_HERE.sub(repo.head, base, count=1) + "^{commit}")
    if not questions:
        return repo.head, set()
    if "\n" in base:
        raise NotFound("a base cannot span several lines", hint="name a branch, tag or commit")
    answers = lines(query(repo.git_dir, "cat-file", "--batch-check", stdin="\n".join(questions) + "\n"))
    found = {name for name, answer in zip(wanted, answers, strict=False) if COMMIT.match(answer)}
    if not base:
        return repo.head, found
    commit = COMMIT.match(answers[-1])
    if not commit or answers[-1].endswith((" missing", " ambiguous")):
        raise NotFound(f"{base!r} is not a commit of {repo.name}", hint="see: git branch --all")
    return commit[0], found


def _check_clash(name: str, parents: set[str], refs: Mapping[str, Branch]) -> None:
    above = [parent for parent in _parents(name) if parent in parents]
    below = [other for other in refs if other.startswith(f"{name}/")]
    for other in (*above, *below):
        raise _clash(name, other)


def _clash(name: str, other: str) -> Refused:
    return Refused(
        f"branch {name!r} conflicts with branch {other!r}: git stores branches as paths, and one would be a folder of the other",
        hint="choose another name",
    )


def _check_branch(name: str, ref: Branch | None, *, existing: bool) -> None:
    if ref is None:
        if existing:
            raise NotFound(f"there is no branch {name!r}", hint="leave --existing out to create it")
        return
    if ref.checked_out_in:
        gone = "" if Path(ref.checked_out_in).exists() else ", which is gone"
        raise Refused(
            f"branch {name!r} is checked out in {ref.checked_out_in}{gone}",
            hint="run: git worktree prune" if gone else "choose another name",
        )
    if not existing:
        raise _taken(name)


def _taken(name: str) -> Refused:
    return Refused(
        f"branch {name!r} already exists",
        hint=f"choose another name, or work on it with: fleet create {name} --existing",
    )


def add(
    repo: Repository,
    plan: WorktreePlan,
    *,
    admin_name: str,
    lock_reason: str = "",
    keep_open: Sequence[int] = (),
    is_unwanted: Callable[[], bool] | None = None,
) -> None:
    """Create a worktree; roll everything back on failure.

    Its entry in the repository is called `admin_name` unless that is taken. Git inherits the descriptors in
    `keep_open`: locks on them last until git ends, even if this process is killed. Once `is_unwanted` returns True, git
    and its hooks are ended, and GitCancelled is raised.
    """
    for attempt in range(1, TRIES + 1):
        failed = _try_add(repo, plan, admin_name, lock_reason, keep_open, is_unwanted)
        if failed is None:
            return
        if _BRANCH_TAKEN.search(failed.stderr) and plan.makes_branch:
            raise _taken(plan.branch)
        if attempt == TRIES or not is_busy(failed):
            why = reason(failed)
            raise GitFailed(
                f"git could not create the worktree of {plan.branch!r}: {why}",
                # Git gives no reason for a write that fails half-way.
                hint="check the free disk space" if why.startswith("unable to write file") else "",
            )
        pause(attempt)


def _try_add(
    repo: Repository,
    plan: WorktreePlan,
    admin_name: str,
    lock_reason: str,
    keep_open: Sequence[int],
    is_unwanted: Callable[[], bool] | None,
) -> subprocess.CompletedProcess[str] | None:
    """One attempt: None on success, or git's result after the rollback."""
    what = ["--no-track", "-b", plan.branch, str(plan.path), plan.base]
    own_branch = plan.branch
    if not plan.makes_branch:
        what = [str(plan.path), plan.branch]
        own_branch = ""
    folder = make_folder(plan.path)
    try:
        # The fsmonitor daemon that git may start would inherit the locks and hold them forever.
        command = ("-c", "core.fsmonitor=false", "worktree", "add", "--quiet", *what)
        done = run(repo.root, *command, keep_open=(folder, *keep_open), is_unwanted=is_unwanted, trusted=True)
        if done.returncode == 0:
            admin = rename_entry(plan.path, admin_name)
            if lock_reason and admin is not None:
                write(admin.folder / "locked", f"{lock_reason}\n")
            return None
        if _BRANCH_TAKEN.search(done.stderr):
            own_branch = ""
    except BaseException:
        erase(repo.git_dir, plan.path, own_branch, plan.base)
        raise
    finally:
        os.close(folder)
    erase(repo.git_dir, plan.path, own_branch, plan.base)
    return done


def make_folder(path: Path) -> int:
    """Create the folder, which proves that it is ours, and lock it while our git works in it.

    Git inherits the lock: if this process is killed, both the checkout and the lock go on.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
    except OSError as error:
        if os.path.lexists(path):
            raise Refused(f"the folder {path} already exists", hint="choose another name") from error
        raise FleetError(
            f"cannot create the folder {path}: {error.strerror}", hint="check space and permissions"
        ) from error
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    with contextlib.suppress(OSError):  # some network filesystems cannot lock folders
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder


def rename_entry(path: Path, name: str) -> WorktreeEntry | None:
    admin = admin_of(path)
    if admin is None or admin.name == name or (admin.folder.parent / name).exists():
        return admin
    renamed = WorktreeEntry(admin.folder.rename(admin.folder.parent / name))
    connect(renamed, path)
    return renamed
