"""Landing while other things happen: the branch moves, the user stops a train, a project is not trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.errors import Untrusted
from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingProgress
from fleet_tui.models import Agent
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.fleet.test_landing import configure, leftovers, on_main, stopped, take, tip
from tests.git.repositories import call, commit

__all__ = ["fleet", "module_pool", "on_main", "pool", "project"]


@pytest.mark.slow
def test_a_branch_that_moves_during_the_check_is_merged_and_checked_again(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    moves = f"git -C {project} commit -q --allow-empty -m moved"
    configure(
        f'[land]\ncheck = "echo x >> {tmp_path}/runs; test -f {tmp_path}/moved || {{ touch {tmp_path}/moved; {moves}; }}; test -f one.py"\n'
    )
    agent = take(pool, {"one.py": "a\n"})

    report = fleet.landing.land([agent])

    assert report.stopped is None
    assert report.notes[0].startswith("main moved while this was landing")
    assert call(project, "log", "-1", "--format=%s", "main^1") == "moved"
    assert (project / "one.py").exists()
    assert leftovers(project) == []


@pytest.mark.slow
def test_a_train_stops_after_the_agent_it_is_at(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    first, second, third = (take(pool, {f"{name}.py": "a\n"}) for name in ("one", "two", "three"))

    def stop(agent: Agent, progress: LandingProgress) -> None:
        if agent.id == first.id and progress.step == "update":
            assert fleet.landing.stop_train(second)

    report = fleet.landing.land([first, second, third], on_progress=stop)

    assert [one.agent for one in report.landings] == [first.id]
    assert (report.agent, report.untried) == (second.id, (third.id,))
    assert report.stopped is not None
    assert report.stopped.kind == "stopped"
    assert fleet.landing.land([second, third]).stopped is None


def test_a_commit_that_cannot_be_rebased_is_named_though_all_together_would_merge(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    commit(project, {"both.py": "start\n"})
    agent = take(pool, {"both.py": "agents\n"}, message="Try it")
    commit(Path(agent.worktree), {"both.py": "start\n", "one.py": "a\n"}, "Take it back")
    commit(project, {"both.py": "mains\n"})

    report = stopped(fleet, agent, strategy="rebase")

    assert report.stopped is not None
    assert report.stopped.message == "both.py conflicts with main in “Try it”"
    assert [one.kind for one in report.conflicts] == ["both changed"]
    assert fleet.landing.land([agent], strategy="merge").stopped is None


def test_a_check_that_the_user_has_not_trusted_is_not_run_and_not_left_out_silently(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    file = paths.project_config(project)
    file.parent.mkdir()
    file.write_text(f'[land]\ncheck = "touch {tmp_path}/ran"\n')
    before = tip(project)

    for verb in (fleet.landing.preview, fleet.landing.land):
        with pytest.raises(Untrusted):
            verb([agent])

    assert tip(project) == before
    assert not (tmp_path / "ran").exists()
    file.unlink()


@pytest.mark.slow
def test_a_project_may_choose_the_strategy(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    agent = take(pool, {"one.py": "a\n"})
    file = paths.project_config(project)
    file.parent.mkdir(exist_ok=True)
    file.write_text('[land]\nstrategy = "squash"\n')
    old = tip(project)

    fleet.landing.land([agent])

    assert call(project, "rev-parse", "main^@") == old
    file.unlink()
