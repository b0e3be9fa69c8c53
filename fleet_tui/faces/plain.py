"""Turn what `Fleet` returns into plain records for JSON.

Keys are promised to scripts: add keys, never rename or remove one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from fleet_tui.fast_dataclasses import asdict, dataclass
from fleet_tui.models import Agent, PromptSummary, Receipt, Spending, TrashItem, Usage

if TYPE_CHECKING:
    from fleet_tui.fleet.profiles import InstalledProfile
    from fleet_tui.lifecycle.doctor import Finding
    from fleet_tui.prompting.why import StatusExplanation

JsonRecord = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentDetails:
    """An agent with what was measured of it and found out about it."""

    agent: Agent
    usage: Usage | None = None
    spending: Spending | None = None
    prompts: PromptSummary = PromptSummary()
    worktree_problem: str = ""


def agent_record(details: AgentDetails) -> JsonRecord:
    """An agent as `fleet list --json` shows it."""
    return {**_record(details), "worktree_problem": details.worktree_problem}


def _record(details: AgentDetails) -> JsonRecord:
    agent, used, spent, prompts = details.agent, details.usage, details.spending, details.prompts
    evidence = agent.evidence
    context = spent.context if spent else None
    return {
        "id": agent.id,
        "name": agent.name,
        "project": agent.project,
        "branch": agent.branch,
        "base": agent.base,
        "worktree": agent.worktree,
        "batch": agent.batch,
        "profile": agent.profile,
        "status": str(agent.status),
        "status_detail": agent.status_detail,
        "status_source": evidence.source if evidence else "",
        "status_text": evidence.text if evidence else "",
        "choices": [list(choice) for choice in evidence.choices] if evidence else [],
        "prompts": {
            "queued": prompts.queued,
            "last": prompts.last,
            "reason": prompts.reason,
            "waits": prompts.waits,
        },
        "pid": agent.pid if not agent.has_ended else None,
        "cpu": round(used.cpu, 1) if used else 0.0,
        "memory": used.memory if used else 0,
        "processes": used.processes if used else 0,
        "tokens": _tokens(spent) if spent else None,
        "cost": spent.cost if spent else None,
        "context": round(context, 1) if context is not None else None,
        "created_at": _iso(agent.created_at),
        "started_at": _iso(agent.started_at),
        "ended_at": _iso(agent.ended_at),
        "prompt": agent.prompt,
        "exit_code": agent.exit_code,
        "exit_signal": agent.exit_signal,
        "title": agent.title,
        "run": agent.run,
        "port_base": agent.port_base,
        "trash": agent.trash,
        "lost_output": agent.lost_output,
    }


def trash_record(item: TrashItem) -> JsonRecord:
    """A killed agent with what its worktree in the trash holds."""
    return _record(AgentDetails(item.agent)) | {
        "size": item.contents.size,
        "uncommitted": list(item.contents.uncommitted),
        "ignored": [{"path": one.path, "size": one.size} for one in item.contents.ignored],
        "obstacles": [{"text": text, "hint": hint} for text, hint in item.contents.obstacles],
        "leaves_at": None if item.contents.obstacles else _iso(item.goes_at),
    }


def receipt_record(agent: Agent, receipt: Receipt) -> JsonRecord:
    """How far a prompt got, as `fleet prompt --json` shows it."""
    return {
        "agent": agent.name,
        "prompt": receipt.id,
        "state": receipt.state,
        "reason": receipt.reason,
        "note": receipt.note,
    }


def why_record(why: StatusExplanation) -> JsonRecord:
    """An explained status; the screen it was read from is left out."""
    return {
        name: value for name, value in asdict(why).items() if name not in ("lines", "cols")
    } | {"at": _iso(why.at or None)}  # fmt: skip


def finding_record(finding: Finding) -> JsonRecord:
    """A finding of `fleet doctor`."""
    return {"level": finding.level, "text": finding.text, "remedy": finding.remedy}


def profile_record(installed: InstalledProfile) -> JsonRecord:
    """A profile with its program, as `fleet profiles --json` shows it."""
    profile = installed.profile
    return {
        "name": profile.name,
        "version": installed.version,
        "installed": bool(installed.version),
        "signs": list(installed.signs),
        "install": profile.install_hint,
        "session": profile.session,
        "note": profile.permission_note,
        "problems": list(profile.problems),
        "proven": list(installed.tested),
        "is_proven": installed.is_proven,
    }


def _tokens(spent: Spending) -> dict[str, int]:
    return {"input": spent.input_tokens, "cached": spent.cached_tokens, "output": spent.output_tokens}


def _iso(moment: float | None) -> str | None:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) if moment is not None else None
