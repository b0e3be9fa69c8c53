"""Spare worktrees: made after agents have started, taken by the next ones, never lost and never shared."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fleet_tui import git, paths
from fleet_tui.fast_dataclasses import replace
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.lifecycle import spares
from fleet_tui.models import Agent
from fleet_tui.spare_worktree import SpareWorktree
from fleet_tui.system import processes
from tests.conftest import QUIET_CONFIG
from tests.git.repositories import branches, call, entries
from tests.holder.holders import wait_until
from tests.scripted import program, start_cli

DAY = 86_400.0
FILES = spares.FEWEST_FILES


def history(files: int) -> bytes:
    """A commit on main with many small files, for git fast-import."""
    parts = [b"commit refs/heads/main\ncommitter T <t@example.invalid> 1700000000 +0000\ndata 4\nmany\n"]
    parts += [b"from refs/heads/main^0\n"]
    parts += [b"M 100644 inline many/%d/%d\ndata 2\nx\n\n" % (n % 7, n) for n in range(files)]
    return b"".join(parts)


@pytest.fixture
def large(repository: Path) -> Path:
    """The repository, with as many files as make a spare worth its place."""
    call(repository, "checkout", "--quiet", "--detach")
    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"], cwd=repository, input=history(FILES), check=True
    )
    call(repository, "checkout", "--quiet", "main")
    return repository


@pytest.fixture
def worktrees(fleet: Fleet, tmp_path: Path, no_spares: None) -> Path:
    """The folder of the project's worktrees: that of a first agent, without which a project is not in the store."""
    return Path(fleet.create("first", profile=program(tmp_path, "echoes")).worktree).parent


@pytest.fixture
def no_spares(home: Path) -> None:
    """Let launchers make none in the background: the tests make them themselves."""
    paths.user_config().write_text(f"{QUIET_CONFIG}[spares]\ncount = 0\n")


def keep(fleet: Fleet, project: Path, worktrees: Path, count: int = 1) -> list[SpareWorktree]:
    """Keep spares ready, once no launcher is at work on them; returns those of the project."""
    wait_until(_is_free, "the end of the launcher")
    spares.keep_ready(fleet.store, project, worktrees, count, patience=0.0)
    return [one for one in fleet.store.spares.all() if one.project == str(project)]


def _is_free() -> bool:
    with spares.alone() as is_free:
        return is_free


def test_a_spare_is_made_kept_and_taken_by_the_next_agent(
    fleet: Fleet, large: Path, worktrees: Path, tmp_path: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)
    assert keep(fleet, large, worktrees)[0].path == spare.path
    file = Path(spare.path, "readme.txt").stat().st_ino

    agent = fleet.create("fix", profile=program(tmp_path, "echoes"))

    assert Path(agent.worktree, "readme.txt").stat().st_ino == file
    assert not agent.has_ended
    assert call(Path(agent.worktree), "status", "--porcelain", "--branch") == "## fix"
    assert git.link_problems(fleet.store.agents.git_dirs([agent]), [agent]) == {}
    assert {one.name for one in fleet.agents()} == {"first", "fix"}
    assert branches(large) == {"main", "first", "fix"}
    assert fleet.kill([agent], grace=0.2)[0].path is not None
    assert fleet.undo([fleet.store.agents.get(agent.id)])


@pytest.mark.slow
def test_the_launcher_makes_a_spare_after_its_agents_have_started(
    fleet: Fleet, large: Path, tmp_path: Path
) -> None:
    echoes = program(tmp_path, "echoes")
    fleet.create("first", profile=echoes)
    wait_until(lambda: bool(fleet.store.spares.ready(str(large))) and _is_free(), "a spare", seconds=60)
    [spare] = fleet.store.spares.ready(str(large))

    second, third = fleet.fanout(2, "more", prompt="x", profile=echoes)
    wait_until(
        lambda: [one.path for one in fleet.store.spares.ready(str(large))] not in ([], [spare.path]),
        "another spare",
        seconds=60,
    )

    assert call(Path(second.worktree), "reflog", "show", "HEAD", "--format=%gs").count("\n") <= 1
    assert not Path(spare.path).exists()
    assert [one.name for one in (second, third) if one.has_ended] == []
    wait_until(_is_free, "the end of the launcher")


@pytest.mark.slow
def test_small_repositories_get_no_spare_and_zero_removes_those_that_are_there(
    fleet: Fleet, large: Path, worktrees: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)

    assert keep(fleet, large, worktrees, 0) == []

    assert not Path(spare.path).exists()
    assert [name for name in entries(large) if name.startswith("spare")] == []
    call(large, "checkout", "--quiet", "HEAD~1")
    assert keep(fleet, large, worktrees) == []


@pytest.mark.slow
def test_a_spare_follows_its_base_and_is_made_again_if_much_has_changed(
    fleet: Fleet, large: Path, worktrees: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)
    (large / "readme.txt").write_text("later\n")
    call(large, "commit", "--quiet", "--all", "-m", "later")

    [later] = keep(fleet, large, worktrees)

    assert (later.path, later.base) == (spare.path, call(large, "rev-parse", "HEAD"))
    assert Path(later.path, "readme.txt").read_text() == "later\n"
    for number in range(FILES // 2):
        (large / "many" / str(number % 7) / str(number)).write_text("other\n")
    call(large, "commit", "--quiet", "--all", "-m", "much later")
    [much_later] = keep(fleet, large, worktrees)
    assert much_later.path != spare.path
    assert not Path(spare.path).exists()
    assert sum(name.startswith("spare") for name in entries(large)) == 1


LEFT_OVER = {
    "interrupted": lambda spare: replace(spare, settings=""),
    "old": lambda spare: replace(spare, needed_at=time.time() - 1.1 * DAY),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["interrupted", pytest.param("old", marks=pytest.mark.slow)])
def test_a_spare_that_is_left_over_is_found_and_removed_by_the_doctor(
    fleet: Fleet, large: Path, worktrees: Path, case: str
) -> None:
    [spare] = keep(fleet, large, worktrees)
    assert [one.level for one in fleet.examine() if "spare worktree" in one.text] == ["ok"]
    with fleet.store.transaction():
        fleet.store.spares.put(LEFT_OVER[case](spare))

    [finding] = [one for one in fleet.examine() if "spare worktree" in one.text]
    assert finding.fix is not None
    said = finding.fix()

    assert "removed" in said
    assert (Path(spare.path).exists(), fleet.store.spares.all()) == (False, [])
    assert [name for name in entries(large) if name.startswith("spare")] == []


@pytest.mark.slow
def test_a_spare_that_was_removed_by_hand_is_noticed_and_forgotten(
    fleet: Fleet, large: Path, worktrees: Path, tmp_path: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)
    shutil.rmtree(spare.path)

    [finding] = [one for one in fleet.examine() if "spare worktree" in one.text]
    agent = fleet.create("fix", profile=program(tmp_path, "echoes"))

    assert not agent.has_ended
    assert "its folder is gone" in finding.text
    [another] = keep(fleet, large, worktrees)
    assert another.path != spare.path
    assert sum(name.startswith("spare") for name in entries(large)) == 1


@pytest.mark.slow
def test_a_spare_whose_row_was_lost_is_found_by_its_folder(
    fleet: Fleet, large: Path, worktrees: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)
    with fleet.store.transaction():
        fleet.store.spares.remove(spare.path)

    [finding] = [one for one in fleet.examine() if "spare worktree" in one.text]
    assert "has no record" in finding.text
    [another] = keep(fleet, large, worktrees)

    assert another.path != spare.path
    assert not Path(spare.path).exists()


@pytest.mark.slow
def test_a_spare_in_which_somebody_has_worked_is_never_deleted(
    fleet: Fleet, large: Path, worktrees: Path
) -> None:
    [spare] = keep(fleet, large, worktrees)
    (Path(spare.path) / "work.txt").write_text("precious")

    keep(fleet, large, worktrees, 0)

    released = worktrees / f"spare-{Path(spare.path).name}"
    assert (released / "work.txt").read_text() == "precious"
    assert fleet.store.spares.all() == []
    assert any(str(released) in one.text for one in fleet.examine())


@pytest.mark.slow
def test_spares_of_a_repository_that_is_gone_are_removed_unless_somebody_has_worked_there(
    fleet: Fleet, large: Path, worktrees: Path, repository: Path
) -> None:
    first, second = keep(fleet, large, worktrees, 2)
    (Path(second.path) / "work.txt").write_text("precious")
    shutil.move(large, large.with_name("elsewhere"))

    spares.remove(fleet.store, first)
    said = spares.remove(fleet.store, second)

    assert not Path(first.path).exists()
    assert "somebody has worked in it" in said
    assert (worktrees / f"spare-{Path(second.path).name}" / "work.txt").read_text() == "precious"
    shutil.move(large.with_name("elsewhere"), large)


@pytest.mark.slow
def test_no_spare_is_made_while_the_disk_is_short(
    fleet: Fleet, large: Path, worktrees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spares, "LEFT_FREE", 1 << 60)

    assert keep(fleet, large, worktrees) == []


def test_a_second_keeper_leaves_the_first_alone(fleet: Fleet, large: Path, worktrees: Path) -> None:
    wait_until(_is_free, "the end of the launcher")
    with spares.alone() as is_alone:
        assert is_alone
        spares.keep_ready(fleet.store, large, worktrees, 1, patience=0.0)

    assert fleet.store.spares.all() == []


@pytest.mark.slow
def test_spares_move_with_their_project(fleet: Fleet, large: Path, worktrees: Path) -> None:
    keep(fleet, large, worktrees)
    moved = large.with_name("moved")

    with fleet.store.transaction():
        fleet.store.batches.move_project(
            str(large), str(moved), name="moved", git_dir=str(moved / ".git"), at=time.time()
        )

    assert [one.project for one in fleet.store.spares.all()] == [str(moved)]


# ── many at once, and killed ──


def check_agents(agents: list[Agent], project: Path) -> None:
    """Each agent has a worktree of its own, on its own branch, at the right commit."""
    assert len({agent.worktree for agent in agents}) == len(agents)
    head = call(project, "rev-parse", "main")
    for agent in agents:
        place = Path(agent.worktree)
        assert call(place, "status", "--porcelain", "--branch") == f"## {agent.branch}"
        assert call(place, "rev-parse", "HEAD") == head
        assert call(place, "rev-parse", "--absolute-git-dir") == str(project / f".git/worktrees/{place.name}")


@pytest.mark.slow
def test_agents_that_are_created_at_once_share_no_spare(
    fleet: Fleet, large: Path, worktrees: Path, tmp_path: Path
) -> None:
    echoes = program(tmp_path, "echoes")
    for repetition in range(3):
        before = {Path(one.path, "readme.txt").stat().st_ino for one in keep(fleet, large, worktrees, 2)}
        assert len(before) == 2
        running = [start_cli(large, "create", f"at-once-{repetition}-{n}", "-a", echoes) for n in range(6)]
        for process in running:
            _, err = process.communicate(timeout=100)
            assert process.returncode == 0, err
        agents = [one for one in fleet.agents() if one.name.startswith(f"at-once-{repetition}-")]
        check_agents(agents, large)
        taken = [agent for agent in agents if Path(agent.worktree, "readme.txt").stat().st_ino in before]
        assert 1 <= len(taken) <= 2
        fleet.stop(agents, grace=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_launchers_killed_while_they_use_or_make_spares_leave_nothing_that_is_not_cleaned(
    fleet: Fleet, large: Path, worktrees: Path, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    paths.user_config().write_text(f"{QUIET_CONFIG}[spares]\ncount = 2\n")
    echoes = program(tmp_path, "echoes")
    for number in range(12):
        process = start_cli(large, "create", f"try-{number}", "-a", echoes)
        wait_until(lambda: len(launcher_of(process.pid)) == 2, "a launcher")  # noqa: B023 - called at once
        victims = launcher_of(process.pid)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.random() * 0.4)
        if process.poll() is not None and chance.random() < 0.8:
            time.sleep(chance.random() * 2.0)  # the moment of the kill is what this test is about
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.communicate()
    wait_until(lambda: is_settled(fleet), "the end of all launchers", seconds=60)

    living = [one for one in fleet.agents() if not one.has_ended]
    kept = keep(fleet, large, worktrees, 2)

    check_agents(living, large)
    assert len(kept) == 2
    assert {Path(one.path) for one in kept} == set(paths.spares(worktrees).iterdir())
    names = {Path(one.worktree).name for one in living} | {f"spare.{Path(one.path).name}" for one in kept}
    assert set(entries(large)) == names
    assert branches(large) == {"main", *(one.branch for one in living)}
    assert fleet.store.check() == []


def launcher_of(face: int) -> list[int]:
    """The forker and the worker of the launcher that a face has started, as far as they run."""
    children = processes.children_of(processes.snapshot())
    return [
        pid
        for forker in children.get(face, [])
        for pid in (forker.pid, *(worker.pid for worker in children.get(forker.pid, [])[:1]))
    ]


def is_settled(fleet: Fleet) -> bool:
    return _is_free() and all(
        one.has_ended or (one.pid is not None and is_held(paths.lock(one.id))) for one in fleet.agents()
    )
