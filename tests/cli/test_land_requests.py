"""`fleet land --strategy pr` and `--watch`, with a real remote and a scripted `gh`."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.cli.commands import FLEET, Cli, cli
from tests.fleet.test_landing import configure, hook, on_main, take, tip
from tests.git.repositories import call, commit
from tests.scripted_hosts import ScriptedHost, run

__all__ = ["cli", "fleet", "module_pool", "on_main", "pool", "project"]


@pytest.fixture
def host(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedHost:
    return ScriptedHost(tmp_path, project, monkeypatch).install()


def test_a_pull_request_is_previewed_checked_pushed_and_opened_and_nothing_is_merged_here(
    cli: Cli, fleet: Fleet, pool: AgentPool, project: Path, host: ScriptedHost
) -> None:
    configure('[land]\ncheck = "ls > $HOME/checked; test -f two.py -a -f main.py"\npr_draft = true\n')
    agent = take(pool, {"one.py": "a\n"})
    (Path(agent.worktree) / "two.py").write_text("b\n")
    old = commit(project, {"main.py": "c\n"}, "Move main")
    (project / "one.py").write_text("mine, and in the way of a merge\n")
    (project / "main.py").write_text("dirty\n")
    hook(project, "pre-push", "exit 0")

    shown = cli.ok("land", agent.name, "-s", "pr", "--dry-run").splitlines()
    ran = cli("land", agent.name, "-s", "pr", "--yes", "-m", "--title\n\nWhat it does")

    assert "  4 Push the branch, and open a pull request into main" in shown
    assert "      to origin (github.com/o/n), with gh, as a draft" in shown
    assert "      pre-push runs" in shown
    assert not [line for line in shown if "Tidy" in line or "✗" in line]
    assert (ran.code, ran.out) == (0, f"{agent.name}  #1  https://github.com/o/n/pull/1\n")
    [request] = host.requests
    assert (request["title"], request["body"], request["draft"]) == ("--title", "What it does", True)
    assert "two.py" in (pool.home / "checked").read_text()
    assert host.tip(agent.branch) == call(Path(agent.worktree), "rev-parse", "HEAD")
    assert call(Path(agent.worktree), "show", "-s", "--format=%B", "HEAD").split("\n\n") == [
        "--title", "What it does", f"Fleet-Agent: {agent.name} (echoer)",
    ]  # fmt: skip
    assert call(Path(agent.worktree), "show", "--name-only", "--format=", "HEAD") == "two.py"
    assert (tip(project), fleet.current(agent).status is Status.KILLED) == (old, False)
    assert call(project, "diff", "--name-only") == "main.py"
    assert "#1" in cli.ok("list")


def test_a_commit_that_was_made_during_the_check_is_not_pushed_unchecked(
    cli: Cli, pool: AgentPool, host: ScriptedHost
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    configure(f'[land]\ncheck = "git -C {agent.worktree} commit -q --allow-empty -m more"\n')

    ran = cli("land", agent.name, "-s", "pr", "--yes")

    assert ran.code != 0
    assert "has got another commit meanwhile" in ran.err
    assert host.requests == []


@pytest.mark.slow
def test_several_requests_are_independent_of_each_other(
    cli: Cli, pool: AgentPool, host: ScriptedHost
) -> None:
    one, other = take(pool, {"same.py": "a\n"}), take(pool, {"same.py": "b\n"})

    ran = cli("land", one.name, other.name, "-s", "pr", "--yes", "--json")

    assert ran.code == 0
    assert [one["pull_request"][-1] for one in json.loads(ran.out)["landings"]] == ["1", "2"]


@pytest.mark.slow
def test_a_conflict_is_a_warning_and_the_work_alone_is_checked(
    cli: Cli, pool: AgentPool, project: Path, host: ScriptedHost
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    commit(project, {"one.py": "b\n"})
    configure('[land]\ncheck = "grep -x a one.py"\n')

    shown = cli.ok("land", agent.name, "-s", "pr", "--dry-run").splitlines()
    ran = cli("land", agent.name, "-s", "pr", "--yes")

    assert "  1 Try the merge into main  moved by 1 since the branch" in shown
    assert "      A one.py  +1 −0" in shown
    warning = "1 file conflicts with main: one.py; the pull request cannot be merged until that is resolved"
    assert f"  ! {warning}" in shown
    assert (ran.code, host.requests[0]["branch"]) == (0, agent.branch)


@pytest.mark.slow
def test_a_red_check_and_a_missing_remote_push_nothing(
    cli: Cli, pool: AgentPool, project: Path, host: ScriptedHost
) -> None:
    agent, other = take(pool, {"one.py": "a\n"}), take(pool, {"two.py": "a\n"})
    configure('[land]\ncheck = "false"\nstrategy = "pr"\n')
    assert cli("land", agent.name, "--yes").code == 15
    call(project, "config", "--remove-section", "remote.origin")
    assert "has no remote to push to" in cli("land", other.name, "--yes", "--no-check").err
    assert (host.tip(agent.branch), host.calls) == ("", [])


@pytest.mark.slow
def test_without_gh_the_page_is_printed(cli: Cli, pool: AgentPool, host: ScriptedHost, project: Path) -> None:
    call(project, "config", "remote.origin.url", "git@gitlab.com:o/n.git")
    agent = take(pool, {"one.py": "a\n"})

    said = cli.ok("land", agent.name, "-s", "pr", "--yes")

    assert said.startswith(
        f"{agent.name}  pushed; open a pull request at https://gitlab.com/o/n/-/merge_requests/new?"
    )
    assert said.endswith("(glab is not installed)\n")
    assert host.tip(agent.branch)


def red(host: ScriptedHost, agent: Agent) -> None:
    host.set(logs={"1": "job\tstep\tTypeError\n"})
    host.change(agent.branch, head=host.tip(agent.branch), checks=[run("build", "FAILURE")])


def watch_until(agent: Agent, last: str) -> list[str]:
    """Run `fleet land --watch` until it prints a line, and press Ctrl+C."""
    command = [str(FLEET), "land", agent.name, "--watch"]
    with subprocess.Popen(command, cwd=agent.project, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout is not None
        said = []
        for line in watching.stdout:
            said.append(line.rstrip("\n").removeprefix(f"{agent.name}  "))
            if last in line:
                watching.send_signal(signal.SIGINT)
                break
        assert watching.wait(20) == 130
    return said


@pytest.mark.slow
def test_a_watch_sends_failed_checks_back_and_goes_on_where_it_was(
    cli: Cli, fleet: Fleet, pool: AgentPool, host: ScriptedHost
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    cli.ok("land", agent.name, "-s", "pr", "--yes")
    red(host, agent)

    first = watch_until(agent, "sent as a prompt")
    again = watch_until(agent, "have failed")

    assert first[0] == "#1 checks have failed: build"
    assert first[1].startswith("the failed checks were sent as a prompt (round 1 of 3), ")
    assert again == ["#1 checks have failed: build"]
    assert len([one for one in fleet.prompts.receipts(agent) if "TypeError" in one.text]) == 1
    fleet.stop([agent], grace=0.2)
    ran = cli("land", agent.name, "--watch")
    assert (ran.code, ran.complaint.split(" (")[0]) == (15, f"fleet: the checks of {agent.name} are red")
    host.change(agent.branch, state="MERGED")
    assert cli.ok("land", agent.name, "--watch") == f"{agent.name}  #1 is merged\n"


def test_watch_needs_requests(cli: Cli, pool: AgentPool, host: ScriptedHost) -> None:
    agent = take(pool, {"one.py": "a\n"})

    assert "add: --strategy pr" in cli("land", agent.name, "--watch", "--yes").complaint
    assert "leave out --json" in cli("land", agent.name, "-s", "pr", "--watch", "--json").complaint
    assert host.calls == []
