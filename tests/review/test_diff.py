"""The diff of an agent's work, against its base, a commit and another agent."""

from __future__ import annotations

from pathlib import Path

from fleet_tui.fleet import Fleet
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import commit

__all__ = ["fleet", "module_pool", "pool"]


def test_a_diff_has_what_is_committed_and_what_is_not(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    worktree = Path(agent.worktree)
    commit(worktree, {"one.py": "a\nb\n"})
    (worktree / "two.py").write_text("c\n")

    found = fleet.review.diff(agent)

    assert [(one.path, one.kind, one.added, one.is_uncommitted) for one in found.files] == [
        ("one.py", "added", 2, False),
        ("two.py", "added", 1, True),
    ]
    assert (found.agent, found.against, found.added) == (agent.id, agent.base[:10], 3)


def test_a_diff_against_another_agent_has_what_the_two_do_not_share(fleet: Fleet, pool: AgentPool) -> None:
    one, other = pool.take(), pool.take()
    for agent, text in ((one, "same\nmine\n"), (other, "same\ntheirs\n")):
        (Path(agent.worktree) / "both.txt").write_text(text)
        (Path(agent.worktree) / "alike.txt").write_text("alike\n")

    assert [file.path for file in fleet.review.diff(one, against=other.name).files] == ["both.txt"]
    assert "-theirs\n+mine\n" in fleet.review.patch(one, against=other.name)


def test_what_the_base_got_since_is_no_change_of_the_agent(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    commit(pool.project, {"of the base.txt": "x\n"})
    (Path(agent.worktree) / "mine.txt").write_text("x\n")

    assert [file.path for file in fleet.review.diff(agent, against="HEAD").files] == ["mine.txt"]
