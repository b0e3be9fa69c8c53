"""Agents that resist being ended: `stop` and `kill` end them in a bounded time and report what happened."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import Exit, write_record
from fleet_tui.holder.stop_requests import StopRequest, has_unread_requests, request_pipe, request_stop
from fleet_tui.lifecycle import ending
from fleet_tui.models import Agent, Status
from fleet_tui.system import identity, processes
from tests.conftest import processes_of
from tests.holder.holders import start_holder, wait_until
from tests.holder.screens import wait_for_screen
from tests.scripted import FLEET, agent, is_alive, program, start_cli
from tests.system.small_disks import small_disk
from tests.watched_fleet import WatchedFleet

SECONDS = 20.0
FOR_EVER = 99_999.0
DEAF_HOLDER = Path(__file__).with_name("deaf_holder.py")


def request(cause: str, grace: float, number: str) -> StopRequest:
    return StopRequest(cause, grace, number)


# ── a second request ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_request_ends_the_grace_of_the_first(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("stubborn")) as holder:
        with holder.session() as session:
            assert wait_for_screen(session, lambda view: "ready" in view.text(), seconds=SECONDS)
            assert request_stop(holder.folder, holder.lock, request("stop", FOR_EVER, "first"))
            assert wait_for_screen(session, lambda view: "no to SIGTERM" in view.text(), seconds=SECONDS)
        assert is_alive(holder.pid)

        assert request_stop(holder.folder, holder.lock, request("kill", FOR_EVER, "second"))

        end = holder.exit()
        assert (end.cause, end.signal) == ("kill", signal.SIGKILL)


def test_a_second_request_that_comes_as_a_file_and_a_signal_counts_too(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("stubborn")) as holder:
        with holder.session() as session:
            assert wait_for_screen(session, lambda view: "ready" in view.text(), seconds=SECONDS)
            assert request_stop(holder.folder, holder.lock, request("stop", FOR_EVER, "first"))
            assert wait_for_screen(session, lambda view: "no to SIGTERM" in view.text(), seconds=SECONDS)
        # As a version without pipes asks: it knows no ids.
        request_pipe(holder.lock).unlink()

        assert request_stop(holder.folder, holder.lock, StopRequest("kill", FOR_EVER))

        assert holder.exit().cause == "kill"


@pytest.mark.parametrize(
    "noise",
    [b"[" * 3000 + b"\n", b"half a line", b"x" * 5000, b"{}\n[1]\nnull\n", b'{"run": 1, "grace": NaN}'],
)
def test_noise_in_the_pipe_does_not_hide_a_request(tmp_path: Path, noise: bytes) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        with request_pipe(holder.lock).open("wb", buffering=0) as pipe:
            pipe.write(noise)

        assert request_stop(holder.folder, holder.lock, request("kill", FOR_EVER, "one"))

        assert holder.exit().cause == "kill"


@pytest.mark.slow
def test_a_program_that_floods_the_pipe_is_ended(tmp_path: Path) -> None:
    code = (
        "import sys; pipe = open(sys.argv[1], 'wb', buffering=0); pipe.write(b'x' * 70000)\n"
        "print('ready', flush=True)\nwhile True: pipe.write(b'x' * 4096)"
    )
    pipes = tmp_path / "state" / "agents" / "*" / "requests"
    with start_holder(tmp_path, ["/bin/sh", "-c", f'exec {sys.executable} -c "$0" {pipes}', code]) as holder:
        with holder.session() as session:
            assert wait_for_screen(session, lambda view: "ready" in view.text(), seconds=SECONDS)

        request_stop(holder.folder, holder.lock, request("kill", 1.0, "one"))

        assert holder.exit().cause == "kill"


def kills_at_once(repository: Path, one: Agent, stopping: subprocess.Popen[str]) -> None:
    """A kill ends what a stop is still waiting for."""
    killing = start_cli(repository, "kill", "-f", one.name)

    assert killing.communicate(timeout=SECONDS)[0].startswith(f"{one.name}  killed")
    stopping.communicate(timeout=SECONDS)
    assert (killing.returncode, processes_of(one)) == (0, [])


@pytest.mark.slow
def test_kill_ends_what_a_stop_with_a_long_grace_waits_for(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text(f"[fleet]\nstop_grace = {FOR_EVER}\n")
    one = fleet.create("one", profile=program(tmp_path, "stubborn"))
    wait_until(lambda: "ready" in fleet.peek(fleet.find("one")), "the program")
    stopping = start_cli(repository, "stop", "one")
    wait_until(lambda: "no to SIGTERM" in fleet.peek(fleet.find("one")), "the first request")

    kills_at_once(repository, one, stopping)


@pytest.mark.slow
def test_kill_ends_a_setup_command_that_ignores_the_first_request(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    (repository / ".aifleet").mkdir()
    command = "trap '' TERM INT HUP; echo waiting; while :; do sleep 100; done"
    settings = f'[setup]\ncommands = ["{command}"]\n[fleet]\nstop_grace = {FOR_EVER}\n'
    paths.user_config().parent.mkdir(parents=True, exist_ok=True)
    paths.user_config().write_text(settings)
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    wait_until(lambda: "waiting" in fleet.peek(fleet.find("one")), "the setup command")
    stopping = start_cli(repository, "stop", "one")
    lock = paths.lock(one.id)
    wait_until(
        lambda: fleet.find("one").status is Status.SETUP and not has_unread_requests(lock), "a request"
    )

    kills_at_once(repository, one, stopping)


# ── a store that cannot be written ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_agents_are_stopped_while_another_process_keeps_the_store_locked(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    with contextlib.closing(sqlite3.connect(paths.store(), isolation_level=None)) as other:
        other.execute("begin immediate")

        stopping = start_cli(repository, "stop", "one")
        out, err = stopping.communicate(timeout=SECONDS)

        assert (stopping.returncode, out.split(), processes_of(one)) == (0, ["one", "stopped"], [])
        assert "stayed locked" in err
        killing = start_cli(repository, "kill", "-f", "one")
        assert "one has ended, but is not recorded in the trash" in killing.communicate(timeout=60)[1]
        other.execute("rollback")
    assert fleet.find("one").status is Status.STOPPED
    assert [kept.agent.name for kept in fleet.kill([fleet.find("one")])] == ["one"]


@pytest.mark.slow
def test_agents_of_a_read_only_state_folder_are_listed_and_stopped(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", size="8m") as disk:
        monkeypatch.setenv("XDG_STATE_HOME", str(disk))
        fleet = WatchedFleet(repository)
        one = fleet.create("one", profile=program(tmp_path, "echoes"))
        fleet.close()
        # No process keeps a file there open for writing any more but the holder: a mount of its own for the command.
        command = f'mount --bind {disk} {disk} && mount -o remount,bind,ro {disk} && exec "$@"'
        inside = ["unshare", "--mount", "sh", "-c", command, "sh", *FLEET]

        listed = subprocess.run(
            [*inside, "list"], cwd=repository, capture_output=True, text=True, check=False
        )
        assert (listed.returncode, "one" in listed.stdout) == (0, True), listed.stderr
        stopped = subprocess.run(
            [*inside, "stop", "one"], cwd=repository, capture_output=True, text=True, check=False
        )

        assert (stopped.returncode, stopped.stdout.split()) == (0, ["one", "stopped"]), stopped.stderr
        assert "cannot be written" in stopped.stderr
        assert processes_of(one) == []


# ── holders that cannot react ───────────────────────────────────────────────────────────────────────────────────


def test_a_suspended_keeper_is_woken_to_end_its_program(fleet: Fleet, tmp_path: Path) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    assert one.keeper_pid is not None
    os.kill(one.keeper_pid, signal.SIGSTOP)

    [stopped] = fleet.stop([one], grace=0.2)

    assert (stopped.status, processes_of(one)) == (Status.STOPPED, [])


def test_a_suspended_program_is_ended(fleet: Fleet, tmp_path: Path) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    assert one.pid is not None
    os.kill(one.pid, signal.SIGSTOP)

    [stopped] = fleet.stop([one], grace=FOR_EVER)

    assert (stopped.status, stopped.exit_signal, processes_of(one)) == (Status.STOPPED, signal.SIGTERM, [])


@pytest.mark.slow
def test_a_stop_reaches_an_agent_from_another_pid_namespace(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("namespaces are not permitted here")

    stopped = subprocess.run(
        [*inside, *FLEET, "stop", "one"], cwd=repository, capture_output=True, text=True, check=False
    )

    assert (stopped.returncode, stopped.stdout.split()) == (0, ["one", "stopped"]), stopped.stderr
    assert processes_of(one) == []


@pytest.mark.slow
def test_an_agent_whose_run_folder_was_deleted_is_ended(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    shutil.rmtree(paths.run(one.id, one.run))

    killed = fleet.kill([fleet.find("one")], grace=0.2)

    assert ([kept.agent.name for kept in killed], processes_of(one)) == (["one"], [])


@pytest.mark.slow
def test_an_agent_whose_lock_was_deleted_with_its_folder_is_ended(fleet: Fleet, tmp_path: Path) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    shutil.rmtree(paths.agent(one.id))
    assert fleet.find("one").status is Status.LOST

    fleet.stop([fleet.find("one")])

    assert processes_of(one) == []
    assert not is_alive(one.keeper_pid or 0)


def _folder_for_lock(agent: Agent) -> None:
    paths.lock(agent.id).unlink()
    paths.lock(agent.id).mkdir()


def _forged_end(agent: Agent) -> None:
    paths.lock(agent.id).unlink()
    write_record(paths.run(agent.id, agent.run) / "exit.json", Exit("exited", time.time(), code=0))


def _lock_moved_away(agent: Agent) -> None:
    paths.lock(agent.id).rename(paths.agent(agent.id) / "other")
    write_record(paths.run(agent.id, agent.run) / "exit.json", Exit("exited", time.time(), code=0))


def _pipe_for_lock_and_no_record(agent: Agent) -> None:
    paths.lock(agent.id).unlink()
    os.mkfifo(paths.lock(agent.id))
    (paths.run(agent.id, agent.run) / "holder.json").unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [_folder_for_lock, _forged_end, _lock_moved_away, _pipe_for_lock_and_no_record]
)
def test_an_agent_that_hides_that_it_runs_is_ended(
    fleet: Fleet, tmp_path: Path, way: Callable[[Agent], None]
) -> None:
    """Nothing in its own folder, where an agent can write, keeps its processes alive after a kill."""
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    way(one)

    killed = fleet.kill([fleet.find("one")], grace=0.2)

    assert ([kept.agent.name for kept in killed], processes_of(one)) == (["one"], [])
    wait_until(lambda: not is_alive(one.keeper_pid or 0), "the keeper's end")


@contextlib.contextmanager
def deaf_holder(way: str) -> Iterator[tuple[Agent, int, int]]:
    """A holder that reads no request: the agent, and the pids of holder and program."""
    one = replace(agent_row("deaf"), machine=identity.here())
    folder = paths.private(paths.run(one.id, 1))
    with subprocess.Popen(
        [sys.executable, DEAF_HOLDER, str(folder), way], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        program = int(holder.stdout.readline())
        try:
            yield one, holder.pid, program
        finally:
            holder.kill()
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, signal.SIGKILL)


def agent_row(name: str) -> Agent:
    return Agent(
        id=name, name=name, project="/project", branch=name, base="", worktree="/nowhere", batch="", profile="",
        argv=(), prompt="", status=Status.WORKING, created_at=0.0,
    )  # fmt: skip


@pytest.mark.slow
def test_a_holder_that_reads_no_request_is_ended_with_all_below_it() -> None:
    with deaf_holder("pipe") as (one, holder, running):
        assert ending.stop([one], cause="kill", grace=FOR_EVER, margin=1.0) == []

        assert not is_alive(holder)
        assert not is_alive(running)


@pytest.mark.slow
def test_a_keeper_of_an_earlier_version_in_a_long_grace_is_ended_by_a_second_request() -> None:
    with deaf_holder("signal") as (one, holder, running):
        folder = paths.run(one.id, 1)
        assert request_stop(folder, paths.lock(one.id), request("stop", FOR_EVER, "first"))
        assert is_alive(running)

        assert ending.stop([one], cause="kill", grace=FOR_EVER) == []

        assert not is_alive(holder)
        assert not is_alive(running)


@pytest.mark.slow
def test_a_git_that_outlived_its_launcher_and_hangs_is_ended(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho $$ >> {told}\nsleep 1000\n")
    hook.chmod(0o755)
    creating = start_cli(repository, "create", "hangs", "-a", program(tmp_path, "echoes"))
    wait_until(told.exists, "the hook")
    one = fleet.find("hangs")
    for pid in launcher_of(creating.pid):
        os.kill(pid, signal.SIGKILL)
    assert is_held(paths.lock(one.id)), "git holds the agent"

    assert ending.stop([one], cause="kill", grace=0.2, margin=1.0) == []
    fleet.kill([one])

    creating.communicate(timeout=SECONDS)
    assert not any(is_alive(int(pid)) for pid in told.read_text().split())
    assert fleet.store.agents.get(one.id).status is Status.KILLED


def launcher_of(face: int) -> list[int]:
    """Both processes of the launcher that a command has started."""
    table = processes.snapshot()
    return [
        one.pid
        for one in processes.descendants(table, face)
        if b"fleet_tui.lifecycle.launcher" in Path(f"/proc/{one.pid}/cmdline").read_bytes()
    ]
