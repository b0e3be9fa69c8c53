"""The radar on real worktrees: who does not merge, since when, and what a check costs the repository."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.git import scratch
from fleet_tui.models import Agent
from fleet_tui.review import radar_memory
from fleet_tui.review.radar_memory import RadarMemory
from fleet_tui.work import Conflict, ConflictReport, Overlap
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git import traps
from tests.git.repositories import call, commit
from tests.holder.holders import wait_until

__all__ = ["fleet", "module_pool", "pool"]


def write(agent: Agent, files: dict[str, str]) -> None:
    for name, text in files.items():
        (Path(agent.worktree) / name).parent.mkdir(parents=True, exist_ok=True)
        (Path(agent.worktree) / name).write_text(text)


def of(report: ConflictReport, *agents: Agent) -> list[Conflict]:
    """The conflicts among these agents, and with the base."""
    there = {agent.id for agent in agents} | {""}
    return [one for one in report.conflicts if {one.agent, one.other} <= there]


def pair(one: Agent, other: Agent) -> set[str]:
    return {one.id, other.id}


def test_agents_that_do_not_merge_are_found_committed_or_not(fleet: Fleet, pool: AgentPool) -> None:
    one, other, third = pool.take(), pool.take(), pool.take()
    write(one, {"r1.txt": "one\n", "r1-shared.txt": "a\nb\nc\nd\ne\n"})
    commit(Path(other.worktree), {"r1.txt": "other\n"})
    write(third, {"r1-third.txt": "x\n"})
    seen: list[Overlap] = []

    report = fleet.conflicts.check([one, other, third], seen.extend)

    [found] = of(report, one, other, third)
    assert {found.agent, found.other} == pair(one, other)
    assert (found.files, found.base) == (("r1.txt",), "main")
    assert [set(overlap.files) for overlap in seen if {overlap.agent, overlap.other} == pair(one, other)] == [
        {"r1.txt"}
    ]
    assert not report.unread
    [file] = fleet.conflicts.details(found)
    assert (file.path, file.kind) == ("r1.txt", "both added")


def test_a_conflict_goes_when_the_agent_changes_its_mind_and_keeps_its_time_meanwhile(
    fleet: Fleet, pool: AgentPool
) -> None:
    one, other = pool.take(), pool.take()
    write(one, {"r2.txt": "one\n"})
    write(other, {"r2.txt": "other\n"})
    [first] = of(fleet.conflicts.check([one, other]), one, other)

    write(one, {"r2-more.txt": "x\n"})
    [second] = of(fleet.conflicts.check([one]), one, other)
    [of_another_process] = of(Fleet(pool.project).conflicts.check([one]), one, other)

    assert first.since == second.since == of_another_process.since
    write(one, {"r2.txt": "other\n"})
    assert of(fleet.conflicts.check([one]), one, other) == []


@pytest.mark.slow
def test_files_that_both_changed_and_that_merge_are_overlaps(fleet: Fleet, pool: AgentPool) -> None:
    one, other = pool.take(), pool.take()
    commit(pool.project, {"r3.txt": "".join(f"{number}\n" for number in range(20))})
    for agent in (one, other):
        call(Path(agent.worktree), "merge", "-q", "--no-edit", "main")
    text = (Path(one.worktree) / "r3.txt").read_text()
    write(one, {"r3.txt": "first\n" + text})
    write(other, {"r3.txt": text + "last\n"})

    report = fleet.conflicts.check([one, other])

    assert of(report, one, other) == []
    assert [one_.files for one_ in report.overlaps if {one_.agent, one_.other} == pair(one, other)] == [
        ("r3.txt",)
    ]
    assert {(o.files) for o in fleet.conflicts.overlaps([one]) if {o.agent, o.other} == pair(one, other)} == {
        ("r3.txt",)
    }


def test_work_that_no_longer_merges_with_the_base_is_found_when_the_base_moves(
    fleet: Fleet, pool: AgentPool
) -> None:
    agent = pool.take()
    write(agent, {"r4.txt": "agent\n"})
    assert of(fleet.conflicts.check([agent]), agent) == []

    commit(pool.project, {"r4.txt": "base\n"})

    [found] = of(fleet.conflicts.check([agent]), agent)
    assert (found.agent, found.other, found.base, found.files) == (agent.id, "", "main", ("r4.txt",))
    assert found.seen_from(agent.id) == found


def test_an_agent_that_started_elsewhere_is_not_compared_with_what_is_checked_out(
    fleet: Fleet, pool: AgentPool
) -> None:
    first = call(pool.project, "rev-list", "--max-parents=0", "HEAD").splitlines()[0]
    elsewhere = call(pool.project, "commit-tree", "-p", first, "-m", "x", f"{first}^{{tree}}")
    call(pool.project, "branch", "-f", "release", elsewhere)
    agent = fleet.create(pool.name(), base="release", prompt="x")
    commit(pool.project, {"r14.txt": "base\n"})
    write(agent, {"r14.txt": "agent\n"})

    report = fleet.conflicts.check([agent])

    assert of(report, agent) == []
    assert agent.id in report.without_base
    fleet.kill([agent])


def test_killed_agents_leave_the_radar_and_ended_ones_stay(fleet: Fleet, pool: AgentPool) -> None:
    one, other = pool.take(), pool.take()
    write(one, {"r5.txt": "one\n"})
    write(other, {"r5.txt": "other\n"})
    fleet.stop([other])
    assert len(of(fleet.conflicts.check([one, other]), one, other)) == 1

    fleet.kill([other])

    assert of(fleet.conflicts.check([one]), one, other) == []


def test_a_worktree_that_cannot_be_read_is_named_and_the_others_are_compared(
    fleet: Fleet, pool: AgentPool
) -> None:
    one, other, gone = pool.take(), pool.take(), pool.take()
    write(one, {"r6.txt": "one\n"})
    write(other, {"r6.txt": "other\n"})
    shutil.move(gone.worktree, f"{gone.worktree}-away")

    report = fleet.conflicts.check([one, other, gone])

    assert len(of(report, one, other)) == 1
    assert set(report.unread) == {gone.id}
    shutil.move(f"{gone.worktree}-away", gone.worktree)
    assert not fleet.conflicts.check([gone]).unread


def test_branches_without_a_common_commit_conflict(fleet: Fleet, pool: AgentPool) -> None:
    one, other = pool.take(), pool.take()
    call(Path(one.worktree), "checkout", "-q", "--orphan", f"{one.name}-orphan")
    commit(Path(one.worktree), {"r7.txt": "one\n"})
    write(other, {"r7-other.txt": "other\n"})

    report = fleet.conflicts.check([one, other])

    assert {one_.other for one_ in report.conflicts if one_.agent == one.id and not one_.files} >= {""}
    assert fleet.conflicts.details(next(iter(of(report, one)))) == ()
    fleet.kill([one])


def test_the_repository_does_not_grow_and_tried_merges_leave_nothing(
    fleet: Fleet, pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    one, other = pool.take(), pool.take()
    objects = pool.project / ".git" / "objects"
    before = sorted(objects.rglob("*"))
    for number in range(3):
        write(one, {"r8.txt": f"one {number}\n"})
        write(other, {"r8.txt": f"other {number}\n"})
        report = fleet.conflicts.check([one, other])
        fleet.conflicts.details(of(report, one, other)[0])

    assert sorted(objects.rglob("*")) == before
    assert not list(paths.cache().glob("objects/*/tried-*"))


@pytest.mark.slow
def test_a_lost_cache_is_made_again(
    fleet: Fleet, pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    one, other = pool.take(), pool.take()
    write(one, {"r9.txt": "one\n"})
    write(other, {"r9.txt": "other\n"})
    assert len(of(fleet.conflicts.check([one, other]), one, other)) == 1

    for lost in ("objects", "radar"):
        shutil.rmtree(paths.cache() / lost)
    assert len(of(fleet.conflicts.check([one]), one, other)) == 1
    for folder in (paths.cache() / "objects").glob("*/objects"):
        for file in folder.glob("??/*"):
            file.unlink()
    write(one, {"r9.txt": "one more\n"})
    assert len(of(fleet.conflicts.check([one]), one, other)) == 1
    for file in (paths.cache() / "radar").iterdir():
        file.write_text("{not JSON")
    assert len(of(Fleet(pool.project).conflicts.check([one]), one, other)) == 1


def test_several_processes_may_look_at_once(fleet: Fleet, pool: AgentPool) -> None:
    one, other = pool.take(), pool.take()
    write(one, {"r10.txt": "one\n"})
    write(other, {"r10.txt": "other\n"})
    found: list[int] = []

    def look() -> None:
        watching = Fleet(pool.project)
        found.extend(len(of(watching.conflicts.check([one, other]), one, other)) for _ in range(4))
        watching.close()

    threads = [threading.Thread(target=look) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 12


def test_nothing_that_an_agent_configures_is_run(fleet: Fleet, pool: AgentPool, tmp_path: Path) -> None:
    trap = traps.lay(tmp_path / "trap")
    one, other = pool.take(), pool.take()
    for agent in (one, other):
        write(agent, {"r11.txt": f"{agent.name}\n", ".gitattributes": "* filter=trap merge=trap diff=trap\n"})
    keys = (
        "core.fsmonitor",
        "filter.trap.clean",
        "filter.trap.process",
        "merge.trap.driver",
        "diff.external",
        "diff.trap.textconv",
    )
    try:
        for key in keys:
            call(pool.project, "config", key, str(trap.program))
        [found] = of(fleet.conflicts.check([one, other]), one, other)
        fleet.conflicts.details(found)
        assert not trap.has_sprung
    finally:
        for key in keys:
            call(pool.project, "config", "--unset", key)


@pytest.mark.slow
def test_an_old_git_shows_overlaps_and_says_what_is_missing(
    fleet: Fleet, pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fleet_tui import git

    real = shutil.which("git")
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text(
        f'#!/bin/sh\ncase "$*" in *version) echo git version 2.34.1;; *) exec {real} "$@";; esac\n'
    )
    old.chmod(0o755)
    one, other = pool.take(), pool.take()
    write(one, {"r12.txt": "one\n"})
    write(other, {"r12.txt": "other\n"})
    monkeypatch.setenv("PATH", f"{old.parent}:{os.environ['PATH']}")
    git.can_merge_in_memory.cache_clear()
    try:
        report = fleet.conflicts.check([one, other])
    finally:
        git.can_merge_in_memory.cache_clear()

    assert report.conflicts == ()
    assert "2.39" in report.problem
    assert [o.files for o in report.overlaps if {o.agent, o.other} == pair(one, other)] == [("r12.txt",)]


LOOKING = """
import sys
from fleet_tui.fleet import Fleet
from fleet_tui.git import scratch
from fleet_tui.git import scratch
scratch.MOST, scratch.MEASURE_SECONDS = 200_000, 0.0
fleet = Fleet()
agents = [fleet.find(name) for name in sys.argv[1:]]
print("ready", flush=True)
while True:
    fleet.conflicts.check(agents)
"""


@pytest.mark.pure
def test_the_memory_forgets_old_outcomes_and_none_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(radar_memory, "MOST", 10)
    memory = RadarMemory(tmp_path)
    memory.learn({("first", "second"): ("f",)})
    memory.learn({("a", str(number)): () for number in range(12)})
    memory.forget_all_but([("second", "first")])
    memory.write()

    again = RadarMemory(tmp_path)
    again.read()

    assert again.outcome(("first", "second")) == ("f",)
    assert [again.knows(("a", str(number))) for number in (0, 6, 7, 11)] == [False, False, True, True]


@pytest.mark.slow
def test_processes_that_are_killed_while_they_look_leave_nothing_and_disturb_nobody(
    fleet: Fleet, pool: AgentPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(scratch, "MOST", 200_000)
    monkeypatch.setattr(scratch, "MEASURE_SECONDS", 0.0)
    one, other = pool.take(), pool.take()
    write(other, {"r13.txt": "other\n"})
    chance = random.Random(13)
    for number in range(25):
        write(one, {"r13.txt": f"one {number}\n" * 500})
        with subprocess.Popen(
            [sys.executable, "-c", LOOKING, one.name, other.name], stdout=subprocess.PIPE, process_group=0
        ) as looking:
            assert looking.stdout is not None
            looking.stdout.readline()
            deadline = time.monotonic() + chance.random() * 0.3
            while time.monotonic() < deadline:
                assert len(of(fleet.conflicts.check([one]), one, other)) == 1
            os.killpg(looking.pid, signal.SIGKILL)
    # Their git processes may still end; then whoever comes alone removes what they have left.
    wait_until(lambda: not _tidied(fleet, one))
    [folder] = (paths.cache() / "objects").iterdir()
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 400_000


def _tidied(fleet: Fleet, agent: Agent) -> list[Path]:
    fleet.conflicts.check([agent])
    return list(paths.cache().glob("objects/*/tried-*"))
