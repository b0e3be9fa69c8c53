"""The diff of an agent's work, against its base, a commit and another agent."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fleet_tui import git
from fleet_tui.errors import NotFound, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.review import diff
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import commit, make

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


def test_a_killed_agent_is_compared_in_the_trash_and_after_that_by_what_was_saved(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = pool.take()
    commit(Path(agent.worktree), {"committed.txt": "x\n"})
    (Path(agent.worktree) / "loose.txt").write_text("y\n")
    fleet.kill([agent])

    found = fleet.review.diff(agent)
    assert [(one.path, one.is_uncommitted) for one in found.files] == [
        ("committed.txt", False),
        ("loose.txt", True),
    ]
    assert fleet.review.file_diff(agent, "loose.txt").hunks[0].lines[0].text == "y"

    list(fleet.trash.empty([fleet.current(agent)]))
    assert [one.path for one in fleet.review.diff(agent).files] == ["committed.txt", "loose.txt"]
    assert "+y\n" in fleet.review.patch(agent, files=["loose.txt"])


def test_without_a_worktree_the_branch_is_compared(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    commit(Path(agent.worktree), {"committed.txt": "x\n"})
    fleet.stop([agent])
    shutil.rmtree(agent.worktree)

    assert [one.path for one in fleet.review.diff(agent).files] == ["committed.txt"]


def test_hunks_are_of_the_file_as_it_is(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    file = Path(agent.worktree) / "f.txt"
    for text in ("one\n", "two\n", "six\n"):
        file.write_text(text)
        assert fleet.review.file_diff(agent, "f.txt").hunks[0].lines[0].text == text.strip()
    file.unlink()
    with pytest.raises(NotFound, match="has not changed"):
        fleet.review.file_diff(agent, "f.txt")


def test_hunks_are_read_from_the_last_comparison_while_the_file_stays_the_same(
    fleet: Fleet, pool: AgentPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = pool.take()
    for name in ("f.txt", "g.txt"):
        (Path(agent.worktree) / name).write_text("x\n")
    monkeypatch.setattr(diff, "TICK_SECONDS", -60.0)
    found = fleet.review.diff(agent)
    monkeypatch.setattr(git, "take_snapshot", None)

    assert fleet.review.file_diff(agent, "f.txt").file == replace(found.files[0])
    monkeypatch.setattr(diff, "TICK_SECONDS", 60.0)
    with pytest.raises(TypeError):
        fleet.review.file_diff(agent, "f.txt")


@pytest.mark.slow
def test_files_and_folders_can_be_selected(fleet: Fleet, pool: AgentPool) -> None:
    agent = pool.take()
    worktree = Path(agent.worktree)
    text = "".join(f"{number}\n" for number in range(20))
    commit(worktree, {"old/name.txt": text, "src/a": "a\n", "srcs": "b\n", "*": "c\n"})
    base = commit(worktree, {})
    (worktree / "new").mkdir()
    (worktree / "old/name.txt").rename(worktree / "new/name.txt")
    for name in ("src/a", "srcs", "*"):
        (worktree / name).write_text("changed\n")

    def selected(*names: str) -> list[str]:
        found = fleet.review.diff(agent, against=base, files=names)
        patch = fleet.review.patch(agent, against=base, files=names)
        assert patch.count("diff --git") == len(found.files)
        assert bool(fleet.review.stat(agent, against=base, files=names)) == bool(found.files)
        return [one.path for one in found.files]

    assert selected("src") == selected("./src/") == selected(f"{worktree}/src") == ["src/a"]
    assert selected("*") == ["*"]
    assert selected("old") == selected("new/name.txt") == ["new/name.txt"]
    assert selected("nothing") == []
    assert selected(".") == ["*", "new/name.txt", "src/a", "srcs"]


def test_agents_of_two_repositories_are_not_compared(fleet: Fleet, pool: AgentPool, tmp_path: Path) -> None:
    agent = pool.take()
    elsewhere = make(tmp_path / "elsewhere")
    other = Fleet(elsewhere)
    try:
        stranger = other.create("stranger", prompt="x", quick=True)
        with pytest.raises(Refused, match="another repository"):
            fleet.review.diff(agent, against=stranger.id)
    finally:
        other.kill(other.agents())
        other.close()
