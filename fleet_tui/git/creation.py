"""Create a worktree with its branch, all or nothing, and roll back a creation that was interrupted.

Owns the checks beforehand, the checkout and the rollback. The git program does the checkout, so that filters, LFS,
sparse checkout and hooks work as usual. It spawns as few processes as it can: each delays the start of an agent.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.git.entries import (
    WorktreeEntry,
    admin_of,
    admins,
    connect,
    read_line,
    real,
    remove_tree,
    write,
)
from fleet_tui.git.plain import GitPlaces, plain_output
from fleet_tui.git.program import (
    COMMIT,
    TRIES,
    GitFailed,
    is_busy,
    lines,
    output,
    pause,
    query,
    reason,
    run,
)
from fleet_tui.git.repository import Branch, Repository, branches

WRITER_SECONDS = 10.0
"""How long a rollback waits for a git process that outlived its launcher."""

_HERE = re.compile(r"(?:HEAD|@)(?=[~^]|$)")
_LINK, _DRAFT = b"gitdir: ", re.compile(r"\.git\.fleet-[0-9]+")
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


def erase(git_dir: Path, path: Path, branch: str, base: str) -> None:
    """Delete a folder, its entry, and the branch if it is still at base and checked out nowhere."""
    if path.is_dir():
        remove_tree(path)
    for admin in entries_for(git_dir, path):
        remove_tree(admin.folder)
    if not branch:
        return
    ref = branches(git_dir, [branch]).get(branch)
    if ref and ref.commit == base and not ref.checked_out_in:
        query(git_dir, "update-ref", "--no-deref", "-d", f"refs/heads/{branch}", base)


def entries_for(git_dir: Path, path: Path) -> list[WorktreeEntry]:
    """The entry that names a folder, and an unfinished one of its name that names no folder yet."""
    place = real(path)
    return [
        admin
        for admin in admins(git_dir)
        if admin.worktree == place or (not admin.link and admin.name == path.name)
    ]


def roll_back_add(
    repo_root: Path,
    *,
    path: Path,
    branch: str,
    makes_branch: bool,
    base: str,
    also: str = "",
    seconds: float = WRITER_SECONDS,
) -> None:
    """Roll back a creation that was killed at any point. Idempotent.

    A folder that holds anything besides a part of the checkout and copies of files in the main work tree is kept,
    with its entry and branch: Refused names what was found. It is also kept if a git process that outlived its
    launcher still writes to it after `seconds`. Files of the commit `also` count as parts of the checkout.
    """
    git_dir = Path(output(repo_root, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n"))
    if path.is_symlink() or (path.exists() and not path.is_dir()):
        raise Refused(f"{path} is not a worktree", hint="move it away")
    for admin in entries_for(git_dir, path):
        if not read_line(admin.folder / "commondir"):
            # Without this file every git command that lists worktrees fails.
            write(admin.folder / "commondir", "../..\n")
    tip = branches(git_dir, [branch]).get(branch)
    checkout = base if makes_branch or tip is None else tip.commit
    if path.is_dir():
        _wait_for_writers(path, seconds)
        found = _head_elsewhere(git_dir, path, checkout, also) or _stray_file(
            git_dir, repo_root, path, checkout, also
        )
        if found:
            raise Refused(
                f"{path} is kept: {found}", hint="look at it, then remove it with: git worktree remove"
            )
    if makes_branch:
        # A git process that is killed while it creates a branch leaves its lock behind.
        (git_dir / f"refs/heads/{branch}.lock").unlink(missing_ok=True)
    erase(git_dir, path, branch if makes_branch else "", base)


def _wait_for_writers(path: Path, seconds: float) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    deadline = time.monotonic() + seconds
    try:
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Refused(
                        f"{path} is kept: git is still writing to it", hint="try again later"
                    ) from None
                time.sleep(0.05)
            else:
                return
    finally:
        os.close(folder)


def _head_elsewhere(git_dir: Path, path: Path, commit: str, also: str) -> str:
    entries = entries_for(git_dir, path)
    if not entries or not (path / ".git").exists():
        return ""
    # Not through the folder's own `.git`, which an agent may have changed.
    here = {"GIT_DIR": str(entries[0].folder), "GIT_COMMON_DIR": str(git_dir)}
    done = run(path, "rev-parse", "--verify", "--quiet", "HEAD", variables=here)
    head = done.stdout.strip().strip("0")  # all zeros before the checkout
    return (
        f"it has commits of its own, up to {head[:10]}"
        if head not in ("", commit.strip("0"), also.strip("0"))
        else ""
    )


def _stray_file(git_dir: Path, repo_root: Path, path: Path, commit: str, also: str) -> str:
    """The first file that is neither from an interrupted checkout of one of the commits nor a copied file."""
    import tempfile  # deferred: a creation does not need it, and its import takes as long as a git command

    with tempfile.TemporaryDirectory(prefix="fleet-index-") as temporary:

        def ask(*arguments: str) -> str:
            variables = {"GIT_INDEX_FILE": f"{temporary}/index"}
            return plain_output(GitPlaces(git_dir, git_dir, path), *arguments, variables=variables)

        ask("read-tree", commit)
        changes = ask("status", "--porcelain", "-z", "--untracked-files=all", "--ignored", "--no-renames")
        found = [(change[1], change[3:]) for change in changes.split("\0") if change]
        checked_out = _smudged(git_dir, path, [name for kind, name in found if kind == "M"])
        for kind, name in found:
            if kind in " D" or name in checked_out or _is_draft(path, name):
                continue
            expected = _content(repo_root / name)
            if kind == "M":
                expected = ask("cat-file", "--filters", f"{commit}:{name}").encode("utf-8", "surrogateescape")
            content = _content(path / name)
            if also and content is not None and _blob(ask, f"{also}:{name}").startswith(content):
                continue
            if expected is None or content is None or not expected.startswith(content):
                return f"{name} is not from its checkout"
    return ""


def _is_draft(path: Path, name: str) -> bool:
    """Whether a file is a draft of the worktree's link, which a killed process has not put in place."""
    content = _content(path / name) if _DRAFT.fullmatch(name) else None
    return content is not None and (content.startswith(_LINK) or _LINK.startswith(content))


def _blob(ask: Callable[..., str], name: str) -> bytes:
    """A file of a commit as it is checked out; empty if there is none."""
    try:
        return ask("cat-file", "--filters", name).encode("utf-8", "surrogateescape")
    except GitFailed:
        return b""


def _smudged(git_dir: Path, path: Path, names: list[str]) -> set[str]:
    """Filtered files that are unchanged since a completed checkout."""
    from fleet_tui.git.changes import same_by_stat

    entries = [entry for entry in entries_for(git_dir, path) if (entry.folder / "index").exists()]
    return same_by_stat(GitPlaces(git_dir, entries[0].folder, path), names) if entries else set()


def _content(path: Path) -> bytes | None:
    """The content of a file or the target of a link; None for anything else."""
    if path.is_symlink():
        return os.fsencode(path.readlink())
    return path.read_bytes() if path.is_file() else None
