"""A real keeper around real programs: exits recorded, trees ended, screen servers replaced, records right."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fleet_tui.holder.event_log import read_events
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import read_exit
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.session import final_view
from fleet_tui.holder.stop_requests import StopRequest, request_stop
from fleet_tui.holder.transcript import segments
from fleet_tui.holder.transcript.follow import last_lines
from fleet_tui.models import RunSettings
from fleet_tui.system import processes
from tests.holder.holders import RunningHolder, fork, last_output, start_holder, wait_until
from tests.holder.screens import shows
from tests.scripted import agent
from tests.system.small_disks import fill, small_disk

SECONDS = 15.0


def statuses(holder: RunningHolder) -> list[str]:
    return [
        event["data"]["status"] for event in read_events(holder.folder, 0)[1] if event["kind"] == "status"
    ]


def replace_server(holder: RunningHolder, number: signal.Signals = signal.SIGKILL) -> int:
    """Kill the screen server and wait for the next one; returns its pid."""
    old = holder.living_server()
    os.kill(old, number)
    wait_until(lambda: holder.server_pid() not in (0, old), "another screen server")
    return holder.server_pid()


def is_running(pid: int) -> bool:
    found = processes.look_up(pid)
    return found is not None and found.is_alive


# ── priority ────────────────────────────────────────────────────────────────────────────────────────────────────


def niceness(pid: int) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_the_program_and_what_it_starts_yield_to_other_work_and_its_holder_does_not(tmp_path: Path) -> None:
    usual = niceness(0)
    wanted = min(usual + 5, 19)
    script = "sleep 1000 & echo child $!; wait"
    with start_holder(tmp_path, ["/bin/sh", "-c", script], settings=RunSettings(nice=usual + 5)) as holder:
        wait_until(lambda: b"\n" in last_output(holder.folder, 100), "the child's pid")
        child = int(last_output(holder.folder, 100).split()[1])
        assert (niceness(holder.pid), niceness(child)) == (wanted, wanted)
        assert (niceness(holder.keeper_pid), niceness(holder.living_server())) == (usual, usual)


def test_a_program_without_a_nice_value_is_as_important_as_what_started_it(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        assert niceness(holder.pid) == niceness(0)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not group sessions")
def test_the_programs_session_yields_to_other_sessions_and_its_holders_does_not(tmp_path: Path) -> None:
    def group(pid: int) -> str:
        return Path(f"/proc/{pid}/autogroup").read_text().split("nice")[-1].strip()

    with start_holder(tmp_path, agent("echoes"), settings=RunSettings(nice=7)) as holder:
        wait_until(lambda: group(holder.pid) == "7", "the session's nice value")
        assert group(holder.living_server()) == group(holder.keeper_pid) == "0"


# ── the end ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_signal_that_ended_it_is_recorded(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        os.kill(holder.pid, signal.SIGSEGV)
        end = holder.exit()

    assert (end.cause, end.code, end.signal) == ("exited", None, signal.SIGSEGV)


def test_the_exit_code_is_recorded_and_sent_to_viewers(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder, holder.session() as session:
        assert shows("ready", session)
        session.send("text", data=b"exit 5\r")
        told = next(
            message for message in session.messages(time.monotonic() + SECONDS) if message["t"] == "exit"
        )
        end = holder.exit()

    assert (told["code"], told["signal"]) == (5, None)
    assert (end.cause, end.code, end.signal) == ("exited", 5, None)
    assert abs(end.at - time.time()) < 60


def test_the_last_output_and_the_last_screen_are_kept(tmp_path: Path) -> None:
    with start_holder(tmp_path, ["/bin/sh", "-c", "echo these are the last words"]) as holder:
        holder.exit()

    view = final_view(holder.folder)
    assert view is not None
    assert view.text()[0] == "these are the last words"
    assert last_lines(holder.folder, 5) == ["these are the last words"]
    assert last_output(holder.folder, 100) == b"these are the last words\r\n"


def test_a_request_ends_the_program_and_is_on_record_as_the_cause(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        holder.stop(cause="kill")

        end = read_exit(holder.folder)
        assert end is not None
        assert (end.cause, end.signal) == ("kill", signal.SIGTERM)


def test_a_program_that_refuses_to_end_is_killed_after_its_grace(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("stubborn")) as holder:
        with holder.session() as session:
            assert shows("ready", session)
        request_stop(holder.folder, holder.lock, StopRequest("stop", 0.5))
        end = holder.exit()

    assert "no to SIGTERM" in last_lines(holder.folder, 9)
    assert (end.cause, end.signal) == ("stop", signal.SIGKILL)


def test_a_holder_that_is_asked_to_end_records_an_interruption_and_the_last_output(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        with holder.session() as session:
            assert shows("ready", session)
        # As systemd signals all processes of a scope, in any order; the first to get it may end the next.
        for pid in (holder.living_server(), holder.keeper_pid, holder.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

        assert holder.exit().cause == "shutdown"
    assert "ready" in last_lines(holder.folder, 9)


def test_a_shutdown_that_reaches_the_program_first_is_an_interruption_too(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        with holder.session() as session:
            assert shows("ready", session)
        server = holder.living_server()
        # Its keeper waits for what the server has yet to read, and gets the signal while it waits.
        os.kill(server, signal.SIGSTOP)
        os.kill(holder.pid, signal.SIGTERM)
        wait_until(lambda: processes.look_up(holder.pid) is None, "the end of the program")
        os.kill(holder.keeper_pid, signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGCONT):
            os.kill(server, number)

        assert holder.exit().cause == "shutdown"


def test_other_signals_do_not_move_a_keeper(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder, holder.session() as session:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR2):
            os.kill(holder.keeper_pid, number)
        session.send("text", data=b"hello\r")
        assert shows("got: hello", session)


def test_no_process_that_tries_to_escape_is_left(tmp_path: Path) -> None:
    told = tmp_path / "told"
    bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    with start_holder(tmp_path, agent("escapes", told)) as holder:
        wait_until(lambda: told.exists() and told.read_text().count("\n") == 5, "five escapes")
        pids = {kind: int(pid) for kind, pid in (line.split() for line in told.read_text().splitlines())}
        assert set(pids) == {"child", "group", "setsid", "nohup", "double"}
        assert all(map(is_running, pids.values()))

        holder.stop(cause="kill", grace=0.3)

        assert [kind for kind, pid in pids.items() if is_running(pid)] == []
        end = read_exit(holder.folder)
        assert end is not None
        assert list(end.survivors) == []
    assert is_running(bystander.pid)
    bystander.kill()
    bystander.wait()


@pytest.mark.slow
def test_what_a_program_leaves_when_it_ends_by_itself_is_ended_too(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with start_holder(tmp_path, agent("escapes", told)) as holder:
        wait_until(lambda: told.exists() and told.read_text().count("\n") == 5, "five escapes")
        pids = [int(line.split()[1]) for line in told.read_text().splitlines()]
        os.kill(holder.pid, signal.SIGKILL)
        holder.exit()

        assert [pid for pid in pids if is_running(pid)] == []


# ── starting ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_program_that_is_not_there_is_an_error_and_no_run(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no-such-program"):
        start_holder(tmp_path, ["no-such-program"])


def test_the_program_is_looked_up_in_the_path_that_it_gets(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "the program's"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "found $0"\nread -r _\n')
    program.chmod(0o755)

    holder = start_holder(tmp_path, [program.name], env={"PATH": f"{program.parent}:/bin"}, cols=200)

    with holder, holder.session() as session:
        assert shows(f"found {program}", session)


def test_a_folder_that_is_gone_is_an_error_and_no_run(tmp_path: Path) -> None:
    spec = RunSpec("a", 1, str(tmp_path), str(tmp_path), "/nowhere", ("true",), str(tmp_path / "nowhere"), {})

    with pytest.raises(AssertionError, match="nowhere is gone"):
        fork(spec, tmp_path / "lock")

    wait_until(lambda: not is_held(tmp_path / "lock"), "the lock being let go")


def test_the_program_is_started_as_a_terminal_would_start_it(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "ignored = [s.name for s in signal.Signals if s not in (signal.SIGKILL, signal.SIGSTOP)"
        " and signal.getsignal(s) == signal.SIG_IGN and s.name not in ('SIGPIPE', 'SIGXFSZ')]\n"
        "print('session', os.getsid(0) == os.getpid(), 'group', os.getpgrp() == os.tcgetpgrp(0))\n"
        "print('size', *os.get_terminal_size(), 'ignored', ignored, 'open', len(os.listdir('/proc/self/fd')) - 1)\n"
        "signal.pause()"
    )
    holder = start_holder(tmp_path, [sys.executable, "-c", code], cols=77, rows=22)
    with holder, holder.session() as session:
        assert shows("session True group True", session)
        assert shows("size 77 22 ignored [] open 3", session)


def test_setup_commands_run_in_the_terminal_before_the_program(tmp_path: Path) -> None:
    go = tmp_path / "go"
    os.mkfifo(go)
    commands = ["echo step one", f"echo waiting; cat {go}", "test -t 1"]
    with start_holder(tmp_path, agent("echoes"), setup=commands) as holder, holder.session() as session:
        assert shows("step one", session)
        assert shows("waiting", session)
        wait_until(lambda: statuses(holder)[-1:] == ["setup"], "setup as its status")
        go.write_text("now\n")
        assert shows("ready", session)
        wait_until(lambda: statuses(holder)[-1] in {"starting", "working"}, "the program as its status")
        session.send("text", data=b"hello\r")
        assert shows("got: hello", session)


def test_a_setup_command_that_fails_is_named_with_its_code(tmp_path: Path) -> None:
    commands = ["true", "echo oh no; exit 9", "echo never"]
    with start_holder(tmp_path, agent("echoes"), setup=commands) as holder:
        end = holder.exit()

    assert (end.cause, end.code) == ("failed", 9)
    assert end.reason == "setup: 'echo oh no; exit 9' ended with code 9"
    assert "oh no" in last_lines(holder.folder, 9)
    assert "never" not in "\n".join(last_lines(holder.folder, 9)).replace("echo never", "")


# ── the screen server ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_screen_server_that_dies_is_replaced_and_the_program_does_not_notice(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("drawing")) as holder:
        with holder.session() as session:
            assert shows("size 80x24", session)
        for number in (signal.SIGKILL, signal.SIGSEGV):
            replace_server(holder, number)
            with holder.session() as session:
                assert shows("size 80x24", session)
                assert (session.view.cols, session.view.rows) == (80, 24)
                assert session.view.text() == session.ask("peek")["lines"]

        assert is_running(holder.pid)


def test_a_server_killed_in_the_middle_of_its_first_nudge_does_not_shrink_the_terminal(
    tmp_path: Path,
) -> None:
    with start_holder(tmp_path, agent("drawing")) as holder:
        for _ in range(3):
            server = replace_server(holder)
            wait_until(lambda: holder.server_pid() == server, "the server")  # noqa: B023 - called at once
        with holder.session() as session:
            assert shows("size 80x24", session)


def test_the_transcript_goes_on_at_its_permanent_offsets(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("flood", "gently")) as holder:
        with holder.session() as session:
            assert shows("line", session)
        start, before = segments.read(holder.folder, 0, 2000)
        replace_server(holder)
        end = segments.list_segments(holder.folder)[-1].end
        wait_until(lambda: segments.list_segments(holder.folder)[-1].end > end + 10_000, "more output")

        again, after = segments.read(holder.folder, 0, 2000)
        assert (again, after[: len(before)]) == (start, before)


@pytest.mark.slow
def test_a_prompt_that_waits_outlives_the_server_that_took_it(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("tells")) as holder:
        with holder.session() as session:
            assert shows("told", session)
            session.send("text", data=b"state=blocked:kind=permission:msg=aGVsbG8=\r")
            assert shows("reported", session)
            assert session.ask("prompt", id="p1", text="state=working")["state"] == "queued"
        replace_server(holder)

        with holder.session() as session:
            assert (session.welcome["status"], session.welcome["detail"]) == ("blocked", "permission")
            session.send("text", data=b"state=idle\r")
            wait_until(lambda: statuses(holder)[-1:] == ["working"], "the prompt to be typed")


@pytest.mark.slow
def test_a_screen_server_that_hangs_does_not_keep_the_agent_from_being_stopped(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        with holder.session() as session:
            assert shows("ready", session)
        server = holder.living_server()
        os.kill(server, signal.SIGSTOP)

        holder.stop()

    assert not is_running(server)


def test_when_the_keeper_is_killed_the_server_goes_and_there_is_no_record(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("echoes")) as holder:
        with holder.session() as session:
            assert shows("ready", session)
        server = holder.living_server()

        os.kill(holder.keeper_pid, signal.SIGKILL)

        wait_until(lambda: not is_running(server) and not is_running(holder.pid), "the end of both")
        assert not holder.is_running
        assert read_exit(holder.folder) is None
        assert "ready" in last_lines(holder.folder, 9)


# ── a full disk ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("is_freed", [False, True])
def test_on_a_full_disk_the_agent_goes_on_and_the_loss_is_on_record(tmp_path: Path, is_freed: bool) -> None:
    with (
        small_disk(tmp_path / "disk", size="2m") as disk,
        start_holder(disk, agent("echoes")) as holder,
        holder.session() as session,
    ):
        assert shows("ready", session)
        filler = fill(disk)
        for number in range(20):
            session.send("text", data=f"{number} {'x' * 300}\r".encode())
            assert shows(f"got: {number} ", session)
        with holder.session(rate=0) as other:
            assert other.welcome["lost"] > 0
        if is_freed:
            filler.unlink()
        holder.stop()

        end = read_exit(holder.folder)
        assert end is not None
        assert end.cause == "stop"
        assert end.lost_output > 0
        told = [event["data"] for event in read_events(holder.folder, 0)[1] if event["kind"] == "output-lost"]
        assert not is_freed or told[-1] == {"bytes": end.lost_output}


def test_where_files_may_not_grow_the_agent_goes_on_and_ends_on_record(tmp_path: Path) -> None:
    with start_holder(tmp_path, agent("flood", 20_000)) as holder:
        for pid in (holder.keeper_pid, holder.living_server()):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (20_000, 20_000))
        with holder.session() as session:
            assert shows("END", session)
        os.kill(holder.pid, signal.SIGTERM)

        end = holder.exit()
        assert (end.cause, end.signal) == ("exited", signal.SIGTERM)
        assert end.lost_output > 100_000
        with contextlib.suppress(FileNotFoundError):
            assert "Traceback" not in holder.complaints()
