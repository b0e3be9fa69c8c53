"""Comparing a real batch: what is measured, in which order, and keeping the best."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Refused, UsageError
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from tests.conftest import git
from tests.git.repositories import commit

PROMPT = "exec cat"


@pytest.fixture
def batch(fleet: Fleet) -> list[Agent]:
    return fleet.fanout(3, "auth", prompt=PROMPT, profile="shell")


def write(agent: Agent, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = Path(agent.worktree) / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_a_batch_is_compared_by_what_each_agent_has_made(fleet: Fleet, batch: list[Agent]) -> None:
    one, other, idle = batch
    commit(Path(one.worktree), {"readme.txt": "one\n", "test_a.py": "def test_a():\n    pass\n"})
    write(one, {"new.py": "x\n"})
    write(other, {"readme.txt": "other\n"})

    found = fleet.comparison.of(batch)

    assert (found.batch, found.base, found.prompt, found.problem) == ("auth", "main", PROMPT, "")
    by_label = {agent.label: agent for agent in found.agents}
    first, second, third = (by_label[label] for label in "ABC")
    assert [file.path for file in first.files] == ["new.py", "readme.txt", "test_a.py"]
    assert (first.added, first.removed, first.commits, first.tests) == (4, 1, 1, 1)
    assert first.conflicts == {other.id: ("readme.txt",)}
    assert second.conflicts == {one.id: ("readme.txt",)}
    assert (first.base_conflicts, third.is_empty, third.conflicts) == ((), True, {})
    assert [agent.label for agent in found.agents] == ["B", "A", "C"]
    assert "not checked, smallest diff, merges clean" in found.ranks[other.id].reason
    assert "A and B conflict in readme.txt" in found.differences
    assert [agent.label for agent in found.sorted_by("name").agents] == ["A", "B", "C"]
    assert [agent.label for agent in found.sorted_by("files").agents] == ["C", "B", "A"]
    assert idle.id in found.ranks


@pytest.mark.slow
def test_the_result_of_a_check_decides_first_and_only_while_it_is_current(
    fleet: Fleet, batch: list[Agent]
) -> None:
    one, other, _ = batch
    write(one, {"small.txt": "x\n"})
    write(other, {"good.txt": "x\n" * 50})
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text('[land]\ncheck = "test -e good.txt"\n')

    fleet.checks.wait(fleet.checks.start(batch))

    found = fleet.comparison.of(batch)
    assert [agent.label for agent in found.agents] == ["B", "A", "C"]
    assert [agent.verdict for agent in found.agents] == ["green", "red", "red"]
    assert found.command == "test -e good.txt"
    write(other, {"more.txt": "x\n"})
    again = fleet.comparison.of(batch)
    assert {agent.label: agent.verdict for agent in again.agents} == {"A": "red", "B": "unknown", "C": "red"}


def test_what_was_there_before_the_agents_is_nobodys_work(fleet: Fleet, repository: Path) -> None:
    git(repository, "switch", "-q", "-c", "feature")
    commit(repository, {"feature.py": "x\n"})
    git(repository, "switch", "-q", "main")
    one, other = fleet.fanout(2, "more", prompt=PROMPT, profile="shell", base="feature")
    commit(Path(one.worktree), {"one.py": "a\n"})
    write(other, {"two.py": "b\n"})

    found = {agent.id: agent for agent in fleet.comparison.of([one, other]).agents}

    assert [file.path for file in found[one.id].files] == ["one.py"]
    assert [file.path for file in found[other.id].files] == ["two.py"]


def test_a_conflict_with_the_branch_to_land_on_is_found(fleet: Fleet, batch: list[Agent]) -> None:
    write(batch[0], {"readme.txt": "mine\n"})
    commit(Path(batch[0].project), {"readme.txt": "theirs\n", "elsewhere.txt": "x\n"})

    found = fleet.comparison.of(batch[:1]).agents[0]

    assert found.base_conflicts == ("readme.txt",)
    assert [file.path for file in found.files] == ["readme.txt"]


def test_comparing_changes_neither_repository_nor_worktrees(fleet: Fleet, batch: list[Agent]) -> None:
    write(batch[0], {"a.txt": "x\n"})
    write(batch[1], {"a.txt": "y\n"})
    before = (git(Path(batch[0].worktree), "status", "--porcelain"), objects(batch[0]))

    fleet.comparison.of(batch)

    assert (git(Path(batch[0].worktree), "status", "--porcelain"), objects(batch[0])) == before


def objects(agent: Agent) -> str:
    return git(Path(agent.project), "count-objects", "-v")


def test_an_agent_without_a_worktree_is_named_and_comes_last(fleet: Fleet, batch: list[Agent]) -> None:
    write(batch[1], {"a.txt": "x\n"})
    fleet.kill(batch[:1], grace=0.2)

    found = fleet.comparison.of(batch)

    assert found.agents[0].label == "B"
    assert found.ranks[batch[0].id].reason == "no worktree: it is killed"


def test_agents_of_several_projects_are_not_compared(fleet: Fleet, batch: list[Agent]) -> None:
    with pytest.raises(UsageError, match="which agents"):
        fleet.comparison.of([])


def test_keeping_one_moves_the_others_to_the_trash(fleet: Fleet, batch: list[Agent]) -> None:
    kept = fleet.comparison.keep(batch[1], batch)

    assert sorted(one.agent.name for one in kept) == ["auth-A", "auth-C"]
    assert [fleet.current(agent).status is Status.KILLED for agent in batch] == [True, False, True]
    with pytest.raises(Refused):
        fleet.comparison.keep(batch[1], batch[1:2])
    fleet.undo()
    assert not [agent for agent in map(fleet.current, batch) if agent.status is Status.KILLED]
