"""Kill every process that may die at random moments: agents keep running, and every record is right.

The seed of each run is in the test's name; the moments are still the machine's own.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder import wire
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_exit, read_holder
from fleet_tui.holder.session import open_session
from fleet_tui.holder.transcript import segments
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.lifecycle.start import AT_ONCE_SECONDS
from fleet_tui.models import Agent, Status
from fleet_tui.system import processes
from tests.conftest import processes_of
from tests.git.repositories import branches, entries
from tests.holder.holders import RunningHolder, last_output, living_server, start_holder, wait_until
from tests.holder.screens import shows
from tests.scripted import agent, is_alive, program, start_cli

SECONDS = 20.0

often = pytest.mark.parametrize(
    "times", [20, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])]
)
"""How often something is killed."""


def numbers(text: str) -> list[int]:
    """The numbers in the flood's complete lines."""
    lines = text.split("\n")[1:-1]
    return [int(line.split()[1]) for line in lines if line.startswith("line ") and line.split()[1].isdigit()]


# ── clients ─────────────────────────────────────────────────────────────────────────────────────────────────────

CLIENT = """
import sys, time
from pathlib import Path
from fleet_tui.holder.session import Session
folder, lock, rate = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
with Session.open(folder, lock, "x", kind="terminal", cols=90, rows=30, rate=rate) as session:
    print("here", flush=True)
    while True:
        session.send("text", data=b"x")
        session.resize(80 + int(time.time() * 100) % 20, 24)
        for message in session.messages(time.monotonic() + 0.001):
            pass
"""


def rude_messages(chance: random.Random) -> Iterator[bytes]:
    """What a client may send before it disconnects: valid messages, garbage, and parts of both."""
    hello = wire.pack(
        "hello", v=1, kind=chance.choice(["pane", "terminal", "reader"]), cols=70, rows=20, rate=60
    )
    pieces = (
        hello,
        wire.pack("key", events=[["a", "a", False, False, False, False, "press", ""]]),
        wire.pack("resize", cols=chance.randrange(200), rows=chance.randrange(80)),
        wire.pack("peek", id=1),
        wire.pack("rows", id=2, start=0, count=500),
        wire.pack("paste", text="x" * chance.randrange(5000)),
        chance.randbytes(chance.randrange(1, 200)),
        struct.pack(">I", chance.choice([0, 5, wire.LIMIT + 1, 2**32 - 1])),
    )
    yield hello
    for _ in range(chance.randrange(8)):
        piece = chance.choice(pieces)
        yield piece if chance.random() < 0.7 else piece[: chance.randrange(len(piece))]


def visit_rudely(address: str, chance: random.Random) -> None:
    """Connect, say something, read little or nothing, and be gone without a word."""
    with socket.socket(socket.AF_UNIX) as connection, contextlib.suppress(OSError):
        connection.settimeout(5.0)
        connection.connect(address)
        for piece in rude_messages(chance):
            connection.sendall(piece)
        if chance.random() < 0.5:
            connection.recv(chance.randrange(1, 3000))


@often
def test_clients_that_are_killed_or_misbehave_during_a_flood_do_no_harm(tmp_path: Path, times: int) -> None:
    chance = random.Random(times)
    with start_holder(tmp_path, agent("flood")) as holder, holder.session() as witness:
        assert shows("line", witness)
        server = holder.living_server()
        found = read_holder(holder.folder)
        assert found is not None
        visitors = [
            threading.Thread(target=_visit_often, args=(found.socket, chance.random(), times * 2))
            for _ in range(3)
        ]
        for visitor in visitors:
            visitor.start()
        for _ in range(times // 10):
            kill_clients(holder, chance, 10)
            assert witness.ask("ping")["t"] == "answer"
        for visitor in visitors:
            visitor.join()

        assert holder.server_pid() == server, holder.complaints()
        assert is_alive(holder.pid)
        before = segments.list_segments(holder.folder)[-1].end
        wait_until(lambda: segments.list_segments(holder.folder)[-1].end > before, "more output")
        with holder.session() as another:
            assert shows("line", another)


def _visit_often(address: str, seed: float, times: int) -> None:
    chance = random.Random(seed)
    for _ in range(times):
        visit_rudely(address, chance)


def kill_clients(holder: RunningHolder, chance: random.Random, count: int) -> None:
    """Client processes, each killed at some moment of its life."""
    command = [sys.executable, "-c", CLIENT, str(holder.folder), str(holder.lock)]
    clients = [
        subprocess.Popen([*command, str(chance.choice([0, 5, 60]))], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    for client in clients:
        assert client.stdout is not None
        if chance.random() < 0.8:
            assert client.stdout.readline() == "here\n"
        client.kill()
        client.communicate()


# ── the command line ────────────────────────────────────────────────────────────────────────────────────────────


@often
def test_commands_killed_at_any_moment_leave_every_record_right(
    fleet: Fleet, repository: Path, tmp_path: Path, times: int
) -> None:
    chance = random.Random(times)
    echoes = program(tmp_path, "echoes")
    steady = fleet.create("steady", profile=echoes)
    for number in range(times):
        command = chance.choice(
            [["list"], ["list", "--json"], ["prompt", "steady", f"word {number}"], ["logs", "steady"]]
            + [["create", f"new-{number}", "-a", echoes]] * 2
        )
        process = start_cli(repository, *command)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.random() * 0.6)
        process.kill()
        process.communicate()
        if number % 20 == 19:
            check_records(fleet, repository)
            fleet.kill(
                [one for one in fleet.agents() if one.name.startswith("new-") and not one.has_ended],
                grace=0.1,
            )

    assert fleet.store.check() == []
    found = fleet.find("steady")
    assert (found.pid, found.has_ended) == (steady.pid, False)
    # At once: behind the words that wait for their turn it would take as long as they do.
    fleet.prompts.send(fleet.find("steady"), "still there?", now=True)
    wait_until(
        lambda: any("got: still there?" in line for line in fleet.peek(fleet.find("steady"))), "an answer"
    )
    words = [int(line.split()[-1]) for line in fleet.logs(found, 5 * times) if line.startswith("got: word ")]
    assert words == sorted(set(words))


def check_records(fleet: Fleet, repository: Path, agents: list[Agent] | None = None) -> None:
    """Each of these agents (or all) runs, or failed with nothing half made."""
    wait_until(lambda: is_settled(fleet), "the launchers' end", seconds=60)
    everybody = fleet.agents()
    chosen = {one.id for one in (everybody if agents is None else agents)}
    known, made = branches(repository), entries(repository)
    for one in everybody:
        if one.id not in chosen or one.status is Status.KILLED:
            continue
        if one.has_ended:
            assert (one.status, one.status_detail) == (Status.FAILED, "its creation was interrupted"), one
            assert not Path(one.worktree).exists(), one
            assert Path(one.worktree).name not in made, one
            assert one.branch not in known, one
            assert processes_of(one) == [], one
        else:
            check_living(one)


def check_living(one: Agent) -> None:
    holder = read_holder(paths.run(one.id, one.run))
    assert holder is not None
    assert is_held(paths.lock(one.id)), one
    assert (one.pid, one.keeper_pid) == (holder.pid, holder.keeper_pid), one
    assert is_alive(holder.pid), one
    assert Path(one.worktree, "readme.txt").exists(), one


def is_settled(fleet: Fleet) -> bool:
    """No launcher is at work any more, and all that have ended are known to have."""
    return all(
        one.has_ended or (one.pid is not None and is_held(paths.lock(one.id))) for one in fleet.agents()
    )


# ── launchers ───────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class Killer:
    """Kills a launcher, one of its two processes or both, at some moment after it has started."""

    chance: random.Random
    span: float
    """What a launcher takes when it is left alone: on a busy machine all moments are later.

    Less after one that had ended before it was struck, and a little more after one that had not.
    """
    killed: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)

    def aim(self) -> None:
        which, delay = self.chance.choice(["forker", "worker", "both"]), self.chance.random() * self.span
        thread = threading.Thread(target=self._strike, args=(which, delay))
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _strike(self, which: str, delay: float) -> None:
        forker = _wait_for(_launcher)
        if forker is None:
            return
        time.sleep(delay)  # the moment of the kill is what this test is about
        worker = next((one.pid for one in processes.snapshot().values() if one.ppid == forker), None)
        before = self.killed
        for name, pid in (("worker", worker), ("forker", forker)):
            if which in (name, "both") and pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1
        self.span *= 1.05 if self.killed > before else 0.8


def _launcher() -> int | None:
    """The launcher that this process has started."""
    for one in processes.snapshot().values():
        if one.ppid == os.getpid() and one.is_alive:
            with contextlib.suppress(OSError):
                if b"fleet_tui.lifecycle.launcher" in Path(f"/proc/{one.pid}/cmdline").read_bytes():
                    return one.pid
    return None


def _wait_for(look: Callable[[], int | None]) -> int | None:
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
    return None


@often
def test_a_launcher_killed_at_any_moment_leaves_nothing_half_made(
    fleet: Fleet, repository: Path, tmp_path: Path, times: int
) -> None:
    echoes = program(tmp_path, "echoes")
    began = time.monotonic()
    fleet.create("unharmed", profile=echoes)
    killer = Killer(random.Random(times), time.monotonic() - began - AT_ONCE_SECONDS)
    outcomes: list[Status] = []
    failed: list[str] = []
    for number in range(1, times + 1):
        killer.aim()
        made = fleet.fanout(3 if number % 5 == 0 else 1, f"try-{number}", prompt="x", profile=echoes)
        killer.join()
        check_records(fleet, repository, made)
        made = [fleet.store.agents.get(one.id) for one in made]
        outcomes += [one.status for one in made]
        failed += [one.name for one in made if one.status is Status.FAILED]
        if number % 20 == 0:
            again = fleet.multi([(name, "again") for name in failed[:10]], profile=echoes)
            assert [one.name for one in again if one.has_ended] == []
            fleet.stop([one for one in fleet.agents() if not one.has_ended], grace=0.1)
            failed.clear()

    assert killer.killed >= times * 0.6
    assert Status.FAILED in outcomes
    assert set(outcomes) != {Status.FAILED}


# ── screen servers ──────────────────────────────────────────────────────────────────────────────────────────────

CRASHES = (signal.SIGKILL, signal.SIGSEGV, signal.SIGILL, signal.SIGABRT, signal.SIGBUS)
AT_ONCE = 4
"""Servers that are replaced more often within half a minute are replaced ever more slowly."""


@often
def test_screen_servers_that_crash_in_the_middle_of_a_flood_are_not_noticed(
    tmp_path: Path, times: int
) -> None:
    chance = random.Random(times)
    for _ in range(times // (5 * AT_ONCE)):
        with contextlib.ExitStack() as stack:
            holders = [
                stack.enter_context(start_holder(tmp_path, agent("flood", "gently"))) for _ in range(5)
            ]
            for _ in range(AT_ONCE):
                for holder in holders:
                    crash_server(holder, chance)
            for holder in holders:
                check_flood(holder)


def crash_server(holder: RunningHolder, chance: random.Random) -> None:
    server = holder.living_server()
    with holder.session(kind="terminal", cols=80, rows=24) as session:
        assert shows("line", session)
        start, before = segments.read(holder.folder, 0, 4096)
        for _message in session.messages(time.monotonic() + chance.random() * 0.05):
            pass
        os.kill(server, chance.choice(CRASHES))
    assert is_alive(holder.pid)
    assert segments.read(holder.folder, 0, 4096)[1].startswith(before)
    assert start == 0
    with holder.session(kind="terminal", cols=80, rows=24) as session:
        assert shows("line", session)
        assert (session.view.cols, session.view.rows) == (80, 24)


def check_flood(holder: RunningHolder) -> None:
    """Recorded numbers increase: no output was recorded twice or replayed."""
    os.kill(holder.pid, signal.SIGTERM)
    end = holder.exit()
    assert (end.cause, end.signal, end.lost_output) == ("exited", signal.SIGTERM, 0)
    printed = last_output(holder.folder, 64 << 20).decode("utf-8", "replace")
    counted = numbers(re.sub(r"\x1b\[[0-9;]*m", "", printed))
    assert len(counted) > 100
    assert all(later > earlier for earlier, later in pairwise(counted))
    assert "Traceback" not in holder.complaints()


def test_bytes_that_crash_every_server_that_reads_them_are_read_once(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nsys.stdout.write('poison'); sys.stdout.flush()\n"
        "signal.signal(signal.SIGWINCH, lambda *_: os.write(1, b'drawn again '))\n"
        "while True: signal.pause()"
    )
    with start_holder(tmp_path, [sys.executable, "-c", code]) as holder:
        wait_until(lambda: b"poison" in last_output(holder.folder, 100), "the poison")
        server = holder.living_server()
        os.kill(server, signal.SIGSEGV)
        wait_until(lambda: holder.server_pid() not in (0, server), "another server")
        with holder.session() as session:
            assert shows("drawn again", session)
            assert not any("poison" in line for line in session.view.text())
        assert last_output(holder.folder, 1000).count(b"poison") == 1


# ── keepers ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_agent_whose_keeper_is_killed_is_lost_and_all_that_is_left_of_it_is_found(
    fleet: Fleet, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    one = fleet.create("fix", profile=program(tmp_path, "escapes", told))
    wait_until(lambda: told.exists() and told.read_text().count("\n") == 5, "five escapes")
    (Path(one.worktree) / "work.txt").write_text("precious")
    assert one.keeper_pid is not None

    os.kill(one.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(one.pid or 0), "the end of the program")
    lost = fleet.find("fix")

    assert lost.status is Status.LOST
    assert (Path(lost.worktree) / "work.txt").read_text() == "precious"
    assert "ready" in last_lines(paths.run(one.id, 1), 9)
    finding = next(found for found in fleet.examine() if "left processes" in found.text)
    left = processes_of(one)
    assert left != []
    assert all(str(pid) in finding.text for pid in left)
    assert processes_of(one) == left, "looking changes nothing"
    assert finding.fix is not None
    finding.fix()
    wait_until(lambda: processes_of(one) == [], "the end of what was left")
    revived = fleet.revive(fleet.find("fix"))
    assert (revived.run, revived.has_ended) == (2, False)


@pytest.mark.slow
def test_a_socket_whose_folders_were_all_removed_is_bound_again(fleet: Fleet, tmp_path: Path) -> None:
    one = fleet.create("fix", profile=program(tmp_path, "echoes"))
    with open_session(one) as session:
        assert shows("ready", session)
    server = server_of(one)
    shutil.rmtree(os.environ["XDG_RUNTIME_DIR"])

    wait_until(lambda: is_served(fleet, one), "to be served again")

    assert server_of(one) == server
    assert fleet.find("fix").pid == one.pid


@pytest.mark.slow
def test_a_socket_that_cannot_be_bound_keeps_no_program_from_running(fleet: Fleet, tmp_path: Path) -> None:
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    one = fleet.create("fix", profile=program(tmp_path, "flood", 20_000))
    shutil.rmtree(runtime)
    runtime.write_text("a file in the way of the folder")
    os.kill(server_of(one), signal.SIGKILL)

    run = paths.run(one.id, 1)
    wait_until(lambda: b"END" in last_output(run, 3), "all that it prints")

    assert one.pid is not None
    os.kill(one.pid, signal.SIGTERM)
    wait_until(lambda: read_exit(run) is not None, "the end on record")
    runtime.unlink()


def server_of(one: Agent) -> int:
    return living_server(one.keeper_pid, one.pid)


def is_served(fleet: Fleet, one: Agent) -> bool:
    holder = read_holder(paths.run(one.id, one.run))
    if holder is None or not Path(holder.socket).exists():
        return False
    with open_session(one) as session:
        return bool(session.ask("ping")["t"] == "answer")
