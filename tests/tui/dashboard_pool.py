"""Start dashboards quickly: fork them from a process that has imported their modules once for all tests.

Importing takes longer than most of the tests. `start` works like `subprocess.Popen`: the process has a session of its
own, with a terminal as its standard streams, and can be waited for and killed::

    process = dashboard_pool.start([PROGRAM, "demo"], terminal, environment, folder)

Run as a program this module is that process. A request is JSON with two descriptors, the terminal and a pipe on which
the new process's id comes back, and its exit code once it has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOADED = ("fleet_tui.cli.invocation", "fleet_tui.tui.app", "fleet_tui.tui.panes.pane")
REQUEST_BYTES = 1 << 17
NUMBER_BYTES = 4
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


class Process:
    """A forked process, with the part of the interface of `subprocess.Popen` that terminals use."""

    def __init__(self, reports: int) -> None:
        self._reports = reports
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        data = os.read(self._reports, NUMBER_BYTES)
        assert data, "the process that forks dashboards has ended"
        return int.from_bytes(data, "big", signed=True)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._reports], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("dashboard", timeout or 0.0)
            self.returncode = self._number()
            os.close(self._reports)
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def kill(self) -> None:
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)


def start(argv: Sequence[str], terminal: int, environment: Mapping[str, str], folder: Path | None) -> Process:
    """Run a Python script in this terminal."""
    reports, report = os.pipe()
    request = {"argv": argv, "environment": dict(environment), "folder": str(folder or Path.cwd())}
    socket.send_fds(_forker(), [json.dumps(request).encode()], [terminal, report])
    os.close(report)
    return Process(reports)


@functools.cache
def _forker() -> socket.socket:
    """The socket that takes requests for processes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    forker = subprocess.Popen(
        [sys.executable, "-m", "tests.tui.dashboard_pool", str(theirs.fileno())],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "HOME": os.devnull},
        pass_fds=[theirs.fileno()],
    )
    theirs.close()
    atexit.register(_end, forker, ours)
    return ours


def _end(forker: subprocess.Popen[bytes], requests: socket.socket) -> None:
    requests.close()
    forker.wait()


# ── the process that forks ──────────────────────────────────────────────────────────────────────────────────────


def _main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    argv = _serve(requests)
    if argv:
        sys.argv = argv
        runpy.run_path(argv[0], run_name="__main__")


def _serve(requests: socket.socket) -> list[str]:
    """Fork one process per request until the socket closes; returns the arguments to run in each new process."""
    running = selectors.DefaultSelector()
    running.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in running.select():
            if key.fileobj is not requests:
                _report_end(running, key)
                continue
            data, descriptors, _, _ = socket.recv_fds(requests, REQUEST_BYTES, 2)
            if not data:
                return []
            terminal, report = descriptors
            pid = os.fork()
            if not pid:
                running.close()
                requests.close()
                asked = json.loads(data)
                _settle(asked["environment"], asked["folder"], terminal)
                return [str(word) for word in asked["argv"]]
            os.close(terminal)
            os.write(report, pid.to_bytes(NUMBER_BYTES, "big", signed=True))
            running.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, report))


def _report_end(running: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
    pid, report = key.data
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with contextlib.suppress(BrokenPipeError):
        os.write(report, code.to_bytes(NUMBER_BYTES, "big", signed=True))
    running.unregister(key.fileobj)
    os.close(key.fd)
    os.close(report)


def _settle(environment: Mapping[str, str], folder: str, terminal: int) -> None:
    """Give this process the session, streams, environment and folder of a newly started one."""
    os.setsid()
    for number, _ in enumerate(STREAMS):
        os.dup2(terminal, number)
    os.closerange(len(STREAMS), os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    for number, (name, mode) in enumerate(STREAMS):
        stream = os.fdopen(number, mode, encoding="utf-8", closefd=False)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    _main()
