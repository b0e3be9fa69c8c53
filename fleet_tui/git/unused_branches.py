"""Unused branches of ended agents: checked out nowhere, with every commit also on another branch, tag or remote.

Such a branch is moved to `refs/fleet/branches` instead of deleted, so that undo can restore it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fleet_tui.errors import NotFound, Refused
from fleet_tui.git.program import lines, query, reason, run
from fleet_tui.git.repository import branches

_EXACTLY = "option no-deref\n"
"""Before an order to update-ref: not the branch that a symbolic ref leads to."""


def idle_branches(git_dir: Path, names: Iterable[str]) -> list[str]:
    """Which of these branches are checked out nowhere and have no commit that is on no other branch, tag or remote."""
    wanted = sorted(set(names))
    found = (
        {name: branch for name, branch in branches(git_dir, wanted).items() if name in wanted}
        if wanted
        else {}
    )
    others = [*(f"--exclude={name}" for name in wanted), "--branches", "--remotes", "--tags"]
    has_own: dict[str, bool] = {}
    for branch in found.values():
        if branch.commit not in has_own:
            own = query(git_dir, "rev-list", "--max-count=1", branch.commit, "--not", *others)
            has_own[branch.commit] = bool(own)
    return [
        name for name, branch in found.items() if not branch.checked_out_in and not has_own[branch.commit]
    ]


def is_on_other_branch(git_dir: Path, commit: str, own: str) -> bool:
    """Whether a commit is on a branch other than `own`, a tag or a remote."""
    excluded = [f"--exclude={own}"] if own else []
    others = [*excluded, "--branches", "--remotes", "--tags"]
    return not query(git_dir, "rev-list", "--max-count=1", commit, "--not", *others)


def set_branch_aside(git_dir: Path, name: str, mark: str) -> str:
    """Move a branch to a ref outside git's branches; return that ref."""
    if name not in idle_branches(git_dir, [name]):
        raise Refused(
            f"branch {name!r} now has commits of its own, or is checked out", hint="see: git branch -v"
        )
    commit = branches(git_dir, [name])[name].commit
    ref = _aside(name, mark)
    # One transaction, so that one of the two refs exists at any moment.
    orders = f"start\n{_EXACTLY}update {ref} {commit}\n{_EXACTLY}delete refs/heads/{name} {commit}\ncommit\n"
    query(git_dir, "update-ref", "--stdin", stdin=orders)
    return ref


def restore_branch(git_dir: Path, name: str, mark: str) -> bool:
    """Restore a branch that was put aside, unless its name is taken; return whether it was."""
    ref = _aside(name, mark)
    found = lines(query(git_dir, "for-each-ref", "--format=%(objectname)", ref))
    if not found or name in branches(git_dir, [name]):
        return False
    orders = f"start\ncreate refs/heads/{name} {found[0]}\n{_EXACTLY}delete {ref} {found[0]}\ncommit\n"
    done = run(git_dir, "--git-dir", str(git_dir), "update-ref", "--stdin", stdin=orders)
    if done.returncode != 0:
        raise NotFound(f"branch {name!r} cannot be restored: {reason(done)}", hint=f"it is kept as {ref}")
    return True


def _aside(name: str, mark: str) -> str:
    return f"refs/fleet/branches/{name}{mark}"
