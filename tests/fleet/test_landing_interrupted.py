"""A landing whose process is killed at any step: what it leaves is found, nothing is lost, and it can be done again."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.landings import LandingProgress, LandingState
from fleet_tui.models import Agent, Status
from tests.agent_pool import AgentPool, fleet, module_pool, pool, project
from tests.fleet.test_landing import configure, hook, leftovers, on_main, take, tip
from tests.git.repositories import call, commit, make

__all__ = ["fleet", "module_pool", "on_main", "pool", "project"]

BEFORE = ("commit running", "commit done", "bring in running", "bring in done", "check running", "check done",
          "build running", "build done", "update running")  # fmt: skip
QUICK = ("check running", "update done")
AFTER = ("update done", "tidy running", "tidy done")


def killed_at(project: Path, agent: Agent, step: str) -> None:
    command = [sys.executable, "-m", "tests.fleet.landing_program", str(project), agent.name, step]
    done = subprocess.run(command, start_new_session=True, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=[] if step in QUICK else [pytest.mark.slow]) for step in (*BEFORE, *AFTER)],
)
def test_a_landing_that_is_killed_can_be_done_again_and_undone(
    fleet: Fleet, pool: AgentPool, project: Path, step: str
) -> None:
    configure('[land]\ncheck = "test -f one.py"\n')
    hook(project, "pre-merge-commit", "exit 0")
    commit(project, {"mine.txt": "x\n"})
    agent = take(pool, {"one.py": "a\n"})
    (Path(agent.worktree) / "two.py").write_text("b\n")
    (project / "mine.txt").write_text("changed\n")
    old = tip(project)

    killed_at(project, agent, step)

    fleet.refresh()
    assert (tip(project) == old) == (step in BEFORE)
    assert call(project, "status", "--porcelain") == "M mine.txt"
    if step in BEFORE:
        assert (Path(agent.worktree) / "two.py").read_text() == "b\n"
        assert fleet.landing.land([fleet.current(agent)]).stopped is None
    else:
        again = fleet.current(agent)
        if again.status is not Status.KILLED:
            stopped = fleet.landing.land([again]).stopped
            assert stopped is not None
            assert stopped.kind == "nothing"
    assert leftovers(project) == []
    assert (project / "two.py").read_text() == "b\n"

    fleet.undo([fleet.current(agent)])

    assert tip(project) == old
    assert (project / "mine.txt").read_text() == "changed\n"
    assert not (project / "two.py").exists()
    assert (Path(agent.worktree) / "two.py").read_text() == "b\n"


@pytest.mark.parametrize(
    ("strategy", "has_hooks"),
    [
        ("squash", False),
        ("rebase", True),
        *(
            pytest.param(one, has_hooks, marks=pytest.mark.slow)
            for one in ("merge", "squash", "rebase")
            for has_hooks in (False, True)
        ),
    ],
)
def test_every_strategy_can_be_undone(
    fleet: Fleet, pool: AgentPool, project: Path, strategy: str, has_hooks: bool
) -> None:
    if has_hooks:
        hook(project, "prepare-commit-msg", "exit 0")
    agent = take(pool, {"one.py": "a\n"})
    commit(Path(agent.worktree), {"two.py": "b\n"})
    old = commit(project, {"main.py": "x\n"})

    report = fleet.landing.land([agent], strategy=strategy)
    landed = sorted(call(project, "diff", "--name-only", old, "main").split())
    fleet.undo()

    assert report.stopped is None
    assert landed == ["one.py", "two.py"]
    assert tip(project) == old
    assert call(project, "status", "--porcelain") == ""
    assert sorted(path.name for path in Path(agent.worktree).glob("*.py")) == ["one.py", "two.py"]


def test_undo_right_after_a_kill_takes_back_what_has_landed(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    old = tip(project)
    killed_at(project, agent, "update done")

    [(back, _)] = fleet.undo()

    assert (back.id, tip(project)) == (agent.id, old)
    assert all(one.state is not LandingState.BEGUN for one in fleet.landing.landings())


def test_a_revert_of_a_rebase_of_several_commits_takes_back_all(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {"one.py": "a\n"})
    commit(Path(agent.worktree), {"two.py": "b\n"})
    fleet.landing.land([agent], strategy="rebase")
    commit(project, {"later.py": "c\n"})

    fleet.undo([fleet.current(agent)])

    assert sorted(path.name for path in project.glob("*.py")) == ["later.py"]


@pytest.mark.slow
def test_filtered_files_are_stored_as_their_filter_says(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    call(project, "config", "filter.pointer.clean", "sed s/^large$/pointer/")
    call(project, "config", "filter.pointer.smudge", "sed s/^pointer$/large/")
    call(project, "config", "filter.pointer.required", "true")
    agent = take(pool, {".gitattributes": "*.bin filter=pointer\n"})
    (Path(agent.worktree) / "data.bin").write_text("large\n")

    try:
        report = fleet.landing.land([agent])
    finally:
        call(project, "config", "--remove-section", "filter.pointer")

    assert report.stopped is None
    assert call(project, "show", "main:data.bin") == "pointer"
    assert (project / "data.bin").read_text() == "large\n"


def test_a_submodule_is_landed_as_its_commit(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    module = make(tmp_path / "module")
    agent = take(pool)
    call(
        Path(agent.worktree),
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(module),
        "sub",
    )

    report = fleet.landing.land([agent])

    assert report.stopped is None
    assert call(project, "ls-files", "-s", "sub").split()[:2] == ["160000", call(module, "rev-parse", "HEAD")]
    assert call(project, "status", "--porcelain") == ""


def test_files_outside_a_sparse_checkout_stay_outside(fleet: Fleet, pool: AgentPool, project: Path) -> None:
    commit(project, {"in/a": "x\n", "out/b": "x\n"})
    agent = take(pool, {"in/a": "new\n", "out/b": "new\n", "out/c": "new\n"})
    call(project, "sparse-checkout", "set", "in")
    try:
        report = fleet.landing.land([agent])

        assert report.stopped is None
        assert (project / "in/a").read_text() == "new\n"
        assert not (project / "out").exists()
        assert call(project, "status", "--porcelain") == ""
    finally:
        call(project, "sparse-checkout", "disable")


def test_ignored_and_left_out_files_of_the_agent_are_kept_in_the_trash(
    fleet: Fleet, pool: AgentPool, project: Path
) -> None:
    agent = take(pool, {".gitignore": "*.secret\n", "one.py": "a\n"})
    (Path(agent.worktree) / "my.secret").write_text("s\n")
    (Path(agent.worktree) / "inner").mkdir()
    call(Path(agent.worktree) / "inner", "init", "-q")
    commit(Path(agent.worktree) / "inner", {"x": "x"})

    [plan] = fleet.landing.preview([agent])
    fleet.landing.land([agent])

    assert plan.left_out == ("inner/",)
    assert not (project / "inner").exists()
    trash = Path(fleet.current(agent).trash)
    assert (trash / "my.secret").read_text() == "s\n"
    assert (trash / "inner/x").read_text() == "x"


@pytest.mark.slow
def test_an_interrupted_landing_ends_its_check(
    fleet: Fleet, pool: AgentPool, project: Path, tmp_path: Path
) -> None:
    configure(f'[land]\ncheck = "echo $$ > {tmp_path}/pid; echo ready; sleep 600"\n')
    agent = take(pool, {"one.py": "a\n"})

    def interrupt(_: Agent, progress: LandingProgress) -> None:
        # The last line of the output: the check runs.
        if progress.step == "check" and progress.text == "ready":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fleet.landing.land([agent], on_progress=interrupt)

    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()
    assert leftovers(project) == []
