"""When the dashboard's watch lets the radar look again, and what it says of the selected agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui.faces.conflict_wording import conflict_prompt, marks
from fleet_tui.faces.live import LiveData
from fleet_tui.faces.observer.conflict_watch import CHECK_SECONDS, ConflictWatch
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.work import Conflict, ConflictingFile, ConflictPlace
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import commit
from tests.tui import fleet_states

__all__ = ["fleet", "module_pool", "pool"]

ONE = fleet_states.agent("task-A", Status.WORKING, batch="b")
OTHER = fleet_states.agent("task-B", Status.WORKING, batch="b")
ELSEWHERE = fleet_states.agent("single", Status.WORKING, batch="c")


def refuse() -> Fleet:
    raise AssertionError("asking reads nothing")


def asked(
    watch: ConflictWatch, now: float, *agents: Agent, printed: float = 0.0, count: object = None
) -> list[str]:
    """The names of the agents that are queued; the check of them ends at once."""
    found = watch.ask(agents, {ONE.id: printed}, {ONE.id: count}, now)
    for agent in found:
        watch._waiting.discard(agent.project)
        watch._rests_until[agent.project] = now + CHECK_SECONDS
    return [agent.name for agent in found]


def test_an_agent_is_read_again_after_it_has_done_something_and_at_most_every_five_seconds() -> None:
    watch = ConflictWatch(refuse)
    assert asked(watch, 0.0, ONE, OTHER) == ["task-A", "task-B"]
    assert asked(watch, 100.0, ONE, OTHER) == []
    assert asked(watch, 101.0, ONE, OTHER, printed=1.0) == ["task-A"]
    assert asked(watch, 102.0, ONE, OTHER, printed=2.0) == []
    assert asked(watch, 106.5, ONE, OTHER, printed=2.0) == ["task-A"]
    ended = replace(OTHER, status=Status.DONE)
    assert asked(watch, 200.0, ONE, ended, printed=2.0) == ["task-B"]


def test_the_first_count_of_changed_lines_is_no_news_and_another_count_is() -> None:
    watch = ConflictWatch(refuse)
    asked(watch, 0.0, ONE)
    assert asked(watch, 10.0, ONE, count=(1, 0)) == []
    assert asked(watch, 20.0, ONE, count=(2, 0)) == ["task-A"]


def test_agents_without_a_worktree_are_not_read_and_one_that_goes_makes_the_others_be_compared_again() -> (
    None
):
    watch = ConflictWatch(refuse)
    made = replace(ELSEWHERE, status=Status.SETUP, started_at=None)
    assert asked(watch, 0.0, ONE, OTHER, made) == ["task-A", "task-B"]
    killed = replace(OTHER, status=Status.KILLED)
    assert asked(watch, 10.0, ONE, killed) == ["task-A"]
    assert asked(watch, 20.0, ONE, killed) == []


def test_marks_name_the_other_side_in_short_and_the_base_first() -> None:
    agents = (ONE, OTHER, ELSEWHERE)
    first = Conflict(ONE.id, OTHER.id, "main", ("f",), 0.0)

    assert marks(agents, [first]) == {ONE.id: "B", OTHER.id: "A"}
    others = [
        first,
        Conflict(ONE.id, ELSEWHERE.id, "main", ("f",), 0.0),
        Conflict(OTHER.id, "", "main", ("f",), 0.0),
    ]
    assert marks(agents, others) == {ONE.id: "B +1", OTHER.id: "main +1", ELSEWHERE.id: "task-A"}
    assert marks((ONE, replace(OTHER, status=Status.KILLED)), [first]) == {}


def test_the_prompt_says_what_does_not_merge_and_where_to_look() -> None:
    file = ConflictingFile("src/a.py", "both changed", (ConflictPlace(3, 5, "go()"), ConflictPlace(9, 9)))
    conflict = Conflict(ONE.id, OTHER.id, "main", ("src/a.py",), 0.0)
    live = LiveData(conflicts=(conflict, Conflict(ONE.id, "", "main", ("b.txt",), 0.0)))

    text = conflict_prompt(ONE, live, (ONE, OTHER))
    assert "task-B (branch task-B):\n- src/a.py\n" in text
    assert OTHER.worktree in text
    assert "does not merge with main:\n- b.txt\nBring in main" in text
    details = replace(live.conflict_details, agent=ONE.id, conflicts=((conflict, (file,)),))
    known = conflict_prompt(ONE, replace(live, conflict_details=details), (ONE, OTHER))
    assert "- src/a.py: both changed it, lines 3–5 go(); line 9\n" in known


@pytest.mark.slow
def test_the_watch_finds_conflicts_and_reads_the_lines_of_the_selected_agent(
    fleet: Fleet, pool: AgentPool
) -> None:
    commit(pool.project, {"code.py": "def go():\n    return 1\n", "many.txt": "1\n2\n3\n4\n5\n6\n"})
    one, other, third = (
        fleet.create(pool.name(), profile="shell", prompt="exec sleep 1000") for _ in range(3)
    )
    for agent, value in ((one, 2), (other, 3)):
        (Path(agent.worktree) / "code.py").write_text(f"def go():\n    return {value}\n")
    (Path(one.worktree) / "many.txt").write_text("0\n1\n2\n3\n4\n5\n6\n")
    (Path(third.worktree) / "many.txt").write_text("1\n2\n3\n4\n5\n6\n7\n")
    agents = [fleet.current(agent) for agent in (one, other, third)]
    watch = ConflictWatch(refuse)
    assert watch.ask(agents, {}, {}, 0.0, one.id) == agents
    project, queued = watch._wanted.get()

    watch.check(fleet, project, queued)
    watch.read_details(fleet)

    [found] = watch.conflicts(agents)
    assert {found.agent, found.other} == {one.id, other.id}
    details = watch.details
    assert (details.agent, details.base, details.merging) == (one.id, "main", (third.id,))
    [(conflict, [file])] = details.conflicts
    assert (conflict.agent, conflict.other) == (one.id, other.id)
    assert [(place.first, place.function) for place in file.places] == [(2, "go()")]
    assert details.shared == ("many.txt",)
    assert watch.conflicts([agents[0], replace(agents[1], status=Status.KILLED)]) == ()
    fleet.kill(agents)


def test_a_commit_on_the_base_branch_is_noticed_without_any_agents_doing(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = fleet.create(pool.name(), profile="shell", prompt="exec sleep 1000")
    (Path(agent.worktree) / "base-moves.txt").write_text("agent\n")
    agent = fleet.current(agent)
    fleet.conflicts.check([agent])
    assert fleet.conflicts.moved_projects() == []

    commit(pool.project, {"base-moves.txt": "base\n"})

    assert fleet.conflicts.moved_projects() == [agent.project]
    assert [one.base for one in fleet.conflicts.check([agent]).conflicts if one.agent == agent.id] == ["main"]
    assert fleet.conflicts.moved_projects() == []
    fleet.kill([agent])
