"""The foreground process group of a real terminal, and whether the program that reported is still running."""

from __future__ import annotations

import os
import signal

import pexpect
import pytest

from fleet_tui.holder.foreground import SETTLED_SECONDS, Foreground
from fleet_tui.system import processes
from tests.holder.holders import wait_until

AT_FIRST, LATER = 1.0, 1.0 + SETTLED_SECONDS

IN_A_SHELL = ["sh", "-c", "set -m; env sh -c 'echo here $$; read end'; read end"]
ALONE = ["sh", "-c", "echo here $$; read end"]


BUSY = "while :; do :; done"
PIPELINE = f"set -m; echo here; read go; true | sh -c 'echo begun; {BUSY}'"


def test_a_pipeline_computes_though_its_first_program_has_ended() -> None:
    with pexpect.spawn("sh", ["-c", PIPELINE], timeout=20, echo=False) as terminal:
        terminal.expect(b"here")
        foreground = Foreground(terminal.child_fd)
        wait_until(lambda: not foreground.is_computing(), "its waiting")

        terminal.send(b"\r")
        terminal.expect(b"begun")

        wait_until(foreground.is_computing, "its work")


@pytest.mark.parametrize(("command", "leaves"), [(IN_A_SHELL, True), (ALONE, False)])
def test_only_a_program_in_a_shell_leaves_what_it_reported(command: list[str], leaves: bool) -> None:
    """The end of the agent's own program is the end of the run."""
    with pexpect.spawn(command[0], command[1:], timeout=20) as terminal:
        terminal.expect(rb"here (\d+)")
        reporting = int(terminal.match.group(1))
        foreground = Foreground(terminal.child_fd)
        foreground.reported(AT_FIRST)
        foreground.reported(LATER)
        assert not foreground.has_left()

        os.kill(reporting, signal.SIGKILL)
        if not leaves:
            terminal.wait()
        # The group exists until its shell has reaped it.
        wait_until(lambda: processes.look_up(reporting) is None, "its end")

        assert foreground.has_left() is leaves
        assert not foreground.has_left()
