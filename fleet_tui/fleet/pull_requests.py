"""`fleet.pull_requests`: follow pull requests of agents' branches, and send failed checks back. A landing opens them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from fleet_tui.errors import FleetError
from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.models import Agent, Status
from fleet_tui.work import MergedBranch, PullRequest

if TYPE_CHECKING:
    from fleet_tui.fleet import Fleet
    from fleet_tui.lifecycle.doctor import Finding
    from fleet_tui.review.pull_requests import SeenRequest

POLL_SECONDS = 30.0
"""Between two looks of `watch`: hosts limit how often they may be asked."""
UNSENT_SECONDS = 60.0
"""After this time, a round that was begun and has no prompt is begun again: the watch that began it was killed."""
AT_REST = frozenset({Status.DONE, Status.IDLE})
"""An agent in these does not commit any more."""


@dataclass(frozen=True, slots=True)
class RequestNews:
    """Something that `watch` has seen or done."""

    request: PullRequest
    text: str
    """On one line, after the agent's name."""
    is_over: bool = False
    """This request is not followed any longer."""


class PullRequestVerbs:
    """Asks the code hosts through the user's `gh` and `glab`, and pushes what fixes failed checks."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def of(self, agents: Sequence[Agent]) -> Mapping[str, PullRequest]:
        """The pull requests of these agents as last seen, by agent."""
        found = self._fleet.store.pull_requests.all()
        return {agent.id: found[agent.id] for agent in agents if agent.id in found}

    def refresh(self, agents: Sequence[Agent], *, base: str = "") -> list[PullRequest]:
        """Ask the hosts for the pull requests of these agents, with one call for each repository."""
        from fleet_tui.review import pull_requests

        return [seen.request for seen in pull_requests.look(self._fleet.store, agents, base).values()]

    def watch(
        self,
        agents: Sequence[Agent],
        *,
        base: str = "",
        rounds: int | None = None,
        interval: float = POLL_SECONDS,
        seconds: float | None = None,
        on_change: Callable[[RequestNews], None] | None = None,
    ) -> list[PullRequest]:
        """Follow pull requests until each is merged, closed or green; the log of failed checks goes to the agent.

        Each commit's checks go back once, and `rounds` commits at most: the setting land.pr_rounds. What the agent commits
        then is pushed. Can be stopped and started again at any time; stops by itself after `seconds`.
        """
        from fleet_tui.review import pull_requests

        watching = _Watching(self._fleet, base, self._fleet.config().pr_rounds if rounds is None else rounds)
        ids = [agent.id for agent in agents]
        last: dict[str, PullRequest] = {}
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            self._fleet.refresh()
            looked = pull_requests.look(self._fleet.store, self._fleet.with_ids(ids), base)
            for agent in self._fleet.with_ids(ids):
                for news in watching.news_of(agent, looked.get(agent.id)):
                    if on_change is not None:
                        on_change(news)
                    if news.is_over:
                        ids.remove(agent.id)
            last |= {agent: seen.request for agent, seen in looked.items()}
            if not ids or (deadline is not None and time.monotonic() + interval > deadline):
                return [last[agent.id] for agent in agents if agent.id in last]
            time.sleep(interval)

    def merged_elsewhere(self, agents: Sequence[Agent], *, base: str = "") -> list[MergedBranch]:
        """The agents whose work is in the base branch already, though it was not landed from here."""
        from fleet_tui.review import merged_elsewhere

        living = [agent for agent in agents if agent.status is not Status.KILLED]
        return merged_elsewhere.merged_elsewhere(self._fleet.store, living, base)

    def findings(self) -> list[Finding]:
        """What `doctor` says of branches that were merged elsewhere; fixed by moving the agent's worktree to the trash."""
        from functools import partial

        from fleet_tui.lifecycle.doctor import Finding

        agents = {agent.id: agent for agent in self._fleet.agents()}
        findings = []
        for merged in self.merged_elsewhere(list(agents.values())):
            agent = agents[merged.agent]
            text = f"{agent.name}: its branch {agent.branch} is {merged.how} into {merged.into}"
            if merged.has_uncommitted:
                text, fix = f"{text}, but its worktree has uncommitted changes", None
            else:
                fix = partial(self._tidy, agent) if agent.has_ended else None
            by_hand = f"fleet kill {agent.name} moves its worktree to the trash"
            findings.append(
                Finding("ok", text, "--fix moves its worktree to the trash" if fix else by_hand, fix)
            )
        return findings

    def _tidy(self, agent: Agent) -> str:
        # Its branch may have got another commit since.
        still = self.merged_elsewhere([self._fleet.current(agent)])
        if not still or still[0].has_uncommitted:
            return f"{agent.name} kept: it has changed meanwhile"
        self._fleet.kill([agent], why="land")
        return f"{agent.name} is in the trash; fleet undo restores it"


class _Watching:
    """What one `watch` has told already."""

    def __init__(self, fleet: Fleet, base: str, rounds: int) -> None:
        self._fleet = fleet
        self._base = base
        self._rounds = rounds
        self._told: dict[str, str] = {}
        self._pushed: dict[str, str] = {}
        self._unsent: dict[str, tuple[str, float]] = {}
        """The heads of rounds that were begun without a prompt, and when each was first seen."""

    def news_of(self, agent: Agent, seen: SeenRequest | None) -> list[RequestNews]:
        """What is new about an agent's request, the last one with whether it is over."""
        if seen is None:
            request = self._fleet.pull_requests.of([agent]).get(agent.id)
            if request is None:
                nothing = PullRequest(agent.id, "", 0, "closed", "", "", 0, time.time())
                return [RequestNews(nothing, "no pull request was found", is_over=True)]
            return [RequestNews(request, request.note or "it cannot be followed from here", is_over=True)]
        request = seen.request
        if request.state == "pushed":
            return [RequestNews(request, f"open it by hand: {request.url}", is_over=True)]
        if request.state in ("merged", "closed"):
            return [RequestNews(request, f"{_named(request)} is {request.state}", is_over=True)]
        if self._pushed.get(agent.id, request.head) != request.head:
            return []  # the host has not seen the push yet
        if request.checks == "passed":
            return [RequestNews(request, f"{_named(request)}: all checks have passed", is_over=True)]
        said = [self._when_new(agent, RequestNews(request, _state(request)))]
        if request.checks == "failed":
            said += self._after_failure(agent, seen)
        return [one for one in said if one is not None]

    def _when_new(self, agent: Agent, news: RequestNews) -> RequestNews | None:
        if self._told.get(agent.id) == news.text and not news.is_over:
            return None
        self._told[agent.id] = news.text
        return news

    def _after_failure(self, agent: Agent, seen: SeenRequest) -> list[RequestNews | None]:
        request = seen.request
        if request.handled == request.head:
            if not request.receipt and self._is_unsent(agent, request):
                return []
            return [self._push_fix(agent, request)]
        if request.rounds >= self._rounds:
            why = f"{_named(request)}: still red after {request.rounds} rounds"
            return [RequestNews(request, why, is_over=True)]
        return [self._send_back(agent, seen)]

    def _send_back(self, agent: Agent, seen: SeenRequest) -> RequestNews | None:
        """Send the failed checks to the agent: at most once, also if it is interrupted at any moment."""
        from fleet_tui.review.failed_checks import prompt_about

        if seen.hosted is None or seen.host is None:
            return None
        request, store = seen.request, self._fleet.store
        text = prompt_about(seen.hosted, seen.host)
        with store.transaction():
            if not store.pull_requests.claim_round(request, self._rounds, time.time()):
                return None
        try:
            receipt = self._fleet.prompts.send(agent, text)
        except FleetError as error:
            with store.transaction():
                store.pull_requests.return_round(request)
            return RequestNews(request, f"its failed checks could not be sent: {error}", is_over=True)
        with store.transaction():
            store.pull_requests.set_receipt(request, receipt.id)
        round_ = f"round {request.rounds + 1} of {self._rounds}"
        said = f"the failed checks were sent as a prompt ({round_}), {receipt.state} [{receipt.id}]"
        return RequestNews(store.pull_requests.all()[agent.id], said)

    def _is_unsent(self, agent: Agent, request: PullRequest) -> bool:
        """Whether a watch was killed between the claim of a round and its prompt; such a round is released after a while.

        A prompt is in the store before any of it is typed, so one that is not there was not sent.
        """
        from fleet_tui.review.failed_checks import heading

        began = heading(request.number, request.head)
        if any(one.text.startswith(began) for one in self._fleet.prompts.receipts(agent)):
            return False
        head, since = self._unsent.setdefault(agent.id, (request.head, time.monotonic()))
        if head != request.head:
            self._unsent[agent.id] = (request.head, time.monotonic())
        elif time.monotonic() - since > UNSENT_SECONDS:
            del self._unsent[agent.id]
            with self._fleet.store.transaction():
                self._fleet.store.pull_requests.release_round(request)
        return True

    def _push_fix(self, agent: Agent, request: PullRequest) -> RequestNews | None:
        from fleet_tui.review import pull_requests

        if agent.status not in AT_REST and not agent.has_ended:
            return None
        try:
            head = pull_requests.push_more(self._fleet.store, agent, request, self._base)
        except FleetError as error:
            return RequestNews(request, str(error), is_over=True)
        if head:
            self._pushed[agent.id] = head
            return RequestNews(request, f"{_named(request)}: pushed {head[:10]}")
        if agent.has_ended:
            return RequestNews(request, f"{agent.name} has ended, and its checks are red", is_over=True)
        return None


def _named(request: PullRequest) -> str:
    return f"#{request.number}"


def _state(request: PullRequest) -> str:
    checks = {
        "": "no checks yet",
        "running": "checks are running",
        "passed": "checks have passed",
        "failed": f"checks have failed: {request.failed}",
    }[request.checks]
    return ", ".join(filter(None, (f"#{request.number} {checks}", request.review, request.note)))
