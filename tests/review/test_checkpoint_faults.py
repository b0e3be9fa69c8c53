"""Checkpoints and restores that are killed at any moment, and any sequence of edits, checkpoints and restores."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet_tui import git
from fleet_tui.fleet import Fleet
from fleet_tui.models import Agent
from tests.agent_pool import AgentPool, fleet, module_pool, pool
from tests.git.repositories import call
from tests.git.test_checkpoints import files_of

__all__ = ["fleet", "module_pool", "pool"]

FILES = 300
RUN = """
import sys
from pathlib import Path
from fleet_tui.fleet import Fleet
from fleet_tui.review import checkpoints
from fleet_tui import git
fleet = Fleet(Path(sys.argv[1]))
agent = fleet.find(sys.argv[2])
git.files_tree, git.bring_files, git.save_checkpoint
print("ready", flush=True)
what = sys.argv[3]
fleet.checkpoints.make(agent, "x") if what == "make" else fleet.checkpoints.restore(agent, int(what))
print("done", flush=True)
"""


def stopped(pool: AgentPool) -> Agent:
    found = pool.take("shell", "exec sleep 1000")
    pool.fleet.stop([found])
    return pool.fleet.current(found)


def fill(folder: Path, text: str) -> None:
    """Many files, so that writing them takes a while; some of them only with this text."""
    for number in range(FILES):
        place = folder / f"d{number % 7}" / (f"{text}{number}" if number % 3 == 0 else f"f{number}")
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{text}\n" * (number + 1))


def clear(folder: Path) -> None:
    for place in folder.iterdir():
        if place.is_dir():
            shutil.rmtree(place)


def killed(agent: Agent, what: str, after: float, *, alone: bool) -> bool:
    """Start something, kill it after so many seconds, with its git or alone; whether it was done before that."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, agent.project, agent.id, what], stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(after)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL) if alone else os.killpg(process.pid, signal.SIGKILL)
        return process.stdout.read() == "done\n"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_a_killed_restore_is_finished_by_doing_it_again(pool: AgentPool, seed: int) -> None:
    moments, fleet, agent = random.Random(seed), pool.fleet, stopped(pool)
    folder = Path(agent.worktree)
    fill(folder, "one")
    fleet.checkpoints.make(agent)
    states = {1: files_of(folder)}
    clear(folder)
    fill(folder, "two")
    (folder / "edited").write_text("not in any checkpoint yet\n")
    two = files_of(folder)

    for attempt in range(6):
        killed(agent, "1", moments.uniform(0.0, 0.5), alone=attempt % 2 == 0)

    fleet.checkpoints.restore(agent, 1)

    assert files_of(folder) == states[1]
    for one in fleet.checkpoints.all(agent):
        assert call(folder, "rev-parse", f"{one.commit}^{{tree}}") == one.tree
    # What was there before the first attempt is in a checkpoint, unless that attempt had not begun to change files.
    saved = [one for one in fleet.checkpoints.all(agent) if one.kind in ("saved", "named")]
    restored = []
    for one in saved:
        fleet.checkpoints.restore(agent, one.number)
        restored.append(files_of(folder))
    assert two in restored


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_a_killed_checkpoint_leaves_files_and_list_whole(pool: AgentPool, seed: int) -> None:
    moments, fleet, agent = random.Random(seed), pool.fleet, stopped(pool)
    folder = Path(agent.worktree)
    fill(folder, "one")
    before = files_of(folder)
    entry = Path(call(folder, "rev-parse", "--absolute-git-dir"))
    index = (entry / "index").read_bytes()

    for attempt in range(6):
        killed(agent, "make", moments.uniform(0.0, 0.4), alone=attempt % 2 == 0)
    made, _ = fleet.checkpoints.make(agent, "the last")

    assert files_of(folder) == before
    assert (entry / "index").read_bytes() == index
    assert not list(entry.glob("*.lock"))
    listed = fleet.checkpoints.all(agent)
    assert [one.number for one in listed] == sorted({one.number for one in listed})
    refs = call(folder, "for-each-ref", "--format=%(refname:lstrip=4)", f"refs/fleet/checkpoints/{agent.id}")
    assert sorted(map(int, refs.split())) == [one.number for one in listed]
    assert {one.tree for one in listed} == {made.tree}


WRITER = """
import itertools, sys
from pathlib import Path
folder = Path(sys.argv[1])
print("ready", flush=True)
for number in itertools.count():
    place = folder / f"w{number % 5}" / f"f{number % 40}"
    place.parent.mkdir(exist_ok=True)
    if number % 3 == 2:
        place.unlink(missing_ok=True)
    elif number % 7 == 6:
        for one in place.parent.iterdir():
            one.unlink()
        place.parent.rmdir()
    else:
        place.write_text(f"{number}\\n" * (number % 50))
"""


@pytest.mark.slow
def test_checkpoints_are_made_while_the_program_is_writing(pool: AgentPool) -> None:
    fleet, agent = pool.fleet, stopped(pool)
    folder = Path(agent.worktree)
    command = [sys.executable, "-c", WRITER, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            made = [fleet.checkpoints.make(agent, "x")[0] for _ in range(8)]
        finally:
            writer.kill()

    assert len({one.tree for one in made}) > 1
    for one in (made[0], made[-1]):
        fleet.checkpoints.restore(agent, one.number)
        again, is_new = fleet.checkpoints.make(agent)
        assert (again.tree, is_new) == (one.tree, False)


# ── any sequence ────────────────────────────────────────────────────────────────────────────────────────────────

NAMES = st.sampled_from(["a", "b", "d", "d/x", "d/y", "d/e/z", "link", "run.sh", "a.txt", "b.skip"])
EDITS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(["", "1\n", "2\r\n", "\0binary", "3\n" * 50])),
    st.tuples(st.just("delete"), NAMES, st.just("")),
    st.tuples(st.just("link"), NAMES, st.sampled_from(["a", "nowhere"])),
    st.tuples(st.just("execute"), NAMES, st.just("")),
    st.tuples(st.just("commit"), st.just(""), st.just("")),
    st.tuples(st.just("stage"), st.just(""), st.just("")),
    st.tuples(st.just("checkpoint"), st.just(""), st.just("")),
    st.tuples(st.just("restore"), st.just(""), st.sampled_from(["0", "1", "2", "3", "4"])),
)


States = dict[int, dict[str, object]]
"""All files at each checkpoint."""


def remove(place: Path) -> None:
    if place.is_symlink() or place.is_file():
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)


def room_for(folder: Path, name: str) -> Path:
    """The place of a file, with nothing in its way."""
    parts = name.split("/")
    for count in range(1, len(parts)):
        parent = folder / "/".join(parts[:count])
        if parent.is_symlink() or parent.is_file():
            parent.unlink()
        parent.mkdir(exist_ok=True)
    remove(folder / name)
    return folder / name


def edit(folder: Path, kind: str, name: str, text: str) -> None:
    place = folder / name
    if kind == "write":
        room_for(folder, name).write_bytes(text.encode())
    elif kind == "delete":
        remove(place)
    elif kind == "link":
        room_for(folder, name).symlink_to(text)
    elif kind == "execute" and place.is_file() and not place.is_symlink():
        place.chmod(0o755)
    elif kind == "commit":
        call(folder, "add", "--all")
        call(folder, "commit", "--quiet", "--allow-empty", "-m", "x")
    elif kind == "stage":
        call(folder, "add", "--all")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_any_sequence_of_edits_checkpoints_and_restores_brings_back_exact_files(pool: AgentPool) -> None:
    """Each example goes on in the worktree of the one before."""
    fleet = pool.fleet

    @given(st.lists(EDITS, min_size=3, max_size=14))
    def run(steps: list[tuple[str, str, str]]) -> None:
        fleet.checkpoints.restore(agent, 0)
        forget_all(fleet, agent)
        states: States = {0: files_of(folder)}
        for kind, name, text in steps:
            if kind == "checkpoint":
                states[fleet.checkpoints.make(agent, "x")[0].number] = files_of(folder)
            elif kind == "restore":
                check_restore([*states][int(text) % len(states)], states)
            else:
                edit(folder, kind, name, text)
        for number in list(states):
            check_restore(number, states)

    def check_restore(number: int, states: States) -> None:
        before = files_of(folder)
        done = fleet.checkpoints.restore(agent, number)
        now = files_of(folder)
        assert without(now, is_ignored=True) == without(states[number], is_ignored=True)
        assert without(now, is_ignored=False) == without(before, is_ignored=False), "ignored files stay"
        if done.changed:
            states.setdefault(done.saved, before)

    agent = stopped(pool)
    folder = Path(agent.worktree)
    exclude = Path(call(folder, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"))
    exclude.write_text("*.skip\n")
    run()


def forget_all(fleet: Fleet, agent: Agent) -> None:
    """Delete all checkpoints: a list that grows from example to example makes each slower."""
    numbers = [one.number for one in fleet.checkpoints.all(agent)]
    git.drop_checkpoints(Path(agent.project, ".git"), agent.id, numbers)
    with fleet.store.transaction():
        fleet.store.checkpoints.remove(agent.id, numbers, 0.0)


def without(files: dict[str, object], *, is_ignored: bool) -> dict[str, object]:
    """The files without the ignored ones, or only those."""
    return {name: what for name, what in files.items() if name.endswith(".skip") is not is_ignored}
