"""Processes that survive an agent's keeper: ended if they provably belong to the agent, otherwise reported."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui import paths
from fleet_tui.fleet import Fleet
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_holder, read_strays
from fleet_tui.models import Agent, Status
from fleet_tui.system import identity, leftovers, processes, systemd_scope
from tests.holder.holders import wait_until
from tests.scripted import is_alive, program, start_cli

UNIFIED = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))


def started(fleet: Fleet, tmp_path: Path, *kinds: str) -> tuple[Agent, dict[str, int]]:
    """An agent that has left these, with their pids."""
    told = tmp_path / "told"
    one = fleet.create("one", profile=program(tmp_path, "strays", told, *kinds))
    wait_until(lambda: told.exists() and told.read_text().count("\n") == len(kinds), "its strays")
    pids = {kind: int(pid) for kind, pid in (line.split() for line in told.read_text().splitlines())}
    wait_until(
        lambda: all(processes.environment(pid) == [b""] for pid in pids.values()), "an empty environment"
    )
    return one, pids


def kill_keeper(one: Agent) -> None:
    assert one.keeper_pid is not None
    os.kill(one.keeper_pid, signal.SIGKILL)
    wait_until(lambda: not is_held(paths.lock(one.id)), "the lock being free")


def noted(one: Agent) -> set[int]:
    return {pid for pid, _ in read_strays(paths.run(one.id, one.run))}


@contextlib.contextmanager
def ended(*pids: int) -> Iterator[None]:
    """Kill these processes even after a failed test: they have no mark by which the cleanup would find them."""
    try:
        yield
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_process_without_a_mark_is_known_by_the_terminal_it_has_open(fleet: Fleet, tmp_path: Path) -> None:
    one, pids = started(fleet, tmp_path, "tty")
    with ended(*pids.values()):
        kill_keeper(one)

        fleet.kill([fleet.find("one")])

        assert not is_alive(pids["tty"])


@pytest.mark.slow
def test_a_process_without_a_mark_is_known_by_the_keepers_list(fleet: Fleet, tmp_path: Path) -> None:
    one, pids = started(fleet, tmp_path, "silent", "inside")
    with ended(*pids.values()):
        wait_until(lambda: noted(one) == set(pids.values()), "both on the list")
        kill_keeper(one)

        [stopped] = fleet.stop([fleet.find("one")])

        assert stopped.status is Status.LOST
        assert not any(map(is_alive, pids.values()))


@pytest.mark.slow
def test_a_later_process_with_the_number_of_one_on_the_list_is_left_alone(
    fleet: Fleet, tmp_path: Path
) -> None:
    one, pids = started(fleet, tmp_path, "silent")
    with ended(*pids.values()):
        wait_until(lambda: noted(one) == set(pids.values()), "it on the list")
        kill_keeper(one)
        file = paths.run(one.id, one.run) / "strays.json"
        [[pid, begun]] = json.loads(file.read_text())["processes"]
        file.write_text(json.dumps({"processes": [[pid, begun - 1]]}))

        fleet.kill([fleet.find("one")])

        assert is_alive(pids["silent"])


@pytest.mark.slow
def test_what_cannot_be_proven_is_named_by_kill_and_doctor_and_not_ended(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    one, pids = started(fleet, tmp_path, "inside")
    with ended(*pids.values()):
        wait_until(lambda: noted(one) == set(pids.values()), "it on the list")
        kill_keeper(one)
        (paths.run(one.id, one.run) / "strays.json").unlink()

        stopping = start_cli(repository, "stop", "one")
        assert f"{pids['inside']} (sleep)" in stopping.communicate(timeout=60)[1]
        killing = start_cli(repository, "kill", "-f", "one")
        assert (
            f"may have left these running, they use its worktree: {pids['inside']} (sleep)"
            in (killing.communicate(timeout=60)[1])
        )

        named = [finding for finding in fleet.examine() if str(pids["inside"]) in finding.text]
        assert [(finding.level, finding.fix) for finding in named] == [("warning", None)]
        assert is_alive(pids["inside"])


@pytest.mark.pure
def test_a_process_in_the_agents_scope_is_the_agents() -> None:
    groups = "1:cpu:/\n0::/user.slice/user-1000.slice/user@1000.service/app.slice/fleet-abc-2.scope\n"

    assert systemd_scope.is_agents(groups, "abc")
    assert not systemd_scope.is_agents(groups, "ab")
    assert not systemd_scope.is_agents("0::/fleet-abc-2.scope.d/other.service\n", "abc")
    assert not systemd_scope.is_agents("", "abc")


def test_a_process_is_found_by_the_control_group_of_the_agents_scope(tmp_path: Path) -> None:
    group = next((base / "fleet-abc-7.scope" for base in UNIFIED if (base / "cgroup.procs").exists()), None)
    if group is None:
        pytest.skip("there are no control groups here")
    try:
        group.mkdir()
    except OSError:
        pytest.skip("control groups cannot be made here")
    with subprocess.Popen(["sleep", "1000"], env={}, start_new_session=True) as child:
        try:
            (group / "cgroup.procs").write_text(str(child.pid))

            assert leftovers.end(leftovers.Traces("abd"), state_folder=str(tmp_path)) == []
            assert leftovers.end(leftovers.Traces("abc"), state_folder=str(tmp_path)) == [child.pid]
        finally:
            child.kill()
            child.wait()
            wait_until(lambda: not (group / "cgroup.procs").read_text(), "an empty group")
            group.rmdir()


def test_the_terminal_on_record_is_the_programs(fleet: Fleet, tmp_path: Path) -> None:
    one = fleet.create("one", profile=program(tmp_path, "echoes"))

    found = read_holder(paths.run(one.id, one.run))

    assert found is not None
    assert found.terminal == identity.terminal(f"/proc/{one.pid}/fd/0") != ()
