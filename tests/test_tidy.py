"""What is kept stays within its bounds, without anybody asking for it, and nothing of it is lost."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fleet_tui import config, paths, tidy
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.conftest import git
from tests.holders import wait_until

DAYS = 24 * 3600.0


def killed(fleet: Fleet, name: str) -> Agent:
    agent = fleet.create(name, profile="cat")
    (Path(agent.worktree) / "work.txt").write_text("precious")
    fleet.kill([agent], grace=0.2)
    return fleet.store.agent(agent.id)


@pytest.mark.slow
def test_old_trash_is_emptied_by_the_next_launch_and_its_work_saved(fleet: Fleet, repository: Path) -> None:
    old, young = killed(fleet, "old"), killed(fleet, "young")
    with fleet.store.transaction():
        fleet.store.change(old.id, time.time(), ended_at=time.time() - 15 * DAYS)
    (paths.state() / "tidied").unlink()

    fleet.create("next", profile="cat")

    wait_until(lambda: not Path(old.trash).exists(), "old trash being emptied")
    assert Path(young.trash).is_dir()
    (saved,) = git(repository, "for-each-ref", "--format=%(refname)", "refs/fleet/trash").split()
    assert git(repository, "show", f"{saved}:work.txt") == "precious"


@pytest.mark.slow
def test_of_more_trash_than_there_may_be_the_oldest_goes(fleet: Fleet) -> None:
    agents = [killed(fleet, name) for name in ("first", "second")]
    size = sum(tidy._sizes(agents[1].trash))

    assert tidy.too_much(agents, days=14, size=size, now=time.time()) == [agents[0]]
    assert tidy.too_much(agents, days=14, size=2 * size + 99, now=time.time()) == []


@pytest.mark.slow
def test_it_looks_through_the_trash_at_most_once_a_day(fleet: Fleet) -> None:
    now = time.time()
    tidy.tidy(fleet.store, config.Config(), now=now)
    old = killed(fleet, "old")
    with fleet.store.transaction():
        fleet.store.change(old.id, now, ended_at=now - 15 * DAYS)

    tidy.tidy(fleet.store, config.Config(), now=now + 60)
    assert Path(old.trash).is_dir()

    stamp = paths.state() / "tidied"
    os.utime(stamp, (now - 2 * DAYS, now - 2 * DAYS))
    tidy.tidy(fleet.store, config.Config(), now=now)
    assert not Path(old.trash).exists()


@pytest.mark.slow
def test_transcripts_of_ended_agents_go_and_those_of_living_ones_stay(fleet: Fleet) -> None:
    talks = fleet.create("talks", profile="cat")
    ended = fleet.create("ended", profile="cat")
    for agent in (talks, ended):
        fleet.prompt(agent.name, "words")
        wait_until(lambda agent=agent: any("words" in line for line in fleet.peek(agent.id)), "an echo")  # type: ignore[misc] # bound at once
    fleet.stop([ended], grace=0.2)

    tidy.tidy(fleet.store, config.Config(transcript_total_mb=0), now=time.time())

    assert list(paths.run(ended.id, 1).glob("out.*.log")) == []
    assert list(paths.run(talks.id, 1).glob("out.*.log")) != []
