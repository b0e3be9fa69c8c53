"""Explain an agent's status, and save a wrong one as a test case."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleet_tui import paths
from fleet_tui.errors import HolderGone, Refused, UsageError
from fleet_tui.fast_dataclasses import asdict, dataclass, replace
from fleet_tui.holder.session import open_session
from fleet_tui.models import Agent, Evidence, Status
from fleet_tui.prompting.prompts import check_alive
from fleet_tui.system import files

REPORTED = "reported"
"""The folder of statuses that the user has reported as wrong."""


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The status that one source gives."""

    source: str
    status: str
    rule: str = ""
    text: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StatusExplanation:
    """An explanation of an agent's status: the evidence that decided it, then all other sources."""

    agent: str
    status: str
    detail: str = ""
    source: str = ""
    rule: str = ""
    text: str = ""
    at: float = 0.0
    choices: tuple[tuple[str, str], ...] = ()
    others: tuple[SourceReport, ...] = ()
    """What the other sources say now, whether they agree or not."""
    title: str = ""
    quiet_for: float | None = None
    lines: tuple[str, ...] = ()
    cols: int = 0
    lost_output: int = 0
    """Bytes of its output that could not be stored."""


def why(agent: Agent) -> StatusExplanation:
    """Explain an agent's status: a living one's by its holder, an ended one's by the store."""
    evidence = agent.evidence
    known = StatusExplanation(
        agent.name,
        str(agent.status),
        agent.status_detail,
        evidence.source if evidence else "",
        evidence.rule if evidence else "",
        evidence.text if evidence else "",
        evidence.at if evidence else agent.status_since,
        evidence.choices if evidence else (),
        title=agent.title,
        lost_output=agent.lost_output,
    )
    return known if agent.has_ended else _with_holder_report(agent, known)


def _with_holder_report(agent: Agent, known: StatusExplanation) -> StatusExplanation:
    try:
        with open_session(agent, rate=0) as session:
            said = session.ask("why")
    except (HolderGone, Refused):
        return known
    told = said.get("told", {})
    others = tuple(
        _source_report(source) for source in said.get("sources", ()) if source["source"] != told.get("source")
    )
    return replace(
        known,
        others=others,
        title=str(said.get("title", "")),
        quiet_for=said.get("quiet_for"),
        lines=tuple(said.get("lines", ())),
        cols=int(said.get("cols", 0)),
    )


def _source_report(source: Mapping[str, Any]) -> SourceReport:
    evidence = Evidence.from_plain(source)
    return SourceReport(
        evidence.source, str(source["status"]), evidence.rule, evidence.text, str(source.get("detail", ""))
    )


def report_wrong(agent: Agent, right: str, kind: str = "") -> Path:
    """Save an agent's screen and sources with the right status, in a file that a test can read; return the file."""
    from fleet_tui.programs.status_rules import KINDS

    choices = [str(status) for status in Status if not status.has_ended]
    if right not in choices:
        raise UsageError(f"{right!r} is not a status of a running agent", hint="one of " + ", ".join(choices))
    if kind and right != Status.BLOCKED:
        raise UsageError(f"only a blocked agent has a kind, not one that is {right}", hint="leave --kind out")
    if kind and kind not in KINDS:
        raise UsageError(f"{kind!r} is not a kind of question", hint="one of " + ", ".join(KINDS))
    check_alive(agent)
    found = why(agent)
    if not found.lines:
        raise Refused(f"the screen of {agent.name} cannot be read now", hint="try again")
    record = {
        "profile": agent.profile,
        "cols": found.cols,
        "title": found.title,
        "status": right,
        "kind": kind,
        "lines": [line.rstrip() for line in found.lines],
        "was": {"status": found.status, "source": found.source, "rule": found.rule, "text": found.text},
        "signs": [asdict(sign) for sign in found.others],
        "quiet_for": found.quiet_for,
    }
    folder = paths.private(paths.state() / REPORTED)
    file = folder / f"{Path(agent.profile).name}-{right}-{time.strftime('%Y%m%d-%H%M%S')}-{agent.id}.json"
    files.replace(file, (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode())
    return file
