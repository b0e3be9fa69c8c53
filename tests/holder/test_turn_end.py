"""The command that a screen server starts when a turn has ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.run_folder import read_strays
from fleet_tui.holder.server.turn_end import GAP_SECONDS, TurnEndCommand
from fleet_tui.models import Status
from fleet_tui.system import processes
from fleet_tui.system.usage import Sampler
from tests.holder.holders import RunningHolder, start_holder, wait_until
from tests.scripted import agent


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def appending(file: Path) -> tuple[str, ...]:
    return ("/bin/sh", "-c", f"echo x >> {file}")


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    return tmp_path / "ran"


def finish(turn_end: TurnEndCommand, now: float) -> None:
    turn_end.observed(Status.WORKING, now)
    turn_end.observed(Status.DONE, now)
    turn_end.tick(now)


def test_a_command_runs_after_a_turn_and_not_without_one(ran: Path) -> None:
    turn_end = TurnEndCommand(appending(ran))
    turn_end.observed(Status.IDLE, 100.0)
    assert turn_end.due() is None
    turn_end.observed(Status.WORKING, 101.0)
    turn_end.observed(Status.BLOCKED, 102.0)
    assert turn_end.due() is None

    turn_end.observed(Status.DONE, 103.0)
    turn_end.tick(103.0)

    wait_until(lambda: len(lines(ran)) == 1)
    turn_end.observed(Status.IDLE, 104.0)
    assert turn_end.due() is None, "seen by the user, no other turn"
    wait_until(lambda: not turn_end._is_running())


def test_turns_in_a_row_are_covered_by_one_command(ran: Path) -> None:
    turn_end = TurnEndCommand(appending(ran))
    finish(turn_end, 100.0)
    wait_until(lambda: len(lines(ran)) == 1)
    for moment in (101.0, 102.0, 103.0):
        finish(turn_end, moment)
    assert turn_end.due() == 100.0 + GAP_SECONDS
    wait_until(lambda: not turn_end._is_running())

    turn_end.tick(100.0 + GAP_SECONDS)

    wait_until(lambda: len(lines(ran)) == 2)
    assert turn_end.due() is None
    wait_until(lambda: not turn_end._is_running())


def test_a_finished_turn_that_waits_is_covered_when_the_program_is_stopped(ran: Path) -> None:
    turn_end = TurnEndCommand(appending(ran))
    finish(turn_end, 100.0)
    wait_until(lambda: len(lines(ran)) == 1)
    wait_until(lambda: not turn_end._is_running())
    finish(turn_end, 101.0)

    turn_end.program_ended(102.0, by_itself=False)

    wait_until(lambda: len(lines(ran)) == 2)
    wait_until(lambda: not turn_end._is_running())


@pytest.mark.parametrize("command", [(), ("/nowhere/python", "-m", "gone"), ("/bin/false",)])
def test_a_command_that_is_missing_or_fails_matters_to_nobody(command: tuple[str, ...]) -> None:
    turn_end = TurnEndCommand(command)

    finish(turn_end, 100.0)

    wait_until(lambda: not turn_end._is_running())
    assert turn_end.due() is None


# ── in a real holder ────────────────────────────────────────────────────────────────────────────────────────────


def report(holder: RunningHolder, line: str) -> None:
    folder = holder.folder.parents[3]
    (folder / "new").write_text(line)
    (folder / "new").replace(folder / "said")


def work(holder: RunningHolder) -> None:
    report(holder, "state=working")

    def is_seen() -> bool:
        events = read_events(holder.folder, 0)[1]
        return any(one["kind"] == "status" and one["data"]["status"] == "working" for one in events)

    wait_until(is_seen, "the status")


WAITING = 'echo $$ > {out}; while [ ! -e {go} ]; do sleep 0.01; done; ls -l /proc/$$/fd > {out}.fds; echo "$FLEET_AGENT_ID" > {out}.id'


@pytest.fixture
def start(tmp_path: Path) -> Callable[[], RunningHolder]:
    script = WAITING.format(out=tmp_path / "out", go=tmp_path / "go")
    return lambda: start_holder(
        tmp_path, agent("reports", tmp_path / "said"), after_turn=("/bin/sh", "-c", script)
    )


def test_the_command_is_neither_counted_noted_nor_killed_with_the_agent(
    tmp_path: Path, start: Callable[[], RunningHolder]
) -> None:
    with start() as holder:
        work(holder)
        report(holder, "state=idle")
        wait_until(lambda: bool(lines(tmp_path / "out")), "the command")
        [pid] = map(int, lines(tmp_path / "out"))
        table = processes.snapshot()
        assert table[pid].ppid == holder.server_pid()
        sampler = Sampler()
        sampler.sample({holder.agent: holder.keeper_pid})
        counted = sampler.sample({holder.agent: holder.keeper_pid})[holder.agent]
        assert counted.processes == 1
        assert read_strays(holder.folder) == frozenset()

        holder.stop(cause="stop", grace=0.1)
        assert processes.is_running(pid, table[pid].started)

    (tmp_path / "go").touch()
    wait_until(lambda: bool(lines(tmp_path / "out.id")), "the end of the command")
    assert lines(tmp_path / "out.id") == [""], "it has no mark of the agent"
    assert "ptmx" not in (tmp_path / "out.fds").read_text()
    assert "lock" not in (tmp_path / "out.fds").read_text()
    wait_until(lambda: not processes.is_running(pid, table[pid].started))


@pytest.mark.parametrize(("cause", "runs"), [("exited", True), ("stop", False), ("kill", False)])
def test_a_program_that_ends_by_itself_within_a_turn_is_covered(
    tmp_path: Path, start: Callable[[], RunningHolder], cause: str, runs: bool
) -> None:
    (tmp_path / "go").touch()
    with start() as holder:
        work(holder)
        if cause == "exited":
            os.kill(holder.pid, signal.SIGKILL)
        else:
            holder.stop(cause=cause, grace=0.1)
        holder.exit()

    if runs:
        wait_until(lambda: bool(lines(tmp_path / "out.id")), "the command")
    assert (tmp_path / "out").exists() is runs
