"""Which conversation is an agent's: found in records, gone on with by revive, copied by fork."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from fleet_tui import conversations, paths
from fleet_tui.errors import Refused
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from fleet_tui.records.record import folder_name
from tests.commands import Cli, cli, prints
from tests.conftest import end_all, git
from tests.crews import Crew, crew, ground

__all__ = ["cli", "crew", "ground"]

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
def project(crew: Crew) -> Path:
    """Where these profiles can be chosen."""
    paths.user_profiles().mkdir(parents=True, exist_ok=True)
    for name, content in {"capturing": CAPTURING, "minting": MINTING, "recorded": RECORDED}.items():
        (paths.user_profiles() / f"{name}.toml").write_text(content)
    return crew.project


@pytest.fixture
def fleet(crew: Crew, project: Path) -> Fleet:
    return crew.fleet


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
    """The id as it is once somebody has looked."""
    conversations.capture(fleet.store, [fleet.store.agent(agent.id)], at_once=True)
    return fleet.store.agent(agent.id).session_id


# ── finding ──


@pytest.mark.slow
def test_the_conversation_that_a_run_began_is_its_own(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")
    assert looked_for(fleet, agent) == ""
    now = time.time()
    converse(crew.home, "second", agent.worktree, now + 2)
    converse(crew.home, "first", agent.worktree, now + 1)
    converse(crew.home, "elsewhere", "/trees/other", now)
    converse(crew.home, "before", agent.worktree, now - 100)
    converse(crew.home, "title", agent.worktree, now, thread_source="title_generation")
    converse(crew.home, "helper", agent.worktree, now, source={"subagent": {"thread_spawn": {}}})

    assert looked_for(fleet, agent) == "first"


@pytest.mark.slow
def test_it_is_found_by_whoever_looks_at_the_fleet_and_not_more_than_once_a_second(
    fleet: Fleet, crew: Crew
) -> None:
    agent = crew.take("capturing")
    fleet.agents()
    converse(crew.home, "own", agent.worktree, time.time())

    assert conversations.capture(fleet.store, [agent]) == []
    conversations._looked_at.clear()

    assert [one.session_id for one in fleet.agents() if one.id == agent.id] == ["own"]


def test_an_agent_that_has_just_been_lost_is_looked_at_once_more(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")
    fleet.agents()
    converse(crew.home, "own", agent.worktree, time.time())
    conversations._looked_at.clear()

    fleet.stop([agent], grace=0.2)

    assert fleet.store.agent(agent.id).session_id == "own"


def test_a_conversation_that_is_known_is_not_looked_for(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")
    converse(crew.home, "own", agent.worktree, time.time() + 1)
    assert looked_for(fleet, agent) == "own"
    converse(crew.home, "earlier", agent.worktree, time.time() + 0.1)

    assert agent.id not in [one.id for one in fleet.store.without_conversation(0.0)]
    assert looked_for(fleet, agent) == "own"


@pytest.mark.slow
def test_a_program_that_is_given_its_id_is_not_looked_into(fleet: Fleet, crew: Crew) -> None:
    given, plain, other = crew.take("minting", together=4), crew.take(together=3), crew.take("capturing")

    looked_into = [one.id for one in fleet.store.without_conversation(0.0)]

    assert other.id in looked_into
    assert not {given.id, plain.id} & set(looked_into)


@pytest.mark.slow
def test_a_lost_store_comes_back_with_the_conversations(repository: Path, home: Path) -> None:
    paths.user_profiles().mkdir(parents=True)
    (paths.user_profiles() / "capturing.toml").write_text(CAPTURING.replace("echoer", "cat"))
    fleet = Fleet(repository)
    agent = fleet.create("fix", profile="capturing")
    converse(home, "own", agent.worktree, time.time())
    conversations._looked_at.clear()
    fleet.agents()
    fleet.close()
    for file in paths.state().glob("fleet.db*"):
        file.unlink()

    again = Fleet(repository)

    again.repair()
    assert [one.session_id for one in again.agents()] == ["own"]
    end_all(again)
    again.close()


# ── going on ──


@pytest.mark.slow
def test_revive_goes_on_with_what_nobody_had_looked_for_yet(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")
    fleet.stop([agent], grace=0.2)
    converse(crew.home, "own", agent.worktree, time.time())

    revived = fleet.revive(agent.name)

    assert (revived.session_id, revived.argv[1:]) == ("own", ("resume", "own"))


@pytest.mark.slow
def test_a_conversation_that_was_never_begun_is_begun_by_revive(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("recorded", together=2)
    fleet.stop([agent], grace=0.2)
    revived = fleet.revive(agent.name)
    assert revived.argv[1:] == ("begin", agent.session_id)
    fleet.stop([revived], grace=0.2)

    folder = crew.home / ".claude" / "projects" / folder_name(str(Path(agent.worktree).resolve()))
    folder.mkdir(parents=True)
    (folder / f"{agent.session_id}.jsonl").write_text("{}\n")

    assert fleet.revive(agent.name).argv[1:] == ("resume", agent.session_id)


@pytest.mark.slow
def test_a_fork_that_has_said_nothing_yet_is_revived_and_forked_from_what_it_was_copied_of(
    fleet: Fleet, crew: Crew
) -> None:
    agent = crew.take("recorded", together=2)
    with pytest.raises(Refused, match="has not begun a conversation"):
        fleet.fork(agent.name, crew.name())
    folder = crew.home / ".claude" / "projects" / folder_name(str(Path(agent.worktree).resolve()))
    folder.mkdir(parents=True)
    (folder / f"{agent.session_id}.jsonl").write_text("{}\n")

    copy = fleet.fork(agent.name, crew.name())
    again = fleet.fork(copy.name, crew.name())
    fleet.stop([copy], grace=0.2)

    assert again.argv[1:] == ("fork", agent.session_id, "as", again.session_id)
    assert fleet.revive(copy.name).argv[1:] == ("fork", agent.session_id, "as", copy.session_id)


@pytest.mark.slow
def test_starting_over_begins_another_conversation(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("minting", together=4)
    fleet.stop([agent], grace=0.2)

    revived = fleet.revive(agent.name, fresh=True)

    assert revived.session_id not in ("", agent.session_id)
    assert revived.argv[1:] == ("begin", revived.session_id, "x")
    fleet.stop([revived], grace=0.2)
    assert fleet.revive(agent.name).argv[1:] == ("resume", revived.session_id)


@pytest.mark.slow
def test_starting_over_forgets_the_conversation_that_was_captured(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")
    converse(crew.home, "own", agent.worktree, time.time())
    assert looked_for(fleet, agent) == "own"
    fleet.stop([agent], grace=0.2)

    revived = fleet.revive(agent.name, fresh=True)

    assert revived.session_id == ""
    converse(crew.home, "new", agent.worktree, time.time() + 1)
    assert looked_for(fleet, revived) == "new"


# ── forks ──


def test_a_fork_starts_from_the_last_commit_with_an_id_of_its_own(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("minting", together=4)
    worktree = Path(agent.worktree)
    (worktree / "work.txt").write_text("mine")
    git(worktree, "add", ".")
    git(worktree, "commit", "-q", "-m", "work")
    (worktree / "unsaved.txt").write_text("mine")

    fork = fleet.fork(agent.name, "other", prompt="go on")

    assert fork.argv[1:] == ("fork", agent.session_id, "as", fork.session_id, "go on")
    assert fork.session_id not in ("", agent.session_id)
    assert (fork.profile, fork.branch) == ("minting", "other")
    assert (Path(fork.worktree) / "work.txt").read_text() == "mine"
    assert not (Path(fork.worktree) / "unsaved.txt").exists()
    fleet.stop([fork], grace=0.2)
    assert fleet.revive("other").argv[1:] == ("resume", fork.session_id)


@pytest.mark.slow
def test_a_fork_whose_id_the_program_chooses_is_looked_for_in_its_own_folder(
    fleet: Fleet, crew: Crew
) -> None:
    agent = crew.take("capturing")
    converse(crew.home, "own", agent.worktree, time.time())

    fork = fleet.fork(agent.name, crew.name())

    assert fork.argv[1:] == ("fork", "own", "in", fork.worktree)
    assert fork.session_id == ""
    converse(crew.home, "copy", fork.worktree, time.time())
    assert looked_for(fleet, fork) == "copy"


@pytest.mark.slow
def test_a_program_that_cannot_fork_is_named(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take(together=3)

    with pytest.raises(Refused, match="echoer cannot go on with a copy") as caught:
        fleet.fork(agent.name, crew.name())

    assert "'echoer' has no [session] fork" in caught.value.hint


@pytest.mark.slow
def test_an_agent_without_a_conversation_cannot_be_forked(fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("capturing")

    with pytest.raises(Refused, match="no conversation that is known"):
        fleet.fork(agent.name, crew.name())


@pytest.mark.slow
def test_fork_says_what_it_does_not_copy(cli: Cli, fleet: Fleet, crew: Crew) -> None:
    agent = crew.take("minting", together=4)
    (Path(agent.worktree) / "unsaved.txt").write_text("mine")

    done = cli("fork", agent.name, "forked", "-p", "go on")

    assert done.code == 0
    assert done.out.startswith("forked  ")
    assert f"not copied: 1 uncommitted change of {agent.name}" in done.err
    prints(fleet, fleet.find("forked"), "argument: go on")


@pytest.mark.slow
def test_a_fork_that_cannot_be_made_is_one_line(cli: Cli, fleet: Fleet, crew: Crew) -> None:
    agent = crew.take(together=3)

    refused = cli("fork", agent.name, "nothing")
    missing = cli("fork", "nobody", "nothing")

    assert (refused.code, missing.code) == (4, 3)
    assert "no [session] fork" in refused.complaint
