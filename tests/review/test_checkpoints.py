"""Checkpoints of agents: made, compared, restored, kept and pruned."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from fleet_tui import git, paths
from fleet_tui.errors import FleetError, NotFound, Refused
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent, Status
from fleet_tui.review.checkpoint_limits import DAY, CheckpointLimits, over_limits, prune
from fleet_tui.review.checkpoints import make_after_turn
from fleet_tui.work import Checkpoint, CheckpointKind
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import call, commit
from tests.git.test_checkpoints import files_of

__all__ = ["fleet", "module_pool", "pool"]


@pytest.fixture
def agent(pool: AgentPool) -> Agent:
    """A stopped agent."""
    found = pool.take("shell", "exec sleep 1000")
    pool.fleet.stop([found])
    return pool.fleet.current(found)


def write(agent: Agent, **contents: str) -> None:
    for name, text in contents.items():
        Path(agent.worktree, name).write_text(text)


def numbers(fleet: Fleet, agent: Agent) -> list[tuple[int, str]]:
    return [(one.number, str(one.kind)) for one in fleet.checkpoints.all(agent)]


def test_a_checkpoint_is_listed_with_what_it_changed(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1\n2\n")
    first, is_new = fleet.checkpoints.make(agent, "before the rename")
    write(agent, new="1\n3\n", other="x\n")
    second, _ = fleet.checkpoints.make(agent)

    assert is_new
    assert fleet.checkpoints.all(agent) == [first, second]
    assert (first.number, first.kind, first.note) == (1, CheckpointKind.NAMED, "before the rename")
    assert (first.added, first.removed, first.files) == (2, 0, ("new",))
    assert (second.added, second.removed, second.changed, second.files) == (2, 1, 2, ("new", "other"))


def test_nothing_is_made_while_nothing_has_changed(fleet: Fleet, agent: Agent) -> None:
    assert not fleet.checkpoints.make(agent)[1], "as at its start"
    write(agent, new="1")
    made, _ = fleet.checkpoints.make(agent)

    assert fleet.checkpoints.make(agent) == (made, False)
    assert fleet.checkpoints.make(agent, "named")[1]


def test_checkpoints_are_compared_with_each_other_the_start_and_now(fleet: Fleet, agent: Agent) -> None:
    for text in ("1\n", "1\n2\n", "1\n2\n3\n"):
        write(agent, new=text)
        fleet.checkpoints.make(agent)
    write(agent, new="1\n2\n3\n4\n5\n")

    def added(number: int, against: str = "") -> tuple[int, str]:
        found = fleet.checkpoints.diff(agent, number, against=against)
        return found.added, found.against

    assert added(3) == (1, "checkpoint 2")
    assert added(1) == (1, "its start")
    assert added(3, "1") == (2, "checkpoint 1")
    assert added(3, "base") == (3, "its start")
    assert added(3, "now") == (2, "checkpoint 3")
    assert "+3\n" in fleet.checkpoints.patch(agent, 3)
    with pytest.raises(NotFound):
        added(9)
    with pytest.raises(NotFound):
        added(3, "yesterday")


def test_restoring_saves_what_is_there_first(fleet: Fleet, agent: Agent) -> None:
    worktree = Path(agent.worktree)
    write(agent, new="first\n")
    fleet.checkpoints.make(agent)
    first = files_of(worktree)
    commit(worktree, {"new": "committed\n", "more": "x\n"})
    write(agent, new="second\n")
    second = files_of(worktree)
    head = call(worktree, "rev-parse", "HEAD")

    done = fleet.checkpoints.restore(agent, 1)

    assert files_of(worktree) == first
    assert call(worktree, "rev-parse", "HEAD") == head
    assert (done.checkpoint.number, done.saved, done.changed) == (1, 2, 2)
    assert numbers(fleet, agent) == [(1, "named"), (2, "saved"), (3, "restored")]
    assert fleet.checkpoints.all(agent)[2].restored == 1

    fleet.checkpoints.restore(agent, done.saved)
    assert files_of(worktree) == second


def test_an_agent_goes_back_to_its_start(fleet: Fleet, agent: Agent) -> None:
    before = files_of(Path(agent.worktree))
    write(agent, new="1")

    assert fleet.checkpoints.restore(agent, 0).saved == 1

    assert files_of(Path(agent.worktree)) == before


def test_restoring_what_is_there_makes_no_checkpoint(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    fleet.checkpoints.make(agent)

    assert fleet.checkpoints.restore(agent, 1).changed == 0
    assert numbers(fleet, agent) == [(1, "named")]


def test_files_in_the_way_stop_a_restore_and_are_named(fleet: Fleet, agent: Agent) -> None:
    worktree = Path(agent.worktree)
    write(agent, thing="mine\n")
    fleet.checkpoints.make(agent)
    commit(worktree, {".gitignore": "thing\n"})
    (worktree / "thing").write_text("ignored by now\n")
    before = files_of(worktree)

    with pytest.raises(Refused, match="thing") as refused:
        fleet.checkpoints.restore(agent, 1)

    assert "nothing was changed" in refused.value.hint
    assert numbers(fleet, agent) == [(1, "named")]
    assert files_of(worktree) == before


def test_a_restore_waits_for_the_end_of_a_turn_unless_forced(pool: AgentPool, fleet: Fleet) -> None:
    agent = pool.take("shell", "exec sleep 1000")
    write(agent, new="1")
    fleet.checkpoints.make(agent)
    write(agent, new="2")
    fleet.store.db.execute("update agent set status = 'working' where id = ?", (agent.id,))

    with pytest.raises(Refused, match="writing files"):
        fleet.checkpoints.restore(agent, 1)
    assert fleet.checkpoints.restore(agent, 1, force=True).changed == 1


def test_a_restore_refuses_in_the_middle_of_a_merge(fleet: Fleet, agent: Agent) -> None:
    worktree = Path(agent.worktree)
    write(agent, new="1")
    fleet.checkpoints.make(agent)
    entry = Path(call(worktree, "rev-parse", "--absolute-git-dir"))
    (entry / "MERGE_HEAD").write_text(call(worktree, "rev-parse", "HEAD") + "\n")

    with pytest.raises(Refused, match="in the middle of a merge"):
        fleet.checkpoints.restore(agent, 1)


def test_a_replaced_git_file_is_refused(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    fleet.checkpoints.make(agent)
    link = Path(agent.worktree, ".git")
    text = link.read_text()
    link.write_text("gitdir: /somewhere/else\n")

    with pytest.raises(git.WorktreeChanged):
        fleet.checkpoints.make(agent)
    with pytest.raises(git.WorktreeChanged):
        fleet.checkpoints.restore(agent, 1)
    link.write_text(text)


def test_a_killed_agent_keeps_its_checkpoints_and_is_restored_after_undo(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    fleet.checkpoints.make(agent)
    write(agent, new="2")
    fleet.kill([agent], delete_branch=True)

    with pytest.raises(NotFound, match="no worktree"):
        fleet.checkpoints.restore(agent, 1)
    assert fleet.checkpoints.diff(agent, 1).added == 1

    fleet.undo([agent])
    fleet.checkpoints.restore(agent, 1)
    assert Path(agent.worktree, "new").read_text() == "1"


def test_a_missing_worktree_is_one_line(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    fleet.checkpoints.make(agent)
    shutil.rmtree(agent.worktree)

    for call_ in (lambda: fleet.checkpoints.make(agent), lambda: fleet.checkpoints.restore(agent, 1)):
        with pytest.raises(FleetError) as error:
            call_()
        assert "\n" not in error.value.message
    assert numbers(fleet, agent) == [(1, "named")]


def test_checkpoints_that_only_the_repository_has_are_found_again(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    made, _ = fleet.checkpoints.make(agent, "kept\n\nwith: more")
    with fleet.store.transaction():
        fleet.store.checkpoints.remove(agent.id, [1], 0.0)
    write(agent, new="2")

    fleet.checkpoints.make(agent)

    assert fleet.checkpoints.all(agent)[0] == made
    assert numbers(fleet, agent) == [(1, "named"), (2, "named")]


def test_what_a_checkpoint_leaves_out_is_recorded(fleet: Fleet, agent: Agent) -> None:
    call(Path(agent.worktree), "init", "--quiet", "nested")
    write(agent, new="1")

    assert fleet.checkpoints.make(agent)[0].left_out == ("nested/",)


def test_a_checkpoint_is_renamed(fleet: Fleet, agent: Agent) -> None:
    write(agent, new="1")
    fleet.checkpoints.make(agent)

    fleet.checkpoints.rename(agent, 1, "the good one")

    assert [(one.note, one.kind) for one in fleet.checkpoints.all(agent)] == [
        ("the good one", CheckpointKind.NAMED)
    ]
    with pytest.raises(FleetError):
        fleet.checkpoints.rename(agent, 1, "x" * 1000)


# ── turns ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_of_a_turn_has_its_number_and_prompt(fleet: Fleet, agent: Agent) -> None:
    now = time.time()
    with fleet.store.transaction():
        fleet.store.receipts.put("r1", agent.id, "first prompt", "answered", "", now)
    write(agent, new="1")
    made = make_after_turn(fleet.store, agent)
    assert made is not None
    assert (made.turn, made.note, made.kind) == (1, "first prompt", CheckpointKind.TURN)
    assert "first prompt" not in call(Path(agent.worktree), "cat-file", "-p", made.commit)

    assert make_after_turn(fleet.store, agent) is None, "it changed nothing"
    write(agent, new="2")
    typed = make_after_turn(fleet.store, agent)
    assert typed is not None
    assert (typed.turn, typed.note) == (2, ""), "typed by hand"


def test_automatic_checkpoints_can_be_switched_off(fleet: Fleet, agent: Agent) -> None:
    assert "automatic = false" in paths.user_config().read_text()
    write(agent, new="1")

    assert fleet.checkpoints.make_after_turn(agent) is None
    assert fleet.checkpoints.all(agent) == []


# ── limits ──────────────────────────────────────────────────────────────────────────────────────────────────────


def some(agent: Agent, *ages: float, kind: CheckpointKind = CheckpointKind.TURN) -> list[Checkpoint]:
    """Checkpoints of these ages in days, at day 100."""
    return [
        Checkpoint(agent.id, number, "c", "t", kind, (100 - age) * DAY) for number, age in enumerate(ages, 1)
    ]


def left(agent: Agent, checkpoints: list[Checkpoint], *, days: int = 14, most: int = 200) -> list[int]:
    gone = over_limits(agent, checkpoints, CheckpointLimits(days, most), now=100 * DAY)
    return [one.number for one in checkpoints if one not in gone]


def test_old_and_surplus_checkpoints_go_but_never_the_newest_a_named_one_or_a_young_one(
    fleet: Fleet, agent: Agent
) -> None:
    assert left(agent, some(agent, 20, 15, 13, 1)) == [3, 4]
    assert left(agent, some(agent, 40, 30, 20)) == [3]
    assert left(agent, some(agent, 40, 30, 20, kind=CheckpointKind.NAMED)) == [1, 2, 3]
    assert left(agent, some(agent, 5, 4, 3, 2), most=2) == [3, 4]
    assert left(agent, some(agent, 0.5, 0.4, 0.3, 0.2), most=2) == [1, 2, 3, 4]


def test_after_the_trash_all_go_once_they_are_too_old(fleet: Fleet, agent: Agent) -> None:
    in_trash = replace(agent, status=Status.KILLED, trash="/somewhere", worktree="/gone")
    emptied = replace(in_trash, trash="")

    assert left(in_trash, some(agent, 30, 20, kind=CheckpointKind.NAMED)) == [1, 2]
    assert left(emptied, some(agent, 30, 20, kind=CheckpointKind.NAMED)) == []
    assert left(emptied, some(agent, 30, 2)) == [2], "younger than the limit"


def test_pruning_deletes_rows_and_refs(fleet: Fleet, agent: Agent) -> None:
    for number in range(3):
        write(agent, new=str(number))
        make_after_turn(fleet.store, agent)

    removed = prune(fleet.store, CheckpointLimits(14, 200), now=time.time() + 20 * DAY)

    assert removed >= 2
    assert numbers(fleet, agent) == [(3, "turn")]
    listed = call(Path(agent.project), "for-each-ref", "--format=%(refname)", f"refs/fleet/checkpoints/{agent.id}")  # fmt: skip
    assert listed.endswith("/3")
    write(agent, new="again")
    assert fleet.checkpoints.make(agent)[0].number == 4, "a number is never given twice"


def test_nothing_is_pruned_by_default_limits_while_the_users_own_cannot_be_read(
    fleet: Fleet, agent: Agent
) -> None:
    file = paths.user_config()
    file.parent.mkdir(parents=True, exist_ok=True)
    before = file.read_bytes() if file.exists() else None
    file.write_text("[checkpoint\n")
    try:
        write(agent, new="1")
        with pytest.raises(FleetError):
            fleet.checkpoints.prune()
        made, is_new = fleet.checkpoints.make(agent)
    finally:
        file.unlink() if before is None else file.write_bytes(before)

    assert is_new
    assert made.number == 1
