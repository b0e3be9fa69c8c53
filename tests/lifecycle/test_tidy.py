"""Tidying: trash and transcripts stay within their limits by themselves, and no work is lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.config.settings import Config
from fleet_tui.fleet import Fleet
from fleet_tui.lifecycle import tidy
from fleet_tui.models import Agent
from fleet_tui.system import processes
from tests.conftest import git
from tests.holder.holders import wait_until

DAYS = 24 * 3600.0


def killed(fleet: Fleet, name: str, *, is_merged: bool = False) -> Agent:
    agent = fleet.create(name, profile="cat")
    if not is_merged:
        (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.kill([agent], grace=0.2)
    return fleet.store.agents.get(agent.id)


@pytest.mark.slow
def test_old_trash_is_emptied_by_the_next_launch_and_its_work_saved(fleet: Fleet, repository: Path) -> None:
    old, young = killed(fleet, "old"), killed(fleet, "young")
    with fleet.store.transaction():
        fleet.store.agents.change(old.id, time.time(), ended_at=time.time() - 15 * DAYS)
    (paths.state() / "tidied").unlink()

    fleet.create("next", profile="cat")

    wait_until(lambda: not Path(old.trash).exists(), "old trash being emptied")
    assert Path(young.trash).is_dir()
    (saved,) = git(repository, "for-each-ref", "--format=%(refname)", "refs/fleet/trash").split()
    assert git(repository, "show", f"{saved}:work.txt") == "precious"


@pytest.mark.slow
def test_a_projects_limits_neither_empty_the_trash_nor_take_transcripts(
    fleet: Fleet, repository: Path
) -> None:
    talks = fleet.create("waiting", profile="cat")
    fleet.prompts.send(talks, "words")
    wait_until(lambda: any("words" in line for line in fleet.peek(talks)), "an echo")
    waiting = fleet.kill([talks], grace=0.2)[0].agent
    waiting = fleet.store.agents.get(waiting.id)
    with fleet.store.transaction():
        fleet.store.agents.change(waiting.id, time.time(), ended_at=time.time() - 3 * DAYS)
    (repository / ".aifleet").mkdir(exist_ok=True)
    paths.project_config(repository).write_text(
        "[fleet]\ntrash_mb = 0\ntrash_days = 1\ntranscript_total_mb = 0\n"
    )
    (paths.state() / "tidied").unlink()

    fleet.stop([fleet.create("next", profile="cat")], grace=0.2)

    wait_until(lambda: (paths.state() / "tidied").exists() and not launchers(), "the launcher's end")
    assert Path(waiting.trash).is_dir()
    assert list(paths.run(waiting.id, 1).glob("out.*.log")) != []
    assert [finding.text for finding in fleet.examine() if "MB" in finding.text] == []


def launchers() -> list[int]:
    """Launchers, and holders, which are forks of them, that work for this test's home."""
    mark = f"HOME={os.environ['HOME']}".encode()
    found = []
    for pid in processes.snapshot():
        with contextlib.suppress(OSError):
            folder = Path(f"/proc/{pid}")
            if b"fleet_tui.lifecycle.launcher" in (folder / "cmdline").read_bytes().split(b"\0"):
                found += [pid] if mark in (folder / "environ").read_bytes().split(b"\0") else []
    return found


@pytest.mark.slow
def test_the_oldest_merged_worktree_leaves_a_trash_that_is_too_large(fleet: Fleet) -> None:
    killed(fleet, "unmerged")
    agents = [killed(fleet, name, is_merged=True) for name in ("first", "second")]
    size = sum(tidy._sizes(agents[1].trash))
    later = time.time() + 2 * DAYS

    everybody = [*fleet.trash.agents()]
    assert tidy.too_much(everybody, days=14, size=2 * size + 99, now=later) == [agents[0]]
    assert tidy.too_much(everybody, days=14, size=3 * size + 99, now=later) == []


@pytest.mark.slow
@pytest.mark.parametrize("has_commit", [False, True])
def test_unmerged_work_stays_for_its_whole_time_however_large_the_trash_is(
    fleet: Fleet, repository: Path, has_commit: bool
) -> None:
    agent = killed(fleet, "fix", is_merged=has_commit)
    if has_commit:
        fleet.undo([agent])
        (Path(agent.worktree) / "work.txt").write_text("precious")
        git(Path(agent.worktree), "add", ".")
        git(Path(agent.worktree), "commit", "-q", "-m", "work")
        fleet.kill([fleet.find("fix")])
        agent = fleet.store.agents.get(agent.id)
    now = time.time()

    assert tidy.too_much([agent], days=14, size=0, now=now + 13.9 * DAYS) == []
    assert tidy.too_much([agent], days=14, size=0, now=now + 14.1 * DAYS) == [agent]
    if has_commit:
        git(repository, "merge", "-q", "--ff-only", "fix")
        assert tidy.too_much([agent], days=14, size=0, now=now + 2 * DAYS) == [agent]


@pytest.mark.slow
def test_nothing_leaves_the_trash_for_its_size_within_a_day(fleet: Fleet) -> None:
    agents = [killed(fleet, name, is_merged=True) for name in ("first", "second")]

    assert tidy.too_much(agents, days=14, size=0, now=time.time() + 0.9 * DAYS) == []
    assert tidy.too_much(agents, days=14, size=0, now=time.time() + 1.1 * DAYS) == agents
    assert tidy.too_much(agents, days=0, size=1 << 40, now=time.time() + 1) == agents


def killed_with_an_ignored_file(fleet: Fleet, repository: Path) -> Agent:
    (repository / ".git" / "info" / "exclude").write_text(".env\n")
    agent = fleet.create("fix", profile="cat")
    (Path(agent.worktree) / ".env").write_text("TOKEN=1")
    fleet.kill([agent], grace=0.2)
    return fleet.store.agents.get(agent.id)


@pytest.mark.slow
def test_ignored_files_outlive_their_worktree_until_they_are_too_old(fleet: Fleet, repository: Path) -> None:
    agent = killed_with_an_ignored_file(fleet, repository)
    assert agent.ended_at is not None
    small = Config(trash_mb=0)

    tidy.tidy(fleet.store, small, now=agent.ended_at + 2 * DAYS)
    assert not Path(agent.trash).exists()
    ((archive, goes_at),) = tidy.archives([agent], small)
    assert abs(goes_at - (agent.ended_at + 14 * DAYS)) < 2
    assert subprocess.check_output(["tar", "-xOf", str(archive), ".env"]) == b"TOKEN=1"

    for days, is_there in ((13.9, True), (14.1, False)):
        (paths.state() / "tidied").unlink()
        tidy.tidy(fleet.store, small, now=agent.ended_at + days * DAYS)
        assert archive.exists() is is_there


@pytest.mark.slow
def test_ignored_files_of_a_worktree_that_is_too_old_are_not_kept(fleet: Fleet, repository: Path) -> None:
    agent = killed_with_an_ignored_file(fleet, repository)

    tidy.tidy(fleet.store, Config(), now=time.time() + 15 * DAYS)

    assert list(Path(agent.trash).parent.iterdir()) == []


@pytest.mark.slow
def test_the_trash_is_tidied_at_most_once_a_day(fleet: Fleet) -> None:
    now = time.time()
    tidy.tidy(fleet.store, Config(), now=now)
    old = killed(fleet, "old")
    with fleet.store.transaction():
        fleet.store.agents.change(old.id, now, ended_at=now - 15 * DAYS)

    tidy.tidy(fleet.store, Config(), now=now + 60)
    assert Path(old.trash).is_dir()

    stamp = paths.state() / "tidied"
    os.utime(stamp, (now - 2 * DAYS, now - 2 * DAYS))
    tidy.tidy(fleet.store, Config(), now=now)
    assert not Path(old.trash).exists()


@pytest.mark.slow
def test_transcripts_of_ended_agents_go_and_those_of_living_ones_stay(fleet: Fleet) -> None:
    talks = fleet.create("talks", profile="cat")
    ended = fleet.create("ended", profile="cat")
    for agent in (talks, ended):
        fleet.prompts.send(agent, "words")
        wait_until(lambda agent=agent: any("words" in line for line in fleet.peek(agent)), "an echo")  # type: ignore[misc] # bound at once
    fleet.stop([ended], grace=0.2)

    tidy.tidy(fleet.store, Config(transcript_total_mb=0), now=time.time())

    assert list(paths.run(ended.id, 1).glob("out.*.log")) == []
    assert list(paths.run(talks.id, 1).glob("out.*.log")) != []
