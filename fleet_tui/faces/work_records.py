"""Turn what agents have made into plain records for JSON: diffs, comments, checks, conflicts, checkpoints, landings.

The promises are those of `plain`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet_tui.comparison import ORDER_RULE
from fleet_tui.faces.plain import JsonRecord, agent_keys, iso_time

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from fleet_tui.comparison import ComparedAgent, Comparison, Rank
    from fleet_tui.models import Agent
    from fleet_tui.work import (
        Checkpoint,
        CheckRun,
        Conflict,
        ConflictingFile,
        ConflictReport,
        Diff,
        RestoredFiles,
        ReviewComment,
    )


def diff_record(diff: Diff) -> JsonRecord:
    """What an agent has changed, without the lines."""
    return {
        "agent": diff.agent,
        "against": diff.against,
        "old": diff.old,
        "new": diff.new,
        "added": diff.added,
        "removed": diff.removed,
        "left_out": list(diff.left_out),
        "files": [
            {
                "path": one.path,
                "kind": one.kind,
                "old_path": one.old_path or None,
                "old_mode": one.old_mode or None,
                "new_mode": one.new_mode or None,
                "added": one.added,
                "removed": one.removed,
                "is_binary": one.is_binary,
                "is_uncommitted": one.is_uncommitted,
            }
            for one in diff.files
        ],
    }


def comment_record(agent: Agent, comment: ReviewComment) -> JsonRecord:
    """A comment on lines of an agent's work."""
    return {
        **agent_keys(agent.id, agent.name),
        "id": comment.id,
        "path": comment.path,
        "side": comment.side,
        "against": comment.against or None,
        "first": comment.first,
        "last": comment.last,
        "quoted": list(comment.quoted),
        "text": comment.text,
        "is_changed": comment.is_changed,
        "is_sent": comment.is_sent,
        "round": comment.round,
        "receipt": comment.receipt or None,
        "state": comment.receipt_state or None,
        "created_at": iso_time(comment.created_at),
        "sent_at": iso_time(comment.sent_at),
        "handled_at": iso_time(comment.handled_at),
    }


def conflicts_record(
    details: Iterable[tuple[Conflict, Sequence[ConflictingFile]]],
    report: ConflictReport,
    names: Mapping[str, str],
    wanted: Collection[str],
) -> JsonRecord:
    """Conflicts and overlaps of the wanted agents, by id; `names` has the names of all."""
    return {
        "conflicts": [
            {
                "agent": one.agent,
                "agent_name": names.get(one.agent, ""),
                "other": one.other or None,
                "other_name": names.get(one.other) if one.other else None,
                "base": one.base,
                "found_at": iso_time(one.since),
                "files": [
                    {
                        "path": file.path,
                        "kind": file.kind,
                        "message": file.message,
                        "places": [
                            {"first": place.first, "last": place.last, "function": place.function}
                            for place in file.places
                        ],
                    }
                    for file in files
                ],
            }
            for one, files in details
        ],
        "overlaps": [
            {
                "agent": one.agent,
                "agent_name": names.get(one.agent, ""),
                "other": one.other,
                "other_name": names.get(one.other, ""),
                "files": list(one.files),
            }
            for one in report.overlaps
            if one.agent in wanted or one.other in wanted
        ],
        "not_compared": [
            {"agent": agent, "agent_name": names.get(agent, ""), "reason": why}
            for agent, why in report.unread.items()
        ],
        "problem": report.problem,
    }


def check_record(run: CheckRun) -> JsonRecord:
    """One run of the project's check command."""
    return {
        "id": run.id,
        "agent": run.agent,
        "command": run.command,
        "state": str(run.state),
        "exit_code": run.exit_code,
        "summary": run.summary,
        "note": run.note,
        "tree": run.tree,
        "onto": run.onto or None,
        "started_at": iso_time(run.started_at),
        "ended_at": iso_time(run.ended_at),
    }


def checkpoint_record(one: Checkpoint, *, is_new: bool | None = None) -> JsonRecord:
    """A saved state of a worktree."""
    return {
        "agent": one.agent,
        "number": one.number,
        "commit": one.commit,
        "kind": one.kind,
        "at": iso_time(one.at),
        "note": one.note,
        "turn": one.turn or None,
        "restored": one.restored if one.kind in ("saved", "restored") else None,
        "added": one.added,
        "removed": one.removed,
        "changed_files": one.changed,
        "files": list(one.files),
        "left_out": list(one.left_out),
    } | ({} if is_new is None else {"is_new": is_new})


def restored_record(done: RestoredFiles) -> JsonRecord:
    """What restoring a checkpoint has done."""
    return {
        "restored": done.checkpoint.number,
        "saved": done.saved,
        "changed_files": done.changed,
        "pointers": list(done.pointers),
        "submodules": list(done.submodules),
    }


def comparison_record(found: Comparison) -> JsonRecord:
    """Several agents' work side by side."""
    return {
        "batch": found.batch or None,
        "project": found.project,
        "base": found.base,
        "prompt": found.prompt or None,
        "order": ORDER_RULE,
        "check_command": found.command or None,
        "not_checked": found.no_checks,
        "problem": found.problem,
        "differences": list(found.differences),
        "agents": [_compared(one, found.ranks[one.id]) for one in found.agents],
    }


def _compared(one: ComparedAgent, rank: Rank) -> JsonRecord:
    return {
        "id": one.id,
        "name": one.name,
        "profile": one.profile,
        "status": one.status,
        "place": rank.place,
        "reason": rank.reason,
        "decided_by": rank.decided,
        "grounds": [
            {"fact": ground.fact, "others": ground.others, "is_better": ground.is_better}
            for ground in rank.grounds
        ],
        "check": check_record(one.check) if one.check is not None else None,
        "is_check_current": one.is_check_current,
        "added": one.added,
        "removed": one.removed,
        "commits": one.commits,
        "tests": one.tests,
        "files": [{"path": file.path, "added": file.added, "removed": file.removed} for file in one.files],
        "base_conflicts": list(one.base_conflicts),
        "conflicts": [{"agent": other, "files": list(files)} for other, files in one.conflicts.items()],
        "seconds": round(one.seconds, 1),
        "tokens": one.tokens,
        "cost": one.cost,
        "problem": one.problem,
    }
