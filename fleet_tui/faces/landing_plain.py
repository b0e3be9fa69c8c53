"""Landings as plain data, for `fleet land --json`; docs/json.md describes each field."""

from __future__ import annotations

from fleet_tui.faces.plain import JsonRecord, iso_time
from fleet_tui.landings import LandingObstacle, LandingPlan, LandingReport
from fleet_tui.work import ChangedFile, ConflictingFile


def plan_record(plan: LandingPlan) -> JsonRecord:
    """What a landing would do, as `fleet land --dry-run --json` shows it."""
    return {
        "agent": plan.agent,
        "name": plan.name,
        "into": plan.into,
        "strategy": plan.strategy,
        "can_land": plan.can_land,
        "old": plan.old,
        "head": plan.head,
        "message": plan.message,
        "message_of": plan.message_of,
        "added": plan.added,
        "removed": plan.removed,
        "files": [_landed_file(one) for one in plan.files],
        "uncommitted": [one.path for one in plan.uncommitted],
        "left_out": list(plan.left_out),
        "moved": [{"commit": one.commit, "subject": one.subject} for one in plan.moved],
        "conflicts": [_conflicting_file(one) for one in plan.conflicts],
        "give_back": plan.give_back,
        "others": [{"agent": one.other, "files": list(one.files)} for one in plan.others],
        "check": plan.check_command,
        "hooks": list(plan.hooks),
        "is_signed": plan.is_signed,
        "worktree": plan.folder or None,
        "dirty": list(plan.dirty),
        "tidies": plan.tidies,
        "deletes_branch": plan.deletes_branch,
        "steps": [
            {
                "kind": one.kind,
                "title": one.title,
                "note": one.note,
                "lines": list(one.lines),
                "is_blocked": one.is_blocked,
            }
            for one in plan.steps
        ],
        "warnings": list(plan.warnings),
        "obstacles": [_obstacle(one) for one in plan.obstacles],
    }


def landing_report_record(report: LandingReport) -> JsonRecord:
    """What has landed and what stopped the rest, as `fleet land --json` shows it."""
    pages = {one.agent: one.url for one in report.requests}
    return {
        "landings": [
            {
                "id": one.id,
                "agent": one.agent,
                "into": one.into,
                "strategy": one.strategy,
                "old": one.old,
                "new": one.new,
                "head": one.head,
                "at": iso_time(one.at),
                "pull_request": pages.get(one.agent),
            }
            for one in report.landings
        ],
        "stopped": _obstacle(report.stopped) if report.stopped is not None else None,
        "agent": report.agent or None,
        "conflicts": [_conflicting_file(one) for one in report.conflicts],
        "give_back": report.give_back,
        "check": str(report.check.state) if report.check is not None else None,
        "output": list(report.output),
        "untried": list(report.untried),
        "notes": list(report.notes),
    }


def _obstacle(found: LandingObstacle) -> JsonRecord:
    return {"kind": found.kind, "message": found.message, "hint": found.hint, "files": list(found.files)}


def _landed_file(file: ChangedFile) -> JsonRecord:
    return {
        "path": file.path,
        "kind": file.kind,
        "added": file.added,
        "removed": file.removed,
        "uncommitted": file.is_uncommitted,
    }


def _conflicting_file(file: ConflictingFile) -> JsonRecord:
    return {
        "path": file.path,
        "kind": file.kind,
        "message": file.message,
        "places": [{"first": one.first, "last": one.last, "function": one.function} for one in file.places],
    }
