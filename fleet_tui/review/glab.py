"""Merge requests on GitLab, through the API calls of the user's `glab`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from fleet_tui.git import PushPlan
from fleet_tui.review.host_program import HostProgramFailed, ask, ask_json
from fleet_tui.review.hosted import FailedCheck, HostedRequest
from fleet_tui.work import RequestChecks, RequestReview, RequestState

LOG_BYTES = 64 << 10
_STATES: Mapping[str, RequestState] = {
    "opened": "open",
    "locked": "open",
    "closed": "closed",
    "merged": "merged",
}
_ENDED: Mapping[str, RequestChecks] = {
    "SUCCESS": "passed",
    "SKIPPED": "passed",
    "MANUAL": "passed",
    "FAILED": "failed",
    "CANCELED": "failed",
}
"""All other states of a pipeline are before its end."""
_QUERY = """query {
  project(fullPath: %s) { mergeRequests(sourceBranches: %s, sort: CREATED_DESC, first: 100) { nodes {
    iid webUrl state sourceBranch sourceProject { fullPath } diffHeadSha
    approvedBy { nodes { username } }
    reviewers { nodes { mergeRequestInteraction { reviewState } } }
    headPipeline { status jobs(statuses: [FAILED], first: 20) { nodes { id name webPath allowFailure } } }
  } } }
}"""


class GitLab:
    """The requests of one project."""

    name = "glab"

    def __init__(self, program: str, plan: PushPlan) -> None:
        self._program = program
        self._plan = plan
        self._host = ("--hostname", plan.target.host)

    def create(self, branch: str, title: str, body: str, *, draft: bool) -> tuple[int, str]:
        """Open a request; returns its number and its page."""
        source, target = self._plan.source.path, self._plan.target.path
        asked: dict[str, Any] = {
            "source_branch": branch,
            "target_branch": self._plan.base,
            "title": f"Draft: {title}" if draft else title,
            "description": body,
        }
        if source != target:
            asked["target_project_id"] = _field(self._get(_project(target)), "id", int)
        made = ask_json(
            self._program,
            [
                *("api", f"{_project(source)}/merge_requests", "--method=POST", *self._host),
                *("--header=Content-Type: application/json", "--input=-"),
            ],
            stdin=json.dumps(asked),
        )
        return _field(made, "iid", int), _field(made, "web_url", str)

    def requests(self, branches: Sequence[str]) -> list[HostedRequest]:
        """The requests of these branches, the newest first, from one call."""
        query = _QUERY % (json.dumps(self._plan.target.path), json.dumps(list(branches)))
        found = ask_json(self._program, ["api", "graphql", f"--raw-field=query={query}", *self._host])
        try:
            if found.get("errors"):
                raise HostProgramFailed(f"glab api graphql: {found['errors'][0]['message']}")
            nodes = found["data"]["project"]["mergeRequests"]["nodes"]
            return [self._read(node) for node in nodes]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise HostProgramFailed("glab api graphql answered something that cannot be read") from None

    def log(self, check: FailedCheck) -> str:
        """The end of the log of a failed job."""
        path = f"{_project(self._plan.target.path)}/jobs/{check.log}/trace"
        text = ask(self._program, ["api", path, *self._host], most=LOG_BYTES, keep="end")
        # A line that the runner draws over again ends with a carriage return.
        return re.sub(r"[^\n]*\r(?!\n|$)", "", text)

    def _get(self, path: str) -> Any:
        return ask_json(self._program, ["api", path, *self._host])

    def _read(self, node: Mapping[str, Any]) -> HostedRequest:
        pipeline = node.get("headPipeline") or {}
        checks: RequestChecks = _ENDED.get(pipeline["status"], "running") if pipeline else ""
        jobs = (pipeline.get("jobs") or {}).get("nodes") or ()
        source = str((node.get("sourceProject") or {}).get("fullPath") or "")
        return HostedRequest(
            branch=str(node["sourceBranch"]),
            owner=source.rpartition("/")[0],
            number=int(node["iid"]),
            url=str(node["webUrl"]),
            state=_STATES[node["state"]],
            head=str(node.get("diffHeadSha") or ""),
            checks=checks,
            review=_review(node),
            failures=tuple(
                self._failure(job) for job in jobs if checks == "failed" and not job.get("allowFailure")
            ),
        )

    def _failure(self, job: Mapping[str, Any]) -> FailedCheck:
        target = self._plan.target
        number = re.search(r"\d+$", str(job.get("id") or ""))
        page = f"{target.scheme}://{target.host}{job.get('webPath') or ''}"
        return FailedCheck(str(job.get("name") or "a job"), page, number[0] if number else "")


def _review(node: Mapping[str, Any]) -> RequestReview:
    states = [
        (one.get("mergeRequestInteraction") or {}).get("reviewState")
        for one in (node.get("reviewers") or {}).get("nodes") or ()
    ]
    if "REQUESTED_CHANGES" in states:
        return "changes requested"
    if (node.get("approvedBy") or {}).get("nodes"):
        return "approved"
    return "commented" if "REVIEWED" in states else ""


def _project(path: str) -> str:
    return f"projects/{quote(path, safe='')}"


def _field(answer: Any, name: str, kind: type) -> Any:
    found = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(found, kind):
        raise HostProgramFailed(f"glab api answered without {name}")
    return found
