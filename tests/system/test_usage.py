"""What agents use, measured on real trees that burn a known amount of CPU; the clock is an input."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count

import pytest

from fleet_tui.models import Usage
from fleet_tui.system import proc, usage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compares with /proc")

DEADLINE = 20.0
ROUGHLY = 0.06
"""Seconds by which a sum of CPU times may be off: each process's times are cut to hundredths."""

TREE = """
import os, sys, time
from fleet_tui.system import processes

until_the_keeper_ends, held_by_the_keeper = os.pipe()

def stay():
    os.read(until_the_keeper_ends, 1)
    os._exit(0)

def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def child(do, session=False):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open("/dev/null", os.O_RDONLY), held_by_the_keeper)
        if session:
            os.setsid()
        os.close(writing)
        do()
        os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return pid

def wait(pid):
    os.waitpid(pid, 0)

def tell(*words):
    print(*words, flush=True)
    sys.stdin.readline()

processes.become_subreaper()
"""


class Tree:
    """A keeper in a session of its own, run step by step; at each step it says some numbers."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.pid = process.pid
        self.said = self._read()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.said = self._read()

    def _read(self) -> list[int]:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], DEADLINE)[0]
        return [int(word) for word in self.process.stdout.readline().split()]


Grow = Callable[[str], Tree]


@pytest.fixture
def grow() -> Iterator[Grow]:
    with ExitStack() as stack:

        def start(code: str) -> Tree:
            process = subprocess.Popen(
                [sys.executable, "-c", TREE + code],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return Tree(process)

        yield start


def sampler(*, portable: bool = False) -> usage.Sampler:
    """One whose passes are a second apart, so that a percent is a hundredth of a CPU second."""
    seconds = count()
    return usage.Sampler(clock=lambda: float(next(seconds)), history=3, portable=portable)


def seconds(used: Usage) -> float:
    return used.cpu / 100


def test_short_lived_children_are_counted_through_their_parents(grow: Grow) -> None:
    tree = grow("""
def program():
    tell()
    for _ in range(4):
        wait(child(lambda: burn(0.06)))
    tell()
    stay()
child(program, session=True)
stay()
""")
    samples = sampler()
    samples.prime()
    tree.go_on()

    assert seconds(samples.sample({"a": tree.pid})["a"]) == pytest.approx(0.24, abs=ROUGHLY)
    assert seconds(samples.sample({"a": tree.pid})["a"]) == pytest.approx(0.0, abs=0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_first_pass_may_have_been_read_before_there_was_a_sampler(grow: Grow) -> None:
    tree = grow("""
def program():
    burn(0.06)
    tell()
    burn(0.12)
    tell()
    stay()
child(program, session=True)
stay()
""")
    first = proc.read_stats()
    tree.go_on()
    samples = usage.Sampler(clock=lambda: first.at + 1)
    samples.prime(first)

    assert seconds(samples.sample({"a": tree.pid})["a"]) == pytest.approx(0.12, abs=ROUGHLY)


@pytest.mark.slow
def test_what_the_keeper_reaped_is_counted_once(grow: Grow) -> None:
    tree = grow("""
def orphan():
    os.setsid()
    burn(0.15)
    os.write(ready[1], b"x")
    os.read(end[0], 1)
    burn(0.1)
ready, end = os.pipe(), os.pipe()
wait(child(lambda: child(orphan), session=True))
os.read(ready[0], 1)
tell()
os.write(end[1], b"x")
os.wait()
tell()
""")
    samples = sampler()
    first = samples.sample({"a": tree.pid})["a"]
    tree.go_on()

    second = samples.sample({"a": tree.pid})["a"]

    assert (first.processes, second.processes) == (1, 0)
    assert seconds(second) == pytest.approx(0.1, abs=ROUGHLY)


def test_a_process_that_is_new_counts_from_its_start(grow: Grow) -> None:
    samples = sampler()
    samples.prime()
    tree = grow("""
def program():
    burn(0.1)
    tell()
    stay()
child(program, session=True)
stay()
""")

    assert seconds(samples.sample({"a": tree.pid})["a"]) == pytest.approx(0.1, abs=ROUGHLY)


def test_keeper_and_screen_server_do_not_count_even_when_they_end(grow: Grow) -> None:
    tree = grow("""
def screen():
    burn(0.2)
    os.write(ready[1], b"x")
    os.read(end[0], 1)
ready, end = os.pipe(), os.pipe()
child(lambda: stay(), session=True)
server = child(screen)
burn(0.1)
os.read(ready[0], 1)
tell()
os.write(end[1], b"x")
wait(server)
tell()
""")
    samples = sampler()
    samples.prime()
    before = samples.sample({"a": tree.pid})["a"]
    tree.go_on()
    after = samples.sample({"a": tree.pid})["a"]

    assert (before.processes, after.processes) == (1, 1)
    assert seconds(after) == pytest.approx(0.0, abs=0.03)


@pytest.mark.slow
def test_an_agent_started_by_an_agent_counts_for_itself_alone(grow: Grow) -> None:
    tree = grow("""
def inner_program():
    burn(0.2)
    os.write(ready[1], b"x")
    stay()
def inner_keeper():
    inner = child(inner_program, session=True)
    os.write(pids[1], str(os.getpid()).encode())
    os.read(end[0], 1)
    os.kill(inner, 9)
    wait(inner)
def program():
    child(inner_keeper, session=True)
    stay()
ready, end, pids = os.pipe(), os.pipe(), os.pipe()
outer = child(program, session=True)
os.read(ready[0], 1)
inner = os.read(pids[0], 99).decode()
tell(inner)
os.kill(outer, 9)
wait(outer)
os.write(end[1], b"x")
wait(int(inner))
tell()
""")
    roots = {"outer": tree.pid, "inner": tree.said[0]}
    samples = sampler()
    samples.prime()
    before = samples.sample(roots)
    tree.go_on()
    after = samples.sample(roots)

    assert (before["outer"].processes, before["inner"].processes) == (1, 1)
    assert seconds(after["outer"]) == pytest.approx(0.0, abs=0.03), "the keeper reaped the inner keeper"
    assert after["inner"].processes == 0


def test_a_spared_process_does_not_count(grow: Grow) -> None:
    tree = grow("""
apart = child(lambda: child(stay) and stay(), session=True)
child(stay, session=True)
tell(apart)
""")
    samples = sampler()

    assert samples.sample({"a": tree.pid}, spare=[tree.said[0]])["a"].processes == 1


def test_zombies_are_not_counted_as_processes(grow: Grow) -> None:
    tree = grow("""
zombie = child(lambda: None, session=True)
os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
tell()
""")

    assert sampler().sample({"a": tree.pid})["a"].processes == 0


def test_shared_pages_count_once(grow: Grow) -> None:
    tree = grow("""
import mmap
common = mmap.mmap(-1, 64 << 20)
def touch():
    for page in range(0, len(common), 4096):
        common[page] = 1
    os.write(ready[1], b"x")
    stay()
ready = os.pipe()
for _ in range(3):
    child(touch, session=True)
for _ in range(3):
    os.read(ready[0], 1)
own = b"x" * (16 << 20)
tell()
""")

    used = sampler().sample({"a": tree.pid})["a"]

    assert used.processes == 3
    assert 64 << 20 <= used.memory < 128 << 20


def test_history_keeps_the_latest_and_forgets_agents_that_are_gone(grow: Grow) -> None:
    tree = grow("child(stay, session=True)\ntell()")
    samples = sampler()
    for _ in range(5):
        used = samples.sample({"a": tree.pid})["a"]

    assert len(used.cpu_history) == len(used.memory_history) == 3
    assert used.memory_history[-1] == used.memory > 0
    assert samples.sample({}) == {}
    assert len(samples.sample({"a": tree.pid})["a"].cpu_history) == 1


def test_a_keeper_that_is_not_there_uses_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    samples = sampler()
    samples.prime()

    assert samples.sample({"gone": child.pid}) == {"gone": Usage()}


def test_two_passes_at_the_same_moment_say_nothing_about_cpu(grow: Grow) -> None:
    tree = grow("child(lambda: (burn(0.05), tell(), stay()), session=True)\nstay()")
    samples = usage.Sampler(clock=lambda: 5.0)
    samples.prime()

    assert samples.sample({"a": tree.pid})["a"].cpu == 0.0


@pytest.mark.slow
def test_no_share_is_larger_than_the_machine(grow: Grow) -> None:
    ticks = iter([0.0, 0.01])
    samples = usage.Sampler(clock=lambda: next(ticks))
    samples.prime()
    tree = grow("child(lambda: (burn(0.3), tell(), stay()), session=True)\nstay()")

    assert samples.sample({"a": tree.pid})["a"].cpu == 100.0 * (os.cpu_count() or 1)


@pytest.mark.slow
def test_psutil_gives_the_same_numbers(grow: Grow) -> None:
    both = sampler(), sampler(portable=True)
    for samples in both:
        samples.prime()
    tree = grow("""
def program():
    wait(child(lambda: burn(0.1)))
    child(stay)
    tell()
    stay()
child(program, session=True)
stay()
""")

    ours, theirs = (samples.sample({"a": tree.pid})["a"] for samples in both)

    assert ours.processes == theirs.processes == 2
    assert seconds(theirs) == pytest.approx(seconds(ours), abs=0.03)
    assert theirs.memory >= ours.memory > 0


def test_the_machines_totals_agree_with_psutil() -> None:
    ours, theirs = usage.machine(), usage.machine(portable=True)

    assert ours.cpu_count == os.cpu_count()
    assert ours.memory_total == theirs.memory_total
    assert ours.memory_used == pytest.approx(theirs.memory_used, rel=0.2)
    assert ours.busy == pytest.approx(theirs.busy, rel=0.05)


@pytest.mark.slow
def test_the_machine_uses_as_many_cores_as_are_busy(grow: Grow) -> None:
    samples = usage.Sampler()
    assert samples.machine().cores == 0.0

    grow("burn(0.3)\ntell()")

    assert 0.3 <= samples.machine().cores <= (os.cpu_count() or 1)
