"""The only package that knows git; what is named here is all that the others may use.

The git program checks files out and answers wherever libgit2 is wrong or slower; pygit2 is imported only
when a diff is asked for, because loading it takes longer than most questions to git. For the same reason each
module is loaded when something of it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleet_tui.git.archive import archive_of, archives
    from fleet_tui.git.changes import DiffStat, FileChange, Kind, diff_stat, dirty, ignored, status
    from fleet_tui.git.creation import WorktreePlan, add, plan, plan_many, undo_add
    from fleet_tui.git.entries import Changed, link_problem, link_problems, lock, relink, unlock
    from fleet_tui.git.leftovers import bring_back, idle_branches, put_aside
    from fleet_tui.git.plain import Place, place_at, place_of
    from fleet_tui.git.program import GitFailed, Unwanted
    from fleet_tui.git.repository import (
        Repository,
        Worktree,
        begin,
        branch_names,
        discover,
        init,
        moved_to,
        prune,
        repair,
        worktrees,
    )
    from fleet_tui.git.startpoints import base, bases, tree_size
    from fleet_tui.git.trash import (
        Restored,
        Trashed,
        contents,
        empty,
        find,
        from_trash,
        how_to_restore,
        is_half_deleted,
        remember,
        saved_refs,
        to_trash,
        trashed,
    )

__all__ = [
    "Changed",
    "DiffStat",
    "FileChange",
    "GitFailed",
    "Kind",
    "Place",
    "Repository",
    "Restored",
    "Trashed",
    "Unwanted",
    "Worktree",
    "WorktreePlan",
    "add",
    "archive_of",
    "archives",
    "base",
    "bases",
    "begin",
    "branch_names",
    "bring_back",
    "contents",
    "diff_stat",
    "dirty",
    "discover",
    "empty",
    "find",
    "from_trash",
    "how_to_restore",
    "idle_branches",
    "ignored",
    "init",
    "is_half_deleted",
    "link_problem",
    "link_problems",
    "lock",
    "moved_to",
    "place_at",
    "place_of",
    "plan",
    "plan_many",
    "prune",
    "put_aside",
    "relink",
    "remember",
    "repair",
    "saved_refs",
    "status",
    "to_trash",
    "trashed",
    "tree_size",
    "undo_add",
    "unlock",
    "worktrees",
]

_HOMES = {
    "archive": ("archive_of", "archives"),
    "changes": (
        "DiffStat",
        "FileChange",
        "Kind",
        "diff_stat",
        "dirty",
        "ignored",
        "status",
    ),
    "creation": (
        "WorktreePlan",
        "add",
        "plan",
        "plan_many",
        "undo_add",
    ),
    "entries": (
        "Changed",
        "link_problem",
        "link_problems",
        "lock",
        "relink",
        "unlock",
    ),
    "plain": (
        "Place",
        "place_at",
        "place_of",
    ),
    "leftovers": (
        "bring_back",
        "idle_branches",
        "put_aside",
    ),
    "program": (
        "GitFailed",
        "Unwanted",
    ),
    "repository": (
        "Repository",
        "Worktree",
        "begin",
        "branch_names",
        "discover",
        "init",
        "moved_to",
        "prune",
        "repair",
        "worktrees",
    ),
    "startpoints": (
        "base",
        "bases",
        "tree_size",
    ),
    "trash": (
        "Restored",
        "Trashed",
        "contents",
        "empty",
        "find",
        "from_trash",
        "how_to_restore",
        "is_half_deleted",
        "remember",
        "saved_refs",
        "to_trash",
        "trashed",
    ),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = getattr(import_module(f"{__name__}.{home}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
