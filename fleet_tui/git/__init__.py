"""The only room that knows git. Other rooms use the names that are listed here, and no others.

It runs the git program for checkouts and wherever libgit2 is wrong or slower. pygit2 is imported only for a diff,
because its import takes longer than most git commands. For the same reason a module is imported at the first use of one
of its names. This room decides nothing about agents and never opens the store.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fleet_tui.git.archive import archive_of, archives
    from fleet_tui.git.branch_to_land_on import BaseBranch, base_branch, base_stamp
    from fleet_tui.git.changes import ChangeKind, DiffStat, FileChange, diff_stat, ignored, status
    from fleet_tui.git.checkpoints import (
        BroughtFiles,
        CheckpointCommit,
        bring_files,
        checkpoint_commits,
        drop_checkpoints,
        files_tree,
        in_the_way,
        operation_in_progress,
        save_checkpoint,
        subject_of,
        tree_of,
    )
    from fleet_tui.git.conflicts import conflicting_files
    from fleet_tui.git.contained import Containment, containment, has_own_commits, is_between
    from fleet_tui.git.creation import WorktreePlan, add, plan, plan_many
    from fleet_tui.git.diffs import changed_files, commit_count, commit_of, fork_point, patch, stat_text
    from fleet_tui.git.emptying import (
        empty_trashed,
        how_to_restore,
        is_half_deleted,
        saved_refs,
        trash_contents,
    )
    from fleet_tui.git.entries import (
        WorktreeChanged,
        link_problem,
        link_problems,
        lock,
        relink,
        remove_tree,
        unlock,
    )
    from fleet_tui.git.hunks import blob_text, file_diff, file_text
    from fleet_tui.git.ignore_patterns import IgnorePattern
    from fleet_tui.git.landing import move_branch
    from fleet_tui.git.landing_checks import (
        InTheWay,
        checkout_of,
        dirty_files,
        files_in_the_way,
        head_and_branch,
        landing_files,
    )
    from fleet_tui.git.landing_commits import (
        BuiltCommit,
        co_authors,
        commits_between,
        has_commit,
        is_signed,
        keep_undone,
        merged,
        message_of,
        rebased,
        reverted,
        snapshot_commit,
        squashed,
        with_trailers,
    )
    from fleet_tui.git.landing_heal import heal
    from fleet_tui.git.landing_hooks import (
        BY_HAND,
        COMMIT_HOOKS,
        commit_everything,
        hooks_folder,
        merge_by_hand,
        present_hooks,
        rebase_by_hand,
        run_post_merge,
        squash_by_hand,
    )
    from fleet_tui.git.landing_note import has_note
    from fleet_tui.git.merging import OLD_GIT, MergeResult, can_merge_in_memory, merge_pairs
    from fleet_tui.git.overlap import touched_files
    from fleet_tui.git.plain import GitPlaces, place_at, place_of
    from fleet_tui.git.plain_checkout import CheckoutSettings, checkout_problem, checkout_settings
    from fleet_tui.git.program import GitCancelled, GitFailed
    from fleet_tui.git.pushing import Pushed, push
    from fleet_tui.git.remotes import (
        PushPlan,
        RemoteAddress,
        push_plan,
        push_plans,
        remote_counterpart,
    )
    from fleet_tui.git.repository import (
        Repository,
        Worktree,
        branch_names,
        branches,
        branches_with,
        discover,
        ensure_repository,
        init,
        moved_to,
        prune,
        repair,
        worktrees,
    )
    from fleet_tui.git.rollback import roll_back_add
    from fleet_tui.git.scratch import ScratchObjects, scratch_objects
    from fleet_tui.git.scratch_worktrees import left_scratch, scratch_worktree, sweep_scratch
    from fleet_tui.git.snapshot import Snapshot, take_snapshot
    from fleet_tui.git.spares import (
        HeldSpare,
        bring_spare,
        forget_spare_target,
        hold_spare,
        is_spare_clean,
        is_spare_in_use,
        make_spare,
        release_spare,
        settle_spare,
        spare_entries,
        spare_target,
        take_spare,
    )
    from fleet_tui.git.startpoints import start_point, start_points, tree_size
    from fleet_tui.git.trash import RestoredWorktree, from_trash, to_trash
    from fleet_tui.git.trash_records import (
        TrashedWorktree,
        find_trashed,
        place_in_trash,
        restore_record,
        trashed,
    )
    from fleet_tui.git.unused_branches import (
        idle_branches,
        is_on_other_branch,
        restore_branch,
        set_branch_aside,
    )
    from fleet_tui.git.user_settings import user_setting
    from fleet_tui.git.work_start import work_start

MODULES = {
    "archive": "archive_of archives",
    "branch_to_land_on": "BaseBranch base_branch base_stamp",
    "changes": "ChangeKind DiffStat FileChange diff_stat ignored status",
    "checkpoints": "BroughtFiles CheckpointCommit bring_files checkpoint_commits drop_checkpoints files_tree in_the_way operation_in_progress save_checkpoint subject_of tree_of",
    "conflicts": "conflicting_files",
    "contained": "Containment containment has_own_commits is_between",
    "creation": "WorktreePlan add plan plan_many",
    "diffs": "changed_files commit_count commit_of fork_point patch stat_text",
    "emptying": "empty_trashed how_to_restore is_half_deleted saved_refs trash_contents",
    "entries": "WorktreeChanged link_problem link_problems lock relink remove_tree unlock",
    "hunks": "blob_text file_diff file_text",
    "ignore_patterns": "IgnorePattern",
    "landing": "move_branch",
    "landing_checks": "InTheWay checkout_of dirty_files files_in_the_way head_and_branch landing_files",
    "landing_commits": "BuiltCommit co_authors commits_between has_commit is_signed keep_undone merged message_of rebased reverted snapshot_commit squashed with_trailers",
    "landing_heal": "heal",
    "landing_hooks": "BY_HAND COMMIT_HOOKS commit_everything hooks_folder merge_by_hand present_hooks rebase_by_hand run_post_merge squash_by_hand",
    "landing_note": "has_note",
    "merging": "MergeResult OLD_GIT can_merge_in_memory merge_pairs",
    "overlap": "touched_files",
    "plain": "GitPlaces place_at place_of",
    "plain_checkout": "CheckoutSettings checkout_problem checkout_settings",
    "program": "GitCancelled GitFailed",
    "pushing": "Pushed push",
    "remotes": "PushPlan RemoteAddress push_plan push_plans remote_counterpart",
    "repository": "Repository Worktree branch_names branches branches_with discover ensure_repository init moved_to prune repair worktrees",
    "rollback": "roll_back_add",
    "scratch": "ScratchObjects scratch_objects",
    "scratch_worktrees": "left_scratch scratch_worktree sweep_scratch",
    "snapshot": "Snapshot take_snapshot",
    "spares": (
        "HeldSpare bring_spare forget_spare_target hold_spare is_spare_clean "
        "is_spare_in_use make_spare release_spare settle_spare spare_entries spare_target take_spare"
    ),
    "startpoints": "start_point start_points tree_size",
    "trash": "RestoredWorktree from_trash to_trash",
    "trash_records": "TrashedWorktree find_trashed place_in_trash restore_record trashed",
    "unused_branches": "idle_branches is_on_other_branch restore_branch set_branch_aside",
    "user_settings": "user_setting",
    "work_start": "work_start",
}
"""Where each name is, as type checkers read it above; a test holds the two together."""


if not TYPE_CHECKING:  # so that a type checker reports a name that is not there

    def __getattr__(name: str) -> Any:
        for home, names in MODULES.items():
            if name in names.split():
                found = getattr(import_module(f"{__name__}.{home}"), name)
                globals()[name] = found
                return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
