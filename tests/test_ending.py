"""Agents that resist being ended: `stop` and `kill` end them in a bounded time and report what happened."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from fleet_tui import holder as holding
from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder import StopRequest, has_unread_requests
from fleet_tui.models import Status
from tests.conftest import processes_of
from tests.disks import small_disk
from tests.holders import start_holder, wait_until
from tests.programs import FLEET, agent, is_alive, program, start_cli

SECONDS = 20.0
FOR_EVER = 99_999.0


def request(cause: str, grace: float, number: str) -> StopRequest:
    return StopRequest(cause, grace, number)


# ── a second request ────────────────────────────────────────────────────────────────────────────────────────────


def test_a_second_request_ends_the_grace_of_the_first(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("stubborn")) as holder:
        with holder.session() as session:
            assert session.wait_for(lambda view: "ready" in view.text(), seconds=SECONDS)
            assert holding.request_stop(holder.folder, holder.lock, request("stop", FOR_EVER, "first"))
            assert session.wait_for(lambda view: "no to SIGTERM" in view.text(), seconds=SECONDS)
        assert is_alive(holder.pid)

        assert holding.request_stop(holder.folder, holder.lock, request("kill", FOR_EVER, "second"))

        end = holder.exit()
        assert (end.cause, end.signal) == ("kill", signal.SIGKILL)


def test_a_second_request_that_comes_as_a_file_and_a_signal_counts_too(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("stubborn")) as holder:
        with holder.session() as session:
            assert session.wait_for(lambda view: "ready" in view.text(), seconds=SECONDS)
            assert holding.request_stop(holder.folder, holder.lock, request("stop", FOR_EVER, "first"))
            assert session.wait_for(lambda view: "no to SIGTERM" in view.text(), seconds=SECONDS)
        # As a version without pipes asks: it knows no ids.
        holding.request_pipe(holder.lock).unlink()

        assert holding.request_stop(holder.folder, holder.lock, StopRequest("kill", FOR_EVER))

        assert holder.exit().cause == "kill"


@pytest.mark.slow
def test_kill_ends_what_a_stop_with_a_long_grace_waits_for(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    paths.user_config().parent.mkdir(parents=True)
    paths.user_config().write_text(f"[fleet]\nstop_grace = {FOR_EVER}\n")
    one = fleet.create("one", profile=program(tmp_path, "stubborn"))
    wait_until(lambda: "ready" in fleet.peek("one"), "the program")
    stopping = start_cli(repository, "stop", "one")
    wait_until(lambda: "no to SIGTERM" in fleet.peek("one"), "the first request")

    killing = start_cli(repository, "kill", "-f", "one")

    assert killing.communicate(timeout=SECONDS)[0].startswith("one  killed")
    stopping.communicate(timeout=SECONDS)
    assert (killing.returncode, processes_of(one)) == (0, [])


@pytest.mark.slow
def test_kill_ends_a_setup_command_that_ignores_the_first_request(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    (repository / ".aifleet").mkdir()
    command = "trap '' TERM INT HUP; echo waiting; while :; do sleep 100; done"
    settings = f'[setup]\ncommands = ["{command}"]\n[fleet]\nstop_grace = {FOR_EVER}\n'
    paths.user_config().parent.mkdir(parents=True)
    paths.user_config().write_text(settings)
    one = fleet.create("one", profile=program(tmp_path, "echoes"))
    wait_until(lambda: "waiting" in fleet.peek("one"), "the setup command")
    stopping = start_cli(repository, "stop", "one")
    lock = paths.lock(one.id)
    wait_until(
        lambda: fleet.find("one").status is Status.SETUP and not has_unread_requests(lock), "a request"
    )

    killing = start_cli(repository, "kill", "-f", "one")

    assert killing.communicate(timeout=SECONDS)[0].startswith("one  killed")
    stopping.communicate(timeout=SECONDS)
    assert (killing.returncode, processes_of(one)) == (0, [])


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
        fleet = Fleet(repository)
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
