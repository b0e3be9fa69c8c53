"""Branches that agents have left behind and that hold nothing of their own: every commit is on another branch, tag or remote.

Such a branch is put aside under `refs/fleet/branches` rather than deleted, so that an undo can bring it back.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fleet_tui.errors import NotFound, Refused
from fleet_tui.git.program import lines, query, reason, run
from fleet_tui.git.repository import branches


def idle_branches(git_dir: Path, names: Iterable[str]) -> list[str]:
    """Those of these branches that are checked out nowhere and whose commits all are on others than these."""
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


def put_aside(git_dir: Path, name: str, mark: str) -> str:
    """Move a branch to a ref that no list of branches shows; returns that ref."""
    if name not in idle_branches(git_dir, [name]):
        raise Refused(
            f"branch {name!r} has commits of its own by now, or is checked out", hint="see: git branch -v"
        )
    commit = branches(git_dir, [name])[name].commit
    ref = _aside(name, mark)
    # In one transaction: there is no moment at which neither of them is there.
    orders = f"start\nupdate {ref} {commit}\ndelete refs/heads/{name} {commit}\ncommit\n"
    query(git_dir, "update-ref", "--stdin", stdin=orders)
    return ref


def bring_back(git_dir: Path, name: str, mark: str) -> bool:
    """Make a branch again that was put aside, unless there is one of that name; whether it was."""
    ref = _aside(name, mark)
    found = lines(query(git_dir, "for-each-ref", "--format=%(objectname)", ref))
    if not found or name in branches(git_dir, [name]):
        return False
    orders = f"start\ncreate refs/heads/{name} {found[0]}\ndelete {ref} {found[0]}\ncommit\n"
    done = run(git_dir, "--git-dir", str(git_dir), "update-ref", "--stdin", stdin=orders)
    if done.returncode != 0:
        raise NotFound(f"branch {name!r} cannot be made again: {reason(done)}", hint=f"it is kept as {ref}")
    return True


def _aside(name: str, mark: str) -> str:
    return f"refs/fleet/branches/{name}{mark}"
