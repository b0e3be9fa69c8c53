"""Pull requests on GitHub, through the user's `gh`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fleet_tui.git import PushPlan
from fleet_tui.review.host_program import HostProgramFailed, ask, ask_json
from fleet_tui.review.hosted import FailedCheck, HostedRequest, combined
from fleet_tui.work import RequestChecks, RequestReview, RequestState

MOST_REQUESTS = 100
"""How many requests one call lists, the newest first; agents' requests are among the newest."""
LOG_BYTES = 64 << 10
_FIELDS = "number,url,state,headRefName,headRefOid,headRepositoryOwner,reviewDecision,statusCheckRollup"
_STATES: Mapping[str, RequestState] = {"OPEN": "open", "CLOSED": "closed", "MERGED": "merged"}
_REVIEWS: Mapping[str, RequestReview] = {"APPROVED": "approved", "CHANGES_REQUESTED": "changes requested"}
_PASSED = frozenset({"SUCCESS", "NEUTRAL", "SKIPPED"})
_PAGE = re.compile(r"https?://\S+/pull/(\d+)")
_RUN = re.compile(r"/actions/runs/(\d+)(?:/jobs?/(\d+))?")


class GitHub:
    """The requests of one repository."""

    name = "gh"

    def __init__(self, program: str, plan: PushPlan) -> None:
        self._program = program
        self._plan = plan
        self._repository = ("--repo", f"{plan.target.host}/{plan.target.path}")

    def create(self, branch: str, title: str, body: str, *, draft: bool) -> tuple[int, str]:
        """Open a request; returns its number and its page."""
        is_fork = self._plan.source.path != self._plan.target.path
        head = f"{self._plan.source.owner}:{branch}" if is_fork else branch
        said = ask(
            self._program,
            [
                *("pr", "create", *self._repository),
                *(f"--base={self._plan.base}", f"--head={head}", f"--title={title}", "--body-file=-"),
                *(["--draft"] if draft else []),
            ],
            stdin=body,
        )
        pages = list(_PAGE.finditer(said))
        if not pages:
            raise HostProgramFailed("gh pr create printed no address of a pull request")
        return int(pages[-1][1]), pages[-1][0]

    def requests(self, branches: Sequence[str]) -> list[HostedRequest]:
        """The requests of these branches, the newest first, from one call."""
        listing = [
            "pr",
            "list",
            *self._repository,
            "--state=all",
            f"--limit={MOST_REQUESTS}",
            f"--json={_FIELDS}",
        ]
        if len(branches) == 1:
            listing.append(f"--head={branches[0]}")
        found = ask_json(self._program, listing)
        if not isinstance(found, list):
            raise HostProgramFailed("gh pr list answered no list")
        return [one for one in _read(found) if one.branch in branches]

    def log(self, check: FailedCheck) -> str:
        """The end of the log of a failed check."""
        run, _, job = check.log.partition("/")
        which = f"--job={job}" if job else run
        text = ask(
            self._program,
            ["run", "view", which, "--log-failed", *self._repository],
            most=LOG_BYTES,
            keep="end",
        )
        return "\n".join(map(_plain_line, text.splitlines()))


def _plain_line(line: str) -> str:
    """A line of a log without job, step and time, which `gh` writes before each."""
    text = line.split("\t", 2)[-1]
    return re.sub(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z ?", "", text)


def _read(found: Iterable[Any]) -> Iterator[HostedRequest]:
    for one in found:
        try:
            checks = list(_latest(one.get("statusCheckRollup") or ()))
            states = [_check_state(check) for check in checks]
            yield HostedRequest(
                branch=str(one["headRefName"]),
                owner=str((one.get("headRepositoryOwner") or {}).get("login", "")),
                number=int(one["number"]),
                url=str(one["url"]),
                state=_STATES[one["state"]],
                head=str(one["headRefOid"]),
                checks=combined(states),
                review=_REVIEWS.get(one.get("reviewDecision") or "", ""),
                failures=tuple(
                    _failure(check) for check, state in zip(checks, states, strict=True) if state == "failed"
                ),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise HostProgramFailed("gh pr list answered something that cannot be read") from None


def _latest(checks: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """Of runs of the same check, the one that was started last: GitHub lists those before a re-run, too."""
    latest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for check in checks:
        key = (str(check.get("workflowName") or ""), _name(check))
        if key not in latest or str(check.get("startedAt") or "") >= str(latest[key].get("startedAt") or ""):
            latest[key] = check
    return latest.values()


def _check_state(check: Mapping[str, Any]) -> RequestChecks:
    """Of a run of GitHub Actions or an app, or of a status that another service has set."""
    if "state" in check:
        state = check["state"]
        return "passed" if state in _PASSED else "running" if state in ("PENDING", "EXPECTED") else "failed"
    if check.get("status") != "COMPLETED":
        return "running"
    return "passed" if check.get("conclusion") in _PASSED else "failed"


def _name(check: Mapping[str, Any]) -> str:
    return str(check.get("name") or check.get("context") or "a check")


def _failure(check: Mapping[str, Any]) -> FailedCheck:
    url = str(check.get("detailsUrl") or check.get("targetUrl") or "")
    run = _RUN.search(url)
    return FailedCheck(_name(check), url, "/".join(filter(None, run.groups())) if run else "")
