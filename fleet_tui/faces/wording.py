"""Show statuses and agents the same way in every face: glyphs, color roles, urgency and words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import REPORT, Agent, NoticeKind, Spending, Status
from fleet_tui.quantities import memory
from fleet_tui.text import one_line

if TYPE_CHECKING:
    from fleet_tui.work import PullRequest

ColorRole = Literal["primary", "bold warning", "success", "muted", "secondary", "error", "warning"]
"""A color of the theme by its purpose; each face maps it to real colors."""


@dataclass(frozen=True, slots=True)
class StatusLook:
    """How a status is shown, and how much it matters to the user."""

    glyph: str
    role: ColorRole
    notice: NoticeKind | None = None
    """The kind of notice to send when an agent reaches the status; for EXITED the exit code decides."""
    announcement: str = ""
    """What the notice says of the agent."""
    needs_answer: bool = False
    """The agent cannot go on until the user answers."""
    needs_look: bool = False
    """The user should look at the agent: it waits, went wrong, or has finished unseen."""
    remedy: str = ""
    """The command to go on with an agent that the user should look at."""
    total: Status | None = None
    """The status under which a summary of the fleet counts the agent; None leaves it out."""
    says: Literal["output", "evidence", "detail"] = "output"
    """What one line about the agent shows: its newest output, the text of the evidence, or the status detail."""


STATUS_LOOKS: Mapping[Status, StatusLook] = {
    Status.BLOCKED: StatusLook(
        "◆",
        "bold warning",
        "blocked",
        "waits for you",
        needs_answer=True,
        needs_look=True,
        remedy="answer",
        says="evidence",
    ),
    Status.ERROR: StatusLook(
        "✗",
        "error",
        "error",
        "has an error",
        needs_look=True,
        remedy="why",
        total=Status.ERROR,
        says="evidence",
    ),
    Status.FAILED: StatusLook(
        "✗",
        "error",
        "error",
        "failed to start",
        needs_look=True,
        remedy="logs",
        total=Status.ERROR,
        says="detail",
    ),
    Status.LOST: StatusLook(
        "◇", "warning", "error", "is lost", needs_look=True, remedy="revive", total=Status.LOST, says="detail"
    ),
    Status.INTERRUPTED: StatusLook(
        "◇",
        "warning",
        "error",
        "was interrupted",
        needs_look=True,
        remedy="revive",
        total=Status.LOST,
        says="detail",
    ),
    Status.LIMITED: StatusLook(
        "◔", "secondary", "limited", "is rate limited", total=Status.LIMITED, says="evidence"
    ),
    Status.DONE: StatusLook(
        "✓", "success", "done", "is done", needs_look=True, remedy="logs", total=Status.DONE
    ),
    Status.WORKING: StatusLook("●", "primary", total=Status.WORKING),
    Status.SETUP: StatusLook("◌", "primary", total=Status.SETUP, says="detail"),
    Status.STARTING: StatusLook("◌", "primary", total=Status.SETUP),
    Status.IDLE: StatusLook("○", "muted", total=Status.IDLE),
    Status.UNKNOWN: StatusLook("?", "muted"),
    Status.EXITED: StatusLook("□", "muted"),
    Status.STOPPED: StatusLook("□", "muted"),
    Status.KILLED: StatusLook("■", "muted"),
}
"""Every status, the most urgent first."""


@dataclass(frozen=True, slots=True)
class SourceWords:
    """What a source of evidence is called."""

    short: str
    """In a narrow column."""
    sentence: str
    """What it means that the source decided the status."""
    is_ruled: bool = False
    """The rule is named beside it: the source has several, and one may be wrong."""


SOURCE_WORDS: Mapping[str, SourceWords] = {
    REPORT: SourceWords("its own report", "the program says so itself"),
    "hook": SourceWords("its hook", "the program reported it through its hook", is_ruled=True),
    "event": SourceWords("its events", "the program's own event stream", is_ruled=True),
    "title": SourceWords("its title", "the program's title", is_ruled=True),
    "screen": SourceWords("its screen", "what its screen shows", is_ruled=True),
    "silence": SourceWords("silence", "it has been silent"),
    "output": SourceWords("output", "it is printing"),
    "exit": SourceWords("its exit", "its program has ended"),
    "launcher": SourceWords("the launcher", "it is being started"),
    "reconcile": SourceWords("no holder", "its holder is gone"),
}
"""Every source of evidence."""


def source_words(source: str) -> SourceWords:
    """The words for a source; one of a holder of another version goes by its name."""
    return SOURCE_WORDS.get(source) or SourceWords(source, source)


def word(agent: Agent) -> str:
    """The status in words, with what the agent asks for or its exit code."""
    if agent.status is Status.BLOCKED and agent.status_detail:
        return agent.status_detail
    if agent.status is Status.EXITED:
        return (
            f"exited {agent.exit_code}"
            if agent.exit_code is not None
            else f"exited, signal {agent.exit_signal}"
        )
    return str(agent.status)


def explained(agent: Agent) -> str:
    """The status in words, with what the agent asks for or what is wrong, on one line."""
    says = STATUS_LOOKS[agent.status].says
    said = agent.status_detail if says == "detail" else ""
    if says == "evidence" and agent.evidence is not None:
        said = agent.evidence.text
    return ": ".join(filter(None, (word(agent), one_line(said))))


def lost_output(agent: Agent) -> str:
    """How much output the log is missing; empty when it is complete."""
    return f"! {memory(agent.lost_output)} of output not kept: no space" if agent.lost_output else ""


REQUEST_LOOKS: Mapping[str, tuple[str, ColorRole]] = {
    "": ("", "muted"),
    "running": ("●", "primary"),
    "passed": ("✓", "success"),
    "failed": ("✗", "error"),
    "merged": ("merged", "success"),
    "closed": ("closed", "muted"),
}
"""What follows a pull request's number: the state of its checks, or how it ended."""


def request_mark(request: PullRequest) -> tuple[str, ColorRole]:
    """A pull request in one short text: #12 ✓."""
    if request.state == "pushed":
        return "pushed", "muted"
    mark, role = REQUEST_LOOKS[request.checks if request.state == "open" else request.state]
    return f"#{request.number} {mark}".rstrip(), role


def request_text(request: PullRequest) -> str:
    """A pull request with what its reviewers say."""
    review = request.review if request.state == "open" else ""
    return " ".join(filter(None, (request_mark(request)[0], review)))


def request_outcome(request: PullRequest) -> str:
    """What has become of an agent's branch: the request, or how to open one."""
    if request.state != "pushed":
        return f"{request_text(request)}  {request.url}"
    why = f" ({one_line(request.note)})" if request.note else ""
    return f"pushed; open a pull request at {request.url}{why}" if request.url else f"pushed{why}"


def percent(spending: Spending) -> str:
    """How full the context window is; empty when that is unknown."""
    return f"{spending.context:.0f}%" if spending.context is not None else ""
