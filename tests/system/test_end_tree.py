"""Ending a tree, with a real keeper: a subreaper that starts a program in a session of its own."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from fleet_tui.system import leftovers, processes
from tests.scripted import is_alive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="subreapers and /proc are Linux's")

AGENT = f"k3x9{os.getpid():x}"
"""Unique to this process: tests that run in parallel end every process marked with the same id."""
DEADLINE = 20.0

KEEPER = """
import json, os, signal, sys
from fleet_tui.system import agent_processes, end_tree, identity, leftovers, processes

options = json.loads(sys.argv[1])
processes.prepare()
if options["subreaper"]:
    assert processes.become_subreaper()
program = os.fork()
if program == 0:
    os.setsid()
    os.execve(sys.executable, [sys.executable, "-c", options["program"]], dict(os.environ, **options["env"]))
os.close(int(options["env"]["ANNOUNCE"]))
until_the_keeper_ends, held_by_the_keeper = os.pipe()
screen = os.fork()
if screen == 0:
    os.close(held_by_the_keeper)
    os.read(until_the_keeper_ends, 1)
    os._exit(0)
loaded = set(sys.modules)
print(json.dumps({"program": program, "screen": screen}), flush=True)
sys.stdin.readline()
seen = []
report = end_tree.end_tree(
    os.getpid(), program, options["agent"], grace=options["grace"], state_folder=options["state"],
    spare={screen}, reaped=lambda pid, status: seen.append(pid),
    hurry=(lambda: True) if options["hurry"] else None,
)
print(json.dumps({
    "killed": report.killed, "survivors": report.survivors, "statuses": report.statuses, "reaped": seen,
    "imported": sorted(set(sys.modules) - loaded), "screen": processes.look_up(screen).is_alive,
}), flush=True)
sys.stdin.readline()
"""

PROGRAM = """
import os, signal, sys, time

out = int(os.environ["ANNOUNCE"])

def announce(kind):
    os.write(out, f"{kind} {os.getpid()}\\n".encode())

def stay():
    while True:
        signal.pause()

def forked(do):
    if os.fork() == 0:
        do()
        os._exit(0)

def ignore(*numbers):
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)

"""


class Keeper:
    """A keeper in its own process, what its processes announced, and what came of ending them."""

    def __init__(self, process: subprocess.Popen[str], announcements: IO[bytes]) -> None:
        self.process = process
        self.announcements = announcements
        self.started = json.loads(self._answer())
        self.program: int = self.started["program"]

    def announced(self, count: int) -> dict[str, int]:
        found: dict[str, int] = {}
        while len(found) < count:
            assert select.select([self.announcements], [], [], DEADLINE)[0], f"only {found}"
            line = self.announcements.readline().split()
            assert line, f"ended after {found}"
            found[line[0].decode()] = int(line[1])
        return found

    def end(self) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        report: dict[str, Any] = json.loads(self._answer())
        return report

    def status(self, report: dict[str, Any]) -> int:
        return os.waitstatus_to_exitcode(report["statuses"][str(self.program)])

    def _answer(self) -> str:
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], DEADLINE)[0]
        return self.process.stdout.readline()

    def all_have_ended(self) -> bool:
        """The pipe ends when the last process that the program started is gone."""
        readable = select.select([self.announcements], [], [], 5.0)[0]
        return bool(readable) and self.announcements.read() == b""


Start = Callable[..., Keeper]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Start]:
    with contextlib.ExitStack() as stack:

        def start(
            program: str,
            *,
            grace: float = 15.0,
            subreaper: bool = True,
            hurry: bool = False,
            marked: bool = True,
        ) -> Keeper:
            reading, writing = os.pipe()
            environment = {"ANNOUNCE": str(writing), "STATE": str(tmp_path)}
            if marked:
                environment["FLEET_AGENT_ID"] = AGENT
            options = {
                "program": PROGRAM + program,
                "env": environment,
                "agent": AGENT,
                "state": str(tmp_path),
                "grace": grace,
                "subreaper": subreaper,
                "hurry": hurry,
            }
            os.set_inheritable(writing, True)
            process = subprocess.Popen(
                [sys.executable, "-c", KEEPER, json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                pass_fds=[writing],
                start_new_session=True,
            )
            os.close(writing)
            stack.callback(_finish, process)
            return Keeper(process, stack.enter_context(os.fdopen(reading, "rb", buffering=0)))

        yield start


def _finish(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate("end\nexit\n", timeout=DEADLINE)
    process.kill()
    process.wait()


@pytest.fixture
def bystander() -> Iterator[Callable[..., processes.Process]]:
    """An unrelated process of the same user, which has reported that it runs."""
    with contextlib.ExitStack() as stack:

        def start(**variables: str) -> processes.Process:
            process = subprocess.Popen(
                [sys.executable, "-c", "import signal; print('here', flush=True); signal.pause()"],
                stdout=subprocess.PIPE,
                env={**os.environ, **variables},
                start_new_session=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == b"here\n"
            return found(process.pid)

        yield start


def found(pid: int) -> processes.Process:
    process = processes.look_up(pid)
    assert process is not None
    return process


def put_down(*pids: int) -> None:
    """End the processes that a test left running, and wait for them."""
    for pid in pids:
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            assert select.select([handle], [], [], DEADLINE)[0]
        finally:
            os.close(handle)


ESCAPES = {
    "child": "def escape():\n    announce('x'); stay()",
    "group": "def escape():\n    os.setpgid(0, 0); announce('x'); stay()",
    "setsid": "def escape():\n    os.setsid(); announce('x'); stay()",
    "nohup": "def escape():\n    ignore(signal.SIGHUP); announce('x'); stay()",
    "double-fork": "def escape():\n    forked(lambda: (announce('x'), stay()))",
    "daemon": (
        "def escape():\n    os.setsid(); ignore(signal.SIGTERM, signal.SIGHUP, signal.SIGINT)\n"
        "    forked(lambda: (announce('x'), stay()))"
    ),
}


@pytest.mark.parametrize("marked", [True, False], ids=["marked", "unmarked"])
def test_no_child_escapes_the_end_of_its_tree(keep: Start, marked: bool) -> None:
    code = "".join(
        f"{how.replace(chr(39) + 'x' + chr(39), repr(name))}\nforked(escape)\n"
        for name, how in ESCAPES.items()
    )
    keeper = keep(code + "announce('program'); stay()", marked=marked)
    keeper.announced(len(ESCAPES) + 1)

    report = keeper.end()

    assert report["survivors"] == []
    assert keeper.status(report) == -signal.SIGTERM
    assert report["screen"], "the screen server was to be spared"
    assert keeper.all_have_ended()


def test_a_process_that_keeps_forking_away_is_caught(keep: Start) -> None:
    program = """
def hop():
    os.setsid()
    announce(f"hopper{os.getpid()}")
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork():
            os._exit(0)
for _ in range(3):
    forked(hop)
stay()
"""
    keeper = keep(program, marked=False)
    keeper.announced(3)

    assert keeper.end()["survivors"] == []
    assert keeper.all_have_ended()


def test_a_process_that_left_the_tree_is_known_by_its_mark(keep: Start) -> None:
    program = "forked(lambda: (os.setsid(), forked(lambda: (announce('daemon'), stay()))))\nos.wait()\nstay()"
    keeper = keep(program, subreaper=False)
    daemon = keeper.announced(1)["daemon"]

    report = keeper.end()

    assert daemon in report["killed"]
    assert keeper.all_have_ended()


def test_bystanders_live_on(keep: Start, bystander: Callable[..., processes.Process]) -> None:
    older = bystander(FLEET_AGENT_ID=AGENT)  # so not of this run
    keeper = keep("announce('program'); stay()")
    keeper.announced(1)
    others = [
        older,
        bystander(),
        bystander(FLEET_AGENT_ID=AGENT + "x"),
        bystander(NOT_FLEET_AGENT_ID=AGENT, COMMENT=f"FLEET_AGENT_ID={AGENT}"),
    ]

    report = keeper.end()

    assert report["killed"] == []
    assert all(processes.is_running(other.pid, other.started) for other in others)


def test_another_holder_inside_the_tree_lives_on_with_all_below_it(keep: Start, tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "another"
    folder.mkdir(parents=True)
    program = """
def hold():
    os.setsid()
    lock = os.open(os.environ["STATE"] + "/agents/another/lock", os.O_RDWR | os.O_CREAT)
    def below():
        os.close(lock)
        announce("below")
        os.close(out)
        stay()
    forked(below)
    announce("holder")
    os.close(out)
    stay()
forked(hold)
forked(lambda: (announce("child"), stay()))
announce("program")
stay()
"""
    keeper = keep(program)
    pids = keeper.announced(4)
    holder, below = found(pids["holder"]), found(pids["below"])

    report = keeper.end()

    assert keeper.all_have_ended()
    assert report["survivors"] == []
    assert processes.is_running(holder.pid, holder.started)
    assert processes.is_running(below.pid, below.started)
    put_down(holder.pid, below.pid)


def test_the_agents_own_lock_protects_no_process(keep: Start, tmp_path: Path) -> None:
    (tmp_path / "agents" / AGENT).mkdir(parents=True)
    program = """
def hold():
    os.setsid()
    os.open(os.environ["STATE"] + f"/agents/{os.environ['FLEET_AGENT_ID']}/lock", os.O_RDWR | os.O_CREAT)
    announce("child")
    stay()
forked(hold)
stay()
"""
    keeper = keep(program)
    child = keeper.announced(1)["child"]

    assert child in keeper.end()["killed"]
    assert keeper.all_have_ended()


def test_a_program_that_ends_when_asked_is_not_waited_for_any_longer(keep: Start) -> None:
    keeper = keep(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); announce('program'); stay()", grace=60.0
    )
    keeper.announced(1)
    before = time.monotonic()

    report = keeper.end()

    assert time.monotonic() - before < 5.0
    assert keeper.status(report) == 7
    assert report["killed"] == []
    assert keeper.program in report["reaped"]


@pytest.mark.slow
def test_a_program_that_tidies_up_when_asked_is_left_to_do_so(keep: Start) -> None:
    tidy = "lambda *_: (signal.sigtimedwait([], 0.3), sys.exit(7))"
    keeper = keep(f"signal.signal(signal.SIGTERM, {tidy}); announce('program'); stay()")
    keeper.announced(1)

    assert keeper.status(keeper.end()) == 7


def test_a_program_that_ignores_being_asked_is_killed_after_its_grace(keep: Start) -> None:
    keeper = keep("ignore(signal.SIGTERM, signal.SIGHUP); announce('program'); stay()", grace=0.4)
    keeper.announced(1)
    before = time.monotonic()

    report = keeper.end()

    assert time.monotonic() - before >= 0.4
    assert keeper.status(report) == -signal.SIGKILL
    assert report["killed"] == [keeper.program]


def test_a_hurried_end_skips_the_grace(keep: Start) -> None:
    keeper = keep(
        "ignore(signal.SIGTERM, signal.SIGHUP); announce('program'); stay()", grace=60.0, hurry=True
    )
    keeper.announced(1)
    before = time.monotonic()

    assert keeper.status(keeper.end()) == -signal.SIGKILL
    assert time.monotonic() - before < 5.0


def test_a_shell_that_ignores_termination_ends_by_hanging_up(keep: Start) -> None:
    keeper = keep("ignore(signal.SIGTERM); announce('program'); stay()", grace=60.0)
    keeper.announced(1)

    assert keeper.status(keeper.end()) == -signal.SIGHUP


def test_a_stopped_program_ends_when_asked(keep: Start) -> None:
    handler = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))"
    keeper = keep(f"{handler}\nannounce('program')\nos.kill(0, signal.SIGSTOP)", grace=60.0)
    keeper.announced(1)

    assert keeper.status(keeper.end()) == 7


def test_what_a_program_left_behind_when_it_ended_is_ended_too(keep: Start) -> None:
    keeper = keep("forked(lambda: (os.setsid(), announce('left'), stay()))")
    left = keeper.announced(1)["left"]
    handle = os.pidfd_open(keeper.program)
    assert select.select([handle], [], [], DEADLINE)[0]
    os.close(handle)

    report = keeper.end()

    assert keeper.status(report) == 0
    assert left in report["killed"]
    assert keeper.all_have_ended()


def test_ending_a_tree_imports_nothing(keep: Start) -> None:
    keeper = keep("announce('program'); stay()")
    keeper.announced(1)

    assert keeper.end()["imported"] == []


@pytest.mark.slow
def test_marked_processes_of_an_agent_without_a_keeper_have_ended_when_they_are_reported_so(
    tmp_path: Path,
) -> None:
    """Also where the system takes a while to end it, as it does with one that has much memory."""
    code = "held = bytearray(b'x' * (200 << 20)); print('ready', flush=True); input()"
    environment = {**os.environ, "FLEET_AGENT_ID": AGENT}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as left:
        assert left.stdout is not None
        assert left.stdout.readline() == b"ready\n"

        ended = leftovers.end(leftovers.Traces(AGENT), state_folder=str(tmp_path))

        assert not is_alive(left.pid)
        assert ended == [left.pid]
