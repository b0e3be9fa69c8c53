"""The machine's processes: which run, which descend from which, and which hold a lock."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleet_tui.system import agent_processes, identity, processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these read /proc")

DEADLINE = 20.0


def found(pid: int) -> processes.Process:
    process = processes.look_up(pid)
    assert process is not None
    return process


def test_a_zombie_is_not_running() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    zombie = found(child.pid)

    assert zombie.state == "Z"
    assert not processes.is_running(zombie.pid, zombie.started)
    assert processes.snapshot()[child.pid].state == "Z"

    child.wait()
    assert processes.look_up(child.pid) is None


def test_a_process_whose_first_thread_has_ended_is_running() -> None:
    code = """
import ctypes, os, sys, threading
threading.Thread(target=lambda: (print("here", flush=True), sys.stdin.read(), os._exit(0))).start()
ctypes.CDLL(None).pthread_exit(None)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        deadline = time.monotonic() + DEADLINE
        while b" Z " not in Path(f"/proc/{child.pid}/stat").read_bytes():
            assert time.monotonic() < deadline
        process = found(child.pid)

        assert processes.is_running(process.pid, process.started)
        child.communicate(timeout=DEADLINE)


def test_a_later_process_with_the_same_number_is_another() -> None:
    me = found(os.getpid())

    assert processes.is_running(me.pid, me.started)
    assert not processes.is_running(me.pid, me.started - 1)


def test_a_name_with_brackets_and_spaces_does_not_confuse(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([str(odd), "60"], start_new_session=True) as child:
        process = processes.snapshot()[child.pid]
        child.kill()

    assert (process.ppid, process.session) == (os.getpid(), child.pid)


def test_descendants_come_parents_first_and_stop_where_told() -> None:
    table = {
        pid: process(pid, ppid) for pid, ppid in [(1, 0), (5, 1), (4, 5), (3, 4), (9, 1), (8, 9), (7, 7)]
    }

    assert [each.pid for each in processes.descendants(table, 1)] == [5, 9, 4, 8, 3]
    assert [each.pid for each in processes.descendants(table, 1, stop_at={4}.__contains__)] == [5, 9, 8]
    assert processes.descendants(table, 7) == []


def process(pid: int, ppid: int) -> processes.Process:
    return processes.Process(pid, ppid, pid, pid, "S", 0, 0.0, 0.0, 0)


def test_only_a_file_named_lock_below_the_state_folder_makes_a_holder(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "agents" / "a").mkdir(parents=True)
    (tmp_path / "link").symlink_to(state)
    for name in ("lock", "state/agents/a/other"):
        with (tmp_path / name).open("w"):
            assert not agent_processes.holds_fleet_lock(os.getpid(), str(state))
    with (state / "agents/a/lock").open("w"):
        assert agent_processes.holds_fleet_lock(os.getpid(), str(state))
        assert agent_processes.holds_fleet_lock(os.getpid(), str(tmp_path / "link"))
        assert not agent_processes.holds_fleet_lock(os.getpid(), str(state), but_not=str(state / "agents/a"))
        (state / "agents/a/lock").unlink()
        assert agent_processes.holds_fleet_lock(os.getpid(), str(state))


def test_a_process_that_is_gone_holds_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()

    assert not agent_processes.holds_fleet_lock(child.pid, "/")


def test_psutil_sees_the_same_processes() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    ) as child:
        mine = processes.snapshot()[child.pid]
        theirs = processes.snapshot(portable=True)[child.pid]
        child.kill()

    assert (mine.ppid, mine.pgrp, mine.session) == (theirs.ppid, theirs.pgrp, theirs.session)
    assert theirs.is_alive


def test_the_machine_is_named_the_same_each_time() -> None:
    assert identity.machine_id() == identity.machine_id() != ""
    assert identity.boot_id() == identity.boot_id() != ""
    assert identity.pid_namespace().startswith("pid:")


def test_the_process_table_loads_neither_psutil_nor_ctypes() -> None:
    heavy = ("psutil", "ctypes", "subprocess")
    code = f"import sys, fleet_tui.system.usage; print([name for name in {heavy} if name in sys.modules])"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"
