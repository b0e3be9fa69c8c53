"""Pull requests of agents' branches, with a real remote and scripted programs of code hosts."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused
from fleet_tui.fleet import Fleet, pull_requests
from fleet_tui.fleet.pull_requests import RequestNews
from fleet_tui.models import Agent, Receipt, Status
from fleet_tui.review import host_program
from fleet_tui.review.failed_checks import MOST_LINES, heading
from fleet_tui.work import MergedBranch, PullRequest
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.cli.commands import FLEET
from tests.git.repositories import call, commit
from tests.scripted_hosts import ScriptedHost, run

__all__ = ["fleet", "module_pool", "pool"]


@pytest.fixture
def host(pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedHost:
    return ScriptedHost(tmp_path, pool.project, monkeypatch)


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    """An agent with a commit."""
    found = pool.take()
    commit(Path(found.worktree), {f"{found.name}.txt": "x\n"})
    return found


def tip(agent: Agent) -> str:
    return call(Path(agent.worktree), "rev-parse", "HEAD")


# ── opening ──


def test_a_request_is_opened_with_the_text_of_the_user_and_found_again(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install()
    title, body = "--draft; $(touch x) `y`\n second line", "--repo=evil\n\nÜber alles\n"

    made = fleet.pull_requests.open(agent, title=title, body=body)

    [request] = host.requests
    assert (made.number, made.state, made.url) == (1, "open", "https://github.com/o/n/pull/1")
    assert (request["title"], request["body"]) == ("--draft; $(touch x) `y` second line", body)
    assert (request["branch"], request["base"], request["draft"]) == (agent.branch, "main", False)
    assert host.tip(agent.branch) == tip(agent)
    commit(Path(agent.worktree), {"more.txt": "x\n"})
    assert fleet.pull_requests.open(agent, title="another").number == 1
    assert host.tip(agent.branch) == tip(agent)
    assert host.verbs() == ["pr list", "pr create", "pr list"]
    assert "s3cret" not in str([one["argv"] for one in host.calls])


def test_a_program_gets_the_users_tokens_no_repository_and_no_terminal(
    fleet: Fleet, agent: Agent, host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.install()
    monkeypatch.setenv("GH_TOKEN", "theirs")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GH_FORCE_TTY", "80")

    fleet.pull_requests.refresh([agent])

    [listed] = host.calls
    assert listed["cwd"] == "/"
    assert (listed["env"]["GH_TOKEN"], listed["env"]["GH_PROMPT_DISABLED"]) == ("theirs", "1")
    assert not {"GIT_DIR", "GH_FORCE_TTY"} & listed["env"].keys()


def test_a_request_of_a_fork_names_its_owner(
    fleet: Fleet, agent: Agent, host: ScriptedHost, pool: AgentPool
) -> None:
    host.install()
    call(pool.project, "remote", "add", "fork", "https://github.com/me/n.git")
    call(pool.project, "config", "remote.fork.pushurl", f"file://{host.bare}")
    call(pool.project, "config", "remote.pushDefault", "fork")
    host.add(agent.branch, owner="o")
    try:
        made = fleet.pull_requests.open(agent, draft=True)
    finally:
        call(pool.project, "remote", "remove", "fork")

    assert made.number == 2
    assert (host.requests[0]["owner"], host.requests[0]["draft"]) == ("me", True)
    assert "--repo" in host.calls[-1]["argv"]
    assert "github.com/o/n" in host.calls[-1]["argv"]


def test_without_commits_or_with_a_refusing_remote_nothing_is_opened(
    fleet: Fleet, pool: AgentPool, agent: Agent, host: ScriptedHost
) -> None:
    host.install()
    idle = pool.take()
    with pytest.raises(Refused, match="no commits to push"):
        fleet.pull_requests.open(idle)
    hook = host.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho protected\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(Refused, match=r"origin refuses .*: protected"):
        fleet.pull_requests.open(agent)

    assert (host.calls, fleet.pull_requests.of([agent, idle])) == ([], {})


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("git@github.com:o/n.git", "https://github.com/o/n/compare/main...{}?expand=1"),
        ("https://github.example.org/o/n", "https://github.example.org/o/n/compare/main...{}?expand=1"),
        (
            "https://gitlab.com/g/s/n.git",
            "https://gitlab.com/g/s/n/-/merge_requests/new?merge_request%5Bsource_branch%5D={}"
            "&merge_request%5Btarget_branch%5D=main",
        ),
        ("ssh://git@codeberg.org/o/n.git", "https://codeberg.org/o/n/compare/main...{}"),
        ("https://bitbucket.org/o/n", "https://bitbucket.org/o/n/pull-requests/new?source={}&dest=main"),
        ("https://code.example.org/o/n", "https://code.example.org/o/n/new/request"),
        ("/srv/git/n.git", ""),
    ],
)
def test_without_a_program_the_branch_is_pushed_and_the_page_to_open_it_is_returned(
    fleet: Fleet, agent: Agent, host: ScriptedHost, pool: AgentPool, url: str, page: str
) -> None:
    call(pool.project, "config", "remote.origin.url", url)
    hook = host.bare / "hooks" / "post-receive"
    hook.write_text("#!/bin/sh\necho see https://evil.example/x https://code.example.org/o/n/new/request\n")
    hook.chmod(0o755)

    made = fleet.pull_requests.open(agent)

    assert (made.state, made.number, made.url) == ("pushed", 0, page.format(agent.branch))
    assert made.note
    assert host.tip(agent.branch) == tip(agent)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behavior", "note"),
    [
        (
            {"fail": {"pr create": "\x1b[31mHTTP 403\x1b[0m: no\naccess\n"}},
            "gh pr create: HTTP 403: no access",
        ),
        ({"print": {"pr create": ["nothing\n", 1]}}, "gh pr create printed no address of a pull request"),
        ({"print": {"pr list": ["<html>\x1b[2J", 1]}}, "gh pr answered something that is not JSON"),
        (
            {"print": {"pr list": ['[{"number": "x"}]', 1]}},
            "gh pr list answered something that cannot be read",
        ),
        ({"print": {"pr list": ["{}", 1]}}, "gh pr list answered no list"),
        ({"print": {"pr list": ["[" * 1000, 9000]}}, "gh pr list printed more than 8 MB"),
        ({"hang": ["pr list"]}, "gh pr list took more than 1 seconds"),
    ],
)
def test_a_program_that_fails_leaves_a_pushed_branch_and_one_line(
    fleet: Fleet,
    agent: Agent,
    host: ScriptedHost,
    monkeypatch: pytest.MonkeyPatch,
    behavior: dict[str, object],
    note: str,
) -> None:
    host.install().set(**behavior)
    if "hang" in behavior:
        monkeypatch.setattr(host_program, "SECONDS", 1.0)

    made = fleet.pull_requests.open(agent)

    assert (made.state, made.note) == ("pushed", note)
    assert made.url.startswith("https://github.com/o/n/compare/main...")


def test_merge_requests_are_opened_and_read_on_gitlab(
    fleet: Fleet, agent: Agent, host: ScriptedHost, pool: AgentPool
) -> None:
    host.install("glab", "gitlab.example.org")

    made = fleet.pull_requests.open(agent, title="--x", body="text", draft=True)

    assert (made.number, host.requests[0]["title"], host.requests[0]["body"]) == (1, "Draft: --x", "text")
    asked = [{"mergeRequestInteraction": {"reviewState": "REQUESTED_CHANGES"}}]
    jobs = [{"id": "gid://gitlab/Ci::Build/5", "name": "lint", "webPath": "/g/n/-/jobs/5"}]
    host.change(
        agent.branch,
        head=tip(agent),
        reviewers=asked,
        pipeline={"status": "RUNNING", "jobs": {"nodes": jobs}},
    )
    [seen] = fleet.pull_requests.refresh([agent])
    assert (seen.checks, seen.review, seen.failed) == ("running", "changes requested", "")
    host.change(agent.branch, pipeline={"status": "FAILED", "jobs": {"nodes": jobs}})
    host.set(logs={"5": "fetching\r\nbad\rworse\nTypeError\n"})
    follow(fleet, agent, nothing)
    sent = request_of(fleet, agent)
    assert (sent.checks, sent.failed, sent.rounds) == ("failed", "lint", 1)
    assert "worse\nTypeError" in fleet.prompts.receipt(sent.receipt).text


def test_a_host_with_an_odd_name_is_asked_through_the_program_that_knows_it(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install("gh", "code.corp.example").set(hosts=["code.corp.example"])

    assert fleet.pull_requests.open(agent).state == "open"


# ── looking ──


def test_one_call_looks_at_all_requests_of_a_repository(
    fleet: Fleet, pool: AgentPool, host: ScriptedHost
) -> None:
    host.install()
    one, two, three = pool.take(), pool.take(), pool.take()
    for each in (one, two):
        commit(Path(each.worktree), {"x.txt": each.name})
    host.add(
        one.branch, head=tip(one), checks=[run("build", "SUCCESS"), run("lint", "SKIPPED")], review="APPROVED"
    )
    host.add(two.branch, head=tip(two), state="MERGED")
    host.add(three.branch, owner="stranger")

    seen = {request.agent: request for request in fleet.pull_requests.refresh([one, two, three])}

    assert host.verbs() == ["pr list"]
    assert (seen[one.id].checks, seen[one.id].review, seen[one.id].head) == ("passed", "approved", tip(one))
    assert seen[two.id].state == "merged"
    assert three.id not in seen
    assert fleet.pull_requests.of([one, two, three]) == seen


def test_an_ended_request_of_a_branch_with_the_same_name_is_not_the_agents(
    fleet: Fleet, pool: AgentPool, agent: Agent, host: ScriptedHost
) -> None:
    host.install()
    host.add(agent.branch, state="MERGED", head=agent.base)
    assert fleet.pull_requests.refresh([agent]) == []
    host.add(agent.branch, state="CLOSED", head="c0ffee" * 6 + "abcd")
    assert fleet.pull_requests.refresh([agent]) == []
    assert fleet.pull_requests.open(agent).number == 3


STATUS = {"__typename": "StatusContext", "context": "ci/x", "targetUrl": "https://ci.example/1"}


@pytest.mark.parametrize(
    ("checks", "state", "failed"),
    [
        ([], "", ""),
        ([run("a", "FAILURE"), run("b")], "running", "a"),
        ([run("a", "FAILURE"), run("b", "SUCCESS")], "failed", "a"),
        (
            [
                run("a", "CANCELLED", at="2026-01-01T00:00:00Z"),
                run("a", "SUCCESS", at="2026-01-02T00:00:00Z"),
            ],
            "passed",
            "",
        ),
        ([run("a", "SUCCESS"), STATUS | {"state": "PENDING"}], "running", ""),
        ([run("a", "NEUTRAL"), STATUS | {"state": "ERROR"}], "failed", "ci/x"),
        ([run("\x1b[2Ja\nb", "TIMED_OUT")], "failed", "a b"),
    ],
)
def test_checks_are_red_only_once_all_have_ended(
    fleet: Fleet, agent: Agent, host: ScriptedHost, checks: list[dict[str, str]], state: str, failed: str
) -> None:
    host.install()
    host.add(agent.branch, head=tip(agent), checks=checks)

    [seen] = fleet.pull_requests.refresh([agent])

    assert (seen.checks, seen.failed.replace("\N{REPLACEMENT CHARACTER}[2J", "")) == (state, failed)


def test_a_host_that_cannot_be_asked_leaves_what_was_last_seen_and_says_why(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install()
    before = fleet.pull_requests.open(agent)
    host.set(fail={"pr list": "HTTP 502\n"})

    [seen] = fleet.pull_requests.refresh([agent])

    assert (seen.number, seen.state, seen.at) == (before.number, "open", before.at)
    assert seen.note == "gh pr list: HTTP 502"
    host.set(fail={})
    assert fleet.pull_requests.refresh([agent])[0].note == ""


# ── following ──


class Enough(Exception):
    """Ends a watch that would go on."""


def follow(fleet: Fleet, agent: Agent, *steps: Callable[[], object], rounds: int = 3) -> list[str]:
    """Watch, and do one step after each news; the watch ends with itself, or after the last step."""
    said: list[str] = []
    left = list(steps)

    def on_change(news: RequestNews) -> None:
        said.append(news.text)
        if left:
            left.pop(0)()
        elif not news.is_over:
            raise Enough

    with suppress(Enough):
        fleet.pull_requests.watch([agent], rounds=rounds, interval=0.02, seconds=15.0, on_change=on_change)
    return said


def request_of(fleet: Fleet, agent: Agent) -> PullRequest:
    return fleet.pull_requests.of([agent])[agent.id]


def sent_to(fleet: Fleet, agent: Agent) -> list[Receipt]:
    """The prompts about checks."""
    return [one for one in fleet.prompts.receipts(agent) if "The checks of pull request" in one.text]


def nothing() -> None:
    """A step in which nothing happens."""


def test_red_checks_go_back_once_per_commit_and_the_fix_is_pushed_until_all_is_green(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install().set(logs={"7": "build\tRun\t2026-01-01T00:00:00.0Z \x1b[31mTypeError\x1b[0m\x07 ```x\n"})
    fleet.pull_requests.open(agent)
    first = tip(agent)
    host.change(agent.branch, head=first, checks=[run("build", "FAILURE", job=7), run("lint")])
    red = [run("build", "FAILURE", job=7), run("lint", "SUCCESS")]

    running, failed, sent = follow(fleet, agent, lambda: host.change(agent.branch, checks=red), nothing)

    assert (running, failed) == ("#1 checks are running", "#1 checks have failed: build")
    assert sent.startswith("the failed checks were sent as a prompt (round 1 of 3), ")
    seen = request_of(fleet, agent)
    assert (seen.rounds, seen.handled) == (1, first)
    [receipt] = sent_to(fleet, agent)
    assert receipt.id == seen.receipt
    assert f"pull request #1 have failed on commit {first[:10]}: build." in receipt.text
    assert "\n````\nTypeError ```x\n````\n" in receipt.text
    assert "\x1b" not in receipt.text

    # Somebody starts the watch again: nothing is sent twice. Then the agent commits a fix.
    fleet.wait([agent], until=[Status.IDLE, Status.DONE], seconds=20)
    commit(Path(agent.worktree), {"fix.txt": "x\n"})
    fixed = tip(agent)

    def see_fix() -> None:
        assert host.tip(agent.branch) == fixed
        host.change(agent.branch, head=fixed, checks=[run("build", "SUCCESS")])

    assert follow(fleet, agent, nothing, see_fix) == [
        "#1 checks have failed: build",
        f"#1: pushed {fixed[:10]}",
        "#1: all checks have passed",
    ]
    assert len(sent_to(fleet, agent)) == 1


@pytest.mark.slow
def test_rounds_end(fleet: Fleet, agent: Agent, host: ScriptedHost) -> None:
    host.install().set(logs={"1": "x\n"})
    fleet.pull_requests.open(agent)
    for number in (1, 2):
        host.change(agent.branch, head=f"{number}" * 40, checks=[run("build", "FAILURE")])
        follow(fleet, agent, nothing, rounds=2)
        assert request_of(fleet, agent).rounds == number
    host.change(agent.branch, head="3" * 40)

    assert follow(fleet, agent, nothing, rounds=2)[-1] == "#1: still red after 2 rounds"
    assert len(sent_to(fleet, agent)) == 2


@pytest.mark.slow
def test_two_watches_send_a_commits_checks_once(fleet: Fleet, agent: Agent, host: ScriptedHost) -> None:
    host.install().set(logs={"1": "x\n"})
    fleet.pull_requests.open(agent)
    host.change(agent.branch, head=tip(agent), checks=[run("build", "FAILURE")])

    with ThreadPoolExecutor(3) as together:
        list(together.map(lambda _: watched(Path(agent.project), agent), range(3)))

    assert len(sent_to(fleet, agent)) == 1


def watched(project: Path, agent: Agent) -> None:
    own = Fleet(project)
    assert follow(own, agent)
    own.close()


@pytest.mark.slow
def test_a_round_whose_watch_was_killed_before_its_prompt_is_begun_again(
    fleet: Fleet, agent: Agent, host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.install().set(logs={"1": "x\n"})
    fleet.pull_requests.open(agent)
    host.change(agent.branch, head=tip(agent), checks=[run("build", "FAILURE")])
    [seen] = fleet.pull_requests.refresh([agent])
    with fleet.store.transaction():
        assert fleet.store.pull_requests.claim_round(seen, 1, 0.0)
    monkeypatch.setattr(pull_requests, "UNSENT_SECONDS", 0.2)

    said = follow(fleet, agent, nothing, rounds=1)

    assert [line.split(" (")[0] for line in said] == [
        "#1 checks have failed: build",
        "the failed checks were sent as a prompt",
    ]
    assert (len(sent_to(fleet, agent)), request_of(fleet, agent).rounds) == (1, 1)


@pytest.mark.slow
def test_a_watch_that_is_killed_at_any_moment_sends_a_commits_checks_once(
    fleet: Fleet, agent: Agent, host: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.install().set(logs={"1": "x\n"})
    fleet.pull_requests.open(agent)
    monkeypatch.setattr(pull_requests, "UNSENT_SECONDS", 0.2)
    with paths.user_config().open("a") as settings:
        settings.write("[land]\npr_rounds = 100\n")
    chance = random.Random(12)
    for number in range(1, 21):
        head = f"{number:02x}" * 20
        host.change(agent.branch, head=head, checks=[run("build", "FAILURE")])
        with subprocess.Popen([FLEET, "land", agent.name, "--watch"], cwd=agent.project) as watching:
            with suppress(subprocess.TimeoutExpired):
                watching.wait(chance.uniform(0.3, 1.2))
            watching.kill()
        seen = request_of(fleet, agent)
        if not seen.receipt or seen.handled != head:
            follow(fleet, agent, nothing, rounds=100)
        about = heading(1, head)
        assert [one.text.startswith(about) for one in sent_to(fleet, agent)].count(True) == 1


def test_an_agent_that_has_ended_gets_nothing_and_its_round_is_not_counted(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install().set(logs={"1": "x\n"})
    fleet.pull_requests.open(agent)
    host.change(agent.branch, head=tip(agent), checks=[run("build", "FAILURE")])
    fleet.stop([agent], grace=0.2)

    said = follow(fleet, agent, nothing)

    assert said[-1].startswith("its failed checks could not be sent: ")
    assert f"fleet revive {agent.name}" in said[-1]
    assert (request_of(fleet, agent).rounds, request_of(fleet, agent).handled) == (0, "")


@pytest.mark.parametrize(("state", "said"), [("MERGED", "#1 is merged"), ("CLOSED", "#1 is closed")])
def test_a_watch_ends_with_its_request(
    fleet: Fleet, agent: Agent, host: ScriptedHost, state: str, said: str
) -> None:
    host.install()
    fleet.pull_requests.open(agent)
    host.change(agent.branch, state=state)

    assert follow(fleet, agent) == [said]


def test_there_is_nothing_to_watch_without_a_request_or_with_a_page_to_open(
    fleet: Fleet, pool: AgentPool, agent: Agent, host: ScriptedHost
) -> None:
    host.install().set(fail={"pr create": "no\n"})
    assert follow(fleet, agent) == ["no pull request was found"]
    made = fleet.pull_requests.open(agent)
    assert follow(fleet, agent) == [f"open it by hand: {made.url}"]


@pytest.mark.slow
def test_a_log_that_cannot_be_read_or_is_huge_is_no_obstacle(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install().set(fail={"run view": "log not found\n"})
    fleet.pull_requests.open(agent)
    host.change(agent.branch, head="1" * 40, checks=[run("build", "FAILURE")])
    follow(fleet, agent, nothing)
    host.set(fail={}, print={"run view": ["a line\tof\t2026-01-01T00:00:00.0Z the log\n", 100_000]})
    host.change(agent.branch, head="2" * 40)
    follow(fleet, agent, nothing)

    unread, huge = (receipt.text for receipt in sent_to(fleet, agent))
    assert "(its log could not be read: gh run view: log not found)" in unread
    assert huge.count("the log\n") == MOST_LINES
    assert len(huge) < 3000


# ── merged elsewhere ──


@pytest.mark.slow
def test_branches_that_were_merged_elsewhere_are_found_and_tidied_by_doctor(
    fleet: Fleet, pool: AgentPool, host: ScriptedHost
) -> None:
    merged, squashed, dirty, open_ = (pool.take() for _ in range(4))
    for each in (merged, squashed, dirty, open_):
        commit(Path(each.worktree), {f"{each.name}.txt": f"{each.name}\n"})
    (Path(dirty.worktree) / "loose.txt").write_text("x\n")
    clone = host.bare.parent / "clone"
    for each in (merged, squashed, dirty):
        call(Path(each.worktree), "push", "--quiet", "origin", each.branch)
    call(host.bare.parent, "clone", "--quiet", str(host.bare), str(clone))
    commit(clone, {"other.txt": "x\n"})
    call(clone, "merge", "--quiet", "--no-edit", f"origin/{merged.branch}", f"origin/{dirty.branch}")
    call(clone, "merge", "--quiet", "--squash", f"origin/{squashed.branch}")
    commit(clone, {"third.txt": "x\n"})
    call(clone, "push", "--quiet", "origin", "main")
    call(pool.project, "fetch", "--quiet", str(host.bare), "main:refs/remotes/origin/main")

    found = fleet.pull_requests.merged_elsewhere([merged, squashed, dirty, open_])

    assert found == [
        MergedBranch(merged.id, "origin/main", "merged", has_uncommitted=False),
        MergedBranch(squashed.id, "origin/main", "squashed", has_uncommitted=False),
        MergedBranch(dirty.id, "origin/main", "merged", has_uncommitted=True),
    ]
    fleet.stop([merged, dirty], grace=0.2)
    findings = {one.text.split(":")[0]: one for one in fleet.examine() if "into origin/main" in one.text}
    assert findings.keys() == {merged.name, squashed.name, dirty.name}
    assert findings[squashed.name].fix is None
    assert findings[squashed.name].remedy == f"fleet kill {squashed.name} moves its worktree to the trash"
    assert findings[dirty.name].fix is None
    fix = findings[merged.name].fix
    assert fix is not None
    assert fix() == f"{merged.name} is in the trash; fleet undo restores it"
    [(back, _)] = fleet.undo()
    assert (back.id, (Path(merged.worktree) / f"{merged.name}.txt").exists()) == (merged.id, True)


def test_a_merged_request_counts_only_with_the_last_commit(
    fleet: Fleet, agent: Agent, host: ScriptedHost
) -> None:
    host.install()
    fleet.pull_requests.open(agent)
    host.change(agent.branch, state="MERGED", head=tip(agent))
    fleet.pull_requests.refresh([agent])
    assert [one.into for one in fleet.pull_requests.merged_elsewhere([agent])] == ["#1"]
    commit(Path(agent.worktree), {"more.txt": "x\n"})
    assert fleet.pull_requests.merged_elsewhere([agent]) == []
