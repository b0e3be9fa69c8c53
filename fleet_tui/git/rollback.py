"""Remove what a creation has made that failed or was killed: folder, entry and branch, and nothing that is not its own."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from fleet_tui.errors import Refused
from fleet_tui.git.entries import WorktreeEntry, admins, read_line, real, remove_tree, write
from fleet_tui.git.plain import GitPlaces, plain_output
from fleet_tui.git.program import GitFailed, output, query, run
from fleet_tui.git.repository import branches

WRITER_SECONDS = 10.0
"""How long a rollback waits for a git process that outlived its launcher."""
_LINK, _DRAFT = b"gitdir: ", re.compile(r"\.git\.fleet-[0-9]+")


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
