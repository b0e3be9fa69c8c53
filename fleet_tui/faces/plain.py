"""Turn what `Fleet` returns into plain records for JSON.

Records of what agents have made are in `work_records`. Keys are promised to scripts: add keys, never rename or remove one. docs/json.md describes each of them, and
tests/cli/test_json.py compares that page with the output of the commands. Times are ISO 8601 in UTC; keys from before that rule
stay as they were, beside one that follows it.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from fleet_tui.fast_dataclasses import asdict, dataclass
from fleet_tui.models import Agent, PromptSummary, Receipt, Spending, TrustRequest, Usage
from fleet_tui.trashed import TrashItem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet_tui.faces.totals import Overview
    from fleet_tui.fleet.profiles import InstalledProfile
    from fleet_tui.fleet.prompts import AgentPrompts
    from fleet_tui.lifecycle.doctor import Finding
    from fleet_tui.lifecycle.trash import KillResult
    from fleet_tui.permissions.decision_log import LoggedDecision
    from fleet_tui.prompting.why import StatusExplanation
    from fleet_tui.work import PullRequest

JsonRecord = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentDetails:
    """An agent with its usage, spending, prompts and worktree problem, as far as a command looks them up."""

    agent: Agent
    usage: Usage | None = None
    spending: Spending | None = None
    prompts: PromptSummary = PromptSummary()
    worktree_problem: str = ""
    pull_request: PullRequest | None = None


def agent_record(details: AgentDetails) -> JsonRecord:
    """An agent as every command shows it; only `fleet list` adds usage and spending."""
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
        "created_at": iso_time(agent.created_at),
        "started_at": iso_time(agent.started_at),
        "ended_at": iso_time(agent.ended_at),
        "status_since": iso_time(agent.status_since or None),
        "prompt": agent.prompt,
        "exit_code": agent.exit_code,
        "exit_signal": agent.exit_signal,
        "title": agent.title,
        "run": agent.run,
        "port_base": agent.port_base,
        "trash": agent.trash,
        "lost_output": agent.lost_output,
        "worktree_problem": details.worktree_problem,
        "pull_request": request_record(details.pull_request) if details.pull_request else None,
    }


def request_record(request: PullRequest) -> JsonRecord:
    """A pull request, as last seen."""
    return {
        "number": request.number or None,
        "url": request.url,
        "state": request.state,
        "checks": request.checks,
        "failed": request.failed,
        "review": request.review,
        "head": request.head,
        "rounds": request.rounds,
        "receipt": request.receipt,
        "note": request.note,
        "seen_at": iso_time(request.at),
    }


def changed_record(agent: Agent, **more: object) -> JsonRecord:
    """An agent after a command changed it, with what only that command knows."""
    return agent_record(AgentDetails(agent)) | more


def killed_record(agent: Agent, kept: KillResult) -> JsonRecord:
    """An agent after its kill, and what became of its branch and worktree."""
    return changed_record(agent, is_branch_kept=bool(kept.branch), note=kept.note)


def trash_record(item: TrashItem) -> JsonRecord:
    """A killed agent with what its worktree in the trash holds."""
    return agent_record(AgentDetails(item.agent)) | {
        "size": item.contents.size,
        "uncommitted": list(item.contents.uncommitted),
        "ignored": [{"path": one.path, "size": one.size} for one in item.contents.ignored],
        "obstacles": [{"text": text, "hint": hint} for text, hint in item.contents.obstacles],
        "moved_by": item.who,
        "why": item.why,
        "leaves_at": None if item.contents.obstacles else iso_time(item.goes_at),
    }


def receipt_record(agent: Agent, receipt: Receipt) -> JsonRecord:
    """How far a prompt got, as `fleet prompt --json` shows it."""
    return {"agent": agent.name, **_receipt(agent, receipt)}


def _receipt(agent: Agent, receipt: Receipt) -> JsonRecord:
    return {
        **agent_keys(agent.id, agent.name),
        "prompt": receipt.id,
        "text": receipt.text,
        "state": receipt.state,
        "reason": receipt.reason,
        "note": receipt.note,
        "changed_at": iso_time(receipt.at or None),
    }


def queue_record(agent: Agent, queue: AgentPrompts, count: int) -> JsonRecord:
    """The newest prompts that an agent was given, and all that wait for it."""
    given = queue.given[-count:] if count else ()
    return {
        **agent_keys(agent.id, agent.name),
        # `id`, `agent` and `at` are from before all commands used the same words.
        "given": [asdict(receipt) | _receipt(agent, receipt) for receipt in given],
        "waiting": [{**entry, "position": position} for position, entry in enumerate(queue.waiting, start=1)],
    }


def agent_keys(agent_id: str, name: str) -> JsonRecord:
    """The keys that name the agent of a record."""
    return {"agent_id": agent_id, "agent_name": name}


def text_record(agent: Agent, lines: list[str]) -> JsonRecord:
    """Lines of an agent's screen or log."""
    return {**agent_keys(agent.id, agent.name), "lines": lines}


def question_record(agent: Agent, why: StatusExplanation) -> JsonRecord:
    """The question that an agent asks."""
    return {
        **agent_keys(agent.id, agent.name),
        "status": why.status,
        "detail": why.detail,
        "text": why.text,
        "choices": why.choices,
    }


def why_record(agent: Agent, why: StatusExplanation) -> JsonRecord:
    """An explained status; the screen it was read from is left out."""
    return {
        **{name: value for name, value in asdict(why).items() if name not in ("lines", "cols")},
        **agent_keys(agent.id, agent.name),
        "at": iso_time(why.at or None),
    }


def finding_record(finding: Finding, fixed: str | None) -> JsonRecord:
    """A finding of `fleet doctor`, and what --fix did about it."""
    return {"level": finding.level, "text": finding.text, "remedy": finding.remedy, "fixed": fixed}


def decision_record(decision: LoggedDecision, names: Mapping[str, str]) -> JsonRecord:
    """What the permission rules decided; `agent` and `at` are from before all commands used the same words."""
    return {
        **asdict(decision),
        **agent_keys(decision.agent, names.get(decision.agent, "")),
        "decided_at": iso_time(decision.at),
    }


def trust_request_record(asked: TrustRequest, *, is_trusted: bool) -> JsonRecord:
    """What a project's files ask for."""
    return {
        "project": asked.project,
        "name": asked.name,
        "file": asked.file,
        "asks": [
            {
                "verb": line.verb,
                "text": line.text,
                "means": line.means,
                "is_alarming": line.is_alarming,
                "line": line.number or None,
                "change": line.change,
            }
            for line in asked.lines
        ],
        "unchanged": asked.same,
        "restrictions": [{"decision": decision, "rule": rule} for decision, rule in asked.restrictions],
        "ignored": [key for key, _ in asked.refused],
        "digest": asked.digest,
        "is_trusted": is_trusted,
    }


def trusted_record(repository: str, at: float, digest: str, parts: list[str], *, exists: bool) -> JsonRecord:
    """A repository that the user trusts."""
    return {
        "project": repository,
        "trusted_at": iso_time(at),
        "digest": digest,
        "parts": parts,
        "exists": exists,
    }


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
        "is_tested": installed.is_proven,
        "tested_versions": list(installed.tested),
    }


def _tokens(spent: Spending) -> dict[str, int]:
    return {"input": spent.input_tokens, "cached": spent.cached_tokens, "output": spent.output_tokens}


def iso_time(moment: float | None) -> str | None:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment)) if moment is not None else None


def overview_record(found: Overview, next_step: str) -> JsonRecord:
    """The state of the fleet, and what the face advises to do next."""
    return {
        "project": found.project,
        "agents": len(found.agents),
        "statuses": dict(Counter(str(agent.status) for agent in found.agents)),
        "needing": [
            {
                "id": agent.id,
                "name": agent.name,
                "project": agent.project,
                "status": str(agent.status),
                "status_detail": agent.status_detail,
                "status_text": agent.evidence.text if agent.evidence else "",
            }
            for agent in found.needing
        ],
        "cores": round(found.cores, 2),
        "memory": found.memory,
        "cost_today": found.today,
        "next": next_step,
        "others": {
            "projects": len({agent.project for agent in found.others}),
            "agents": len(found.others),
            "statuses": dict(Counter(str(agent.status) for agent in found.others)),
        },
    }
