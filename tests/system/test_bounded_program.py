"""Programs that run for a limited time and print a limited amount."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from fleet_tui.system.bounded_program import Finished, run_bounded


def run(text: str, *, seconds: float = 20.0, most: int = 1000, **more: object) -> Finished:
    command = [sys.executable, "-c", text]
    return run_bounded(command, os.environ, folder=Path("/"), seconds=seconds, most=most, **more)  # type: ignore[arg-type] # plain values


def test_a_program_gets_its_input_and_both_its_streams_are_kept() -> None:
    text = "import sys; print(len(sys.stdin.read())); print('no', file=sys.stderr); sys.exit(3)"

    assert run(text, stdin=b"x" * 300_000) == Finished(3, b"300000\n", b"no\n")


@pytest.mark.parametrize(("keep", "kept"), [("start", b"aaaa"), ("end", b"bbbb")])
def test_of_too_much_output_the_wanted_end_is_kept(keep: str, kept: bytes) -> None:
    done = run("print('a' * 500_000 + 'b' * 500_000, end='')", most=4, keep=keep)

    assert (done.code, done.out, done.is_cut) == (0, kept, True)


def test_a_program_is_ended_with_its_children_when_its_time_is_over() -> None:
    text = "import os, time; print(os.getpid(), flush=True); os.fork(); time.sleep(1000)"

    done = run(text, seconds=0.5)

    assert (done.is_late, done.code) == (True, -15)
    # The fixture of every test fails if the child still runs.
    assert not Path(f"/proc/{int(done.out)}").exists()


def test_what_a_program_leaves_running_does_not_hold_up_its_result() -> None:
    text = "import os, time\nprint('done', flush=True)\nif not os.fork(): time.sleep(4); os._exit(0)"
    started = time.monotonic()

    done = run(text)

    assert (done.code, done.out, done.is_late) == (0, b"done\n", False)
    assert time.monotonic() - started < 3.5
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and "time.sleep(4)" in cmdline(pid)]  # noqa: PTH208 - names alone
    for pid in left:
        os.kill(int(pid), 9)
    assert left


def cmdline(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_a_program_has_no_terminal_to_ask_on() -> None:
    done = run("open('/dev/tty')")

    assert b"No such device" in done.err


def test_a_program_that_closes_its_streams_is_waited_for() -> None:
    text = "import os, sys\nos.close(1); os.close(2)\nimport time; time.sleep(0.3); os._exit(7)"

    assert run(text).code == 7
