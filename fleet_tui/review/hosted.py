"""What a code host says of requests and their checks, in the same words for every host. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.work import RequestChecks, RequestReview, RequestState


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that failed."""

    name: str
    url: str
    log: str = ""
    """What the host's program finds its log by; empty if it has none."""


@dataclass(frozen=True, slots=True)
class HostedRequest:
    """A pull request or merge request, as its host describes it."""

    branch: str
    owner: str
    """Who owns the repository of the branch."""
    number: int
    url: str
    state: RequestState
    head: str
    checks: RequestChecks = ""
    review: RequestReview = ""
    failures: tuple[FailedCheck, ...] = ()


def combined(states: Sequence[RequestChecks]) -> RequestChecks:
    """The state of all checks: red only when none runs any more."""
    if "running" in states:
        return "running"
    return "failed" if "failed" in states else "passed" if "passed" in states else ""
