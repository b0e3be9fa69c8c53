"""An agent's conversation: found in the records, continued by revive, copied by fork."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused
from fleet_tui.fleet import Fleet
from fleet_tui.lifecycle import conversations
from fleet_tui.models import Agent
from fleet_tui.programs.records import folder_name
from tests.agent_pool import AgentPool, module_pool, pool
from tests.cli.commands import Cli, cli, prints
from tests.conftest import end_all, git
from tests.watched_fleet import WatchedFleet

__all__ = ["cli", "module_pool", "pool"]

CAPTURING = """
program = "echoer"
[session]
kind = "capture"
resume = ["resume", "{session}"]
fork = ["fork", "{session}", "in", "{worktree}"]
[spending]
reader = "codex"
"""
MINTING = """
program = "echoer"
[session]
kind = "mint"
start = ["begin", "{session}"]
resume = ["resume", "{session}"]
fork = ["fork", "{session}", "as", "{new_session}"]
"""
RECORDED = (
    MINTING
    + """
[spending]
reader = "claude"
"""
)


@pytest.fixture
def project(pool: AgentPool) -> Path:
    """Where these profiles can be chosen."""
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    for name, content in {"capturing": CAPTURING, "minting": MINTING, "recorded": RECORDED}.items():
        (paths.user_profiles() / f"{name}.toml").write_text(content)
    return pool.project


@pytest.fixture
def fleet(pool: AgentPool, project: Path) -> Fleet:
    return pool.fleet


def converse(home: Path, name: str, worktree: str, at: float, **meta: object) -> None:
    """Write down what codex does when a conversation begins."""
    moment = time.gmtime(at)
    folder = home / ".codex" / "sessions" / time.strftime("%Y/%m/%d", moment)
    folder.mkdir(parents=True, exist_ok=True)
    began = time.strftime("%Y-%m-%dT%H:%M:%S", moment) + f".{int(at % 1 * 1000):03d}Z"
    payload = {"id": name, "timestamp": began, "cwd": worktree, "source": "cli", "thread_source": "user"}
    line = json.dumps({"timestamp": began, "type": "session_meta", "payload": payload | meta})
    (folder / f"rollout-{name}.jsonl").write_text(line + "\n")


def looked_for(fleet: Fleet, agent: Agent) -> str:
    """The id after a search."""
    conversations.capture(fleet.store, [fleet.store.agents.get(agent.id)], at_once=True)
    return fleet.store.agents.get(agent.id).session_id


# ── finding ──


@pytest.mark.slow
def test_the_conversation_that_a_run_began_is_its_own(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    assert looked_for(fleet, agent) == ""
    now = time.time()
    converse(pool.home, "second", agent.worktree, now + 2)
    converse(pool.home, "first", agent.worktree, now + 1)
    converse(pool.home, "elsewhere", "/trees/other", now)
    converse(pool.home, "before", agent.worktree, now - 100)
    converse(pool.home, "title", agent.worktree, now, thread_source="title_generation")
    converse(pool.home, "helper", agent.worktree, now, source={"subagent": {"thread_spawn": {}}})

    assert looked_for(fleet, agent) == "first"


@pytest.mark.slow
def test_any_command_finds_it_and_none_searches_more_than_once_a_second(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = pool.take("capturing")
    fleet.agents()
    converse(pool.home, "own", agent.worktree, time.time())

    assert conversations.capture(fleet.store, [agent]) == []
    conversations._searched_at.clear()

    assert [one.session_id for one in fleet.agents() if one.id == agent.id] == ["own"]


def test_a_lost_agents_conversation_is_searched_for_once_more(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    fleet.agents()
    converse(pool.home, "own", agent.worktree, time.time())
    conversations._searched_at.clear()

    fleet.stop([agent], grace=0.2)

    assert fleet.store.agents.get(agent.id).session_id == "own"


def test_a_known_conversation_is_not_searched_for(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    converse(pool.home, "own", agent.worktree, time.time() + 1)
    assert looked_for(fleet, agent) == "own"
    converse(pool.home, "earlier", agent.worktree, time.time() + 0.1)

    assert agent.id not in [one.id for one in fleet.store.agents.without_conversation(0.0)]
    assert looked_for(fleet, agent) == "own"


@pytest.mark.slow
def test_records_of_a_program_that_is_given_its_id_are_not_searched(fleet: Fleet, pool: AgentPool) -> None:
    given, plain, other = pool.take("minting", together=4), pool.take(together=3), pool.take("capturing")

    looked_into = [one.id for one in fleet.store.agents.without_conversation(0.0)]

    assert other.id in looked_into
    assert not {given.id, plain.id} & set(looked_into)


@pytest.mark.slow
def test_restoring_a_lost_store_restores_the_conversations(repository: Path, home: Path) -> None:
    paths.user_profiles().mkdir(parents=True)
    (paths.user_profiles() / "capturing.toml").write_text(CAPTURING.replace("echoer", "cat"))
    fleet = WatchedFleet(repository)
    agent = fleet.create("fix", profile="capturing")
    converse(home, "own", agent.worktree, time.time())
    conversations._searched_at.clear()
    fleet.agents()
    fleet.close()
    for file in paths.state().glob("fleet.db*"):
        file.unlink()

    again = WatchedFleet(repository)

    again.repair()
    assert [one.session_id for one in again.agents()] == ["own"]
    end_all(again)
    again.close()


# ── going on ──


@pytest.mark.slow
def test_revive_continues_a_conversation_that_was_not_captured_yet(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    fleet.stop([agent], grace=0.2)
    converse(pool.home, "own", agent.worktree, time.time())

    revived = fleet.revive(agent)

    assert (revived.session_id, revived.argv[1:]) == ("own", ("resume", "own"))


@pytest.mark.slow
def test_a_conversation_that_was_never_begun_is_begun_by_revive(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("recorded", together=2)
    fleet.stop([agent], grace=0.2)
    revived = fleet.revive(agent)
    assert revived.argv[1:] == ("begin", agent.session_id)
    fleet.stop([revived], grace=0.2)

    folder = pool.home / ".claude" / "projects" / folder_name(str(Path(agent.worktree).resolve()))
    folder.mkdir(parents=True)
    (folder / f"{agent.session_id}.jsonl").write_text("{}\n")

    assert fleet.revive(agent).argv[1:] == ("resume", agent.session_id)


@pytest.mark.slow
def test_a_fork_without_a_prompt_is_revived_and_forked_from_the_conversation_it_copied(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = pool.take("recorded", together=2)
    with pytest.raises(Refused, match="has not begun a conversation"):
        fleet.fork(agent, pool.name())
    folder = pool.home / ".claude" / "projects" / folder_name(str(Path(agent.worktree).resolve()))
    folder.mkdir(parents=True)
    (folder / f"{agent.session_id}.jsonl").write_text("{}\n")

    copy = fleet.fork(agent, pool.name())
    again = fleet.fork(copy, pool.name())
    fleet.stop([copy], grace=0.2)

    assert again.argv[1:] == ("fork", agent.session_id, "as", again.session_id)
    assert fleet.revive(copy).argv[1:] == ("fork", agent.session_id, "as", copy.session_id)


@pytest.mark.slow
def test_starting_over_begins_another_conversation(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("minting", together=4)
    fleet.stop([agent], grace=0.2)

    revived = fleet.revive(agent, fresh=True)

    assert revived.session_id not in ("", agent.session_id)
    assert revived.argv[1:] == ("begin", revived.session_id, "x")
    fleet.stop([revived], grace=0.2)
    assert fleet.revive(agent).argv[1:] == ("resume", revived.session_id)


@pytest.mark.slow
def test_starting_over_forgets_the_captured_conversation(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    converse(pool.home, "own", agent.worktree, time.time())
    assert looked_for(fleet, agent) == "own"
    fleet.stop([agent], grace=0.2)

    revived = fleet.revive(agent, fresh=True)

    assert revived.session_id == ""
    converse(pool.home, "new", agent.worktree, time.time() + 1)
    assert looked_for(fleet, revived) == "new"


# ── forks ──


def test_a_fork_starts_from_the_last_commit_with_an_id_of_its_own(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("minting", together=4)
    worktree = Path(agent.worktree)
    (worktree / "work.txt").write_text("mine")
    git(worktree, "add", ".")
    git(worktree, "commit", "-q", "-m", "work")
    (worktree / "unsaved.txt").write_text("mine")

    fork = fleet.fork(agent, "other", prompt="go on")

    assert fork.argv[1:] == ("fork", agent.session_id, "as", fork.session_id, "go on")
    assert fork.session_id not in ("", agent.session_id)
    assert (fork.profile, fork.branch) == ("minting", "other")
    assert (Path(fork.worktree) / "work.txt").read_text() == "mine"
    assert not (Path(fork.worktree) / "unsaved.txt").exists()
    fleet.stop([fork], grace=0.2)
    assert fleet.revive(fleet.find("other")).argv[1:] == ("resume", fork.session_id)


@pytest.mark.slow
def test_a_forks_conversation_is_searched_for_in_its_own_folder(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")
    converse(pool.home, "own", agent.worktree, time.time())

    fork = fleet.fork(agent, pool.name())

    assert fork.argv[1:] == ("fork", "own", "in", fork.worktree)
    assert fork.session_id == ""
    converse(pool.home, "copy", fork.worktree, time.time())
    assert looked_for(fleet, fork) == "copy"


@pytest.mark.slow
def test_a_program_that_cannot_fork_is_named(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take(together=3)

    with pytest.raises(Refused, match="echoer cannot continue a copy") as caught:
        fleet.fork(agent, pool.name())

    assert "'echoer' has no [session] fork" in caught.value.hint


@pytest.mark.slow
def test_an_agent_without_a_conversation_cannot_be_forked(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("capturing")

    with pytest.raises(Refused, match="no known conversation"):
        fleet.fork(agent, pool.name())


@pytest.mark.slow
def test_fork_says_what_it_does_not_copy(cli: Cli, fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take("minting", together=4)
    (Path(agent.worktree) / "unsaved.txt").write_text("mine")

    done = cli("fork", agent.name, "forked", "-p", "go on")

    assert done.code == 0
    assert done.out.startswith("forked  ")
    assert f"not copied: 1 uncommitted change of {agent.name}" in done.err
    prints(fleet, fleet.find("forked"), "argument: go on")


@pytest.mark.slow
def test_an_impossible_fork_is_one_line(cli: Cli, fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take(together=3)

    refused = cli("fork", agent.name, "nothing")
    missing = cli("fork", "nobody", "nothing")

    assert (refused.code, missing.code) == (4, 3)
    assert "no [session] fork" in refused.complaint
