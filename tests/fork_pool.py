"""Start programs of tests quickly: fork them from a process that has imported their modules once for all tests.

Importing takes longer than most of the tests. `ForkPool.start` works like `subprocess.Popen`: the process has a session
and standard streams of its own, and can be waited for and killed::

    DASHBOARDS = ForkPool("fleet_tui.tui.app")
    process = DASHBOARDS.start([PROGRAM, "demo"], (terminal, terminal, terminal), environment, folder)

Run as a program this module is the process that forks. It first gets the names of the modules. A request is one message
with descriptors: a file with the arguments, environment and folder as JSON, the three standard streams, and a pipe on
which the new process's id comes back, and its exit code once it has ended.
"""

from __future__ import annotations

import atexit
import contextlib
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
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

MARK = "FLEET_TESTS_FORKER"
"""In the environment that the system shows of everything that was forked: the id of the test process it is for."""
NUMBER_BYTES = 4
MODULES_BYTES = 4096
STREAMS = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))
REQUEST_DESCRIPTORS = len(STREAMS) + 2

_pids: set[int] = set()


def pool_pids() -> frozenset[int]:
    """The processes that fork for this test process."""
    return frozenset(_pids)


class ForkedProcess:
    """A forked process, with the part of the interface of `subprocess.Popen` that tests use."""

    def __init__(self, reports: int) -> None:
        self._reports = reports
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        data = os.read(self._reports, NUMBER_BYTES)
        assert data, "the process that forks has ended"
        return int.from_bytes(data, "big", signed=True)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._reports], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("forked", timeout or 0.0)
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


class ForkPool:
    """A process with some modules imported, started when it is first needed."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._requests: socket.socket | None = None
        self._starting = threading.Lock()

    def start(
        self,
        argv: Sequence[str],
        streams: tuple[int, int, int],
        environment: Mapping[str, str],
        folder: Path | None = None,
    ) -> ForkedProcess:
        """Run a Python script with these standard streams."""
        request = {"argv": argv, "environment": dict(environment), "folder": str(folder or Path.cwd())}
        reports, report = os.pipe()
        with os.fdopen(os.memfd_create("request"), "w+b") as file:
            file.write(json.dumps(request).encode())
            file.seek(0)
            socket.send_fds(self._started(), [b"+"], [file.fileno(), *streams, report])
        os.close(report)
        return ForkedProcess(reports)

    def _started(self) -> socket.socket:
        """The socket that takes requests."""
        with self._starting:
            if self._requests is None:
                self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                forker = subprocess.Popen(
                    [sys.executable, "-m", "tests.fork_pool", str(theirs.fileno())],
                    cwd=Path(__file__).parents[1],
                    env={**os.environ, "HOME": os.devnull, MARK: str(os.getpid())},
                    pass_fds=[theirs.fileno()],
                )
                theirs.close()
                # Not as arguments, by which tests recognize launchers and other processes.
                self._requests.send(json.dumps(self._modules).encode())
                _pids.add(forker.pid)
                atexit.register(_end, forker, self._requests)
            return self._requests


def _end(forker: subprocess.Popen[bytes], requests: socket.socket) -> None:
    requests.close()
    forker.wait()


# ── the process that forks ──────────────────────────────────────────────────────────────────────────────────────


def _main(number: str) -> None:
    requests = socket.socket(fileno=int(number))
    for name in json.loads(requests.recv(MODULES_BYTES)):
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
            data, descriptors, _, _ = socket.recv_fds(requests, 1, REQUEST_DESCRIPTORS)
            if not data:
                return []
            request, *streams, report = descriptors
            pid = os.fork()
            if not pid:
                running.close()
                requests.close()
                asked = json.loads(Path(f"/proc/self/fd/{request}").read_bytes())
                _settle(asked["environment"], asked["folder"], streams)
                return [str(word) for word in asked["argv"]]
            for descriptor in (request, *streams):
                os.close(descriptor)
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


def _settle(environment: Mapping[str, str], folder: str, streams: Sequence[int]) -> None:
    """Give this process the session, streams, environment and folder of a newly started one."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(len(STREAMS), os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(folder)
    for number, (name, mode) in enumerate(STREAMS):
        opened = os.fdopen(number, mode, encoding="utf-8", closefd=False)
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)


if __name__ == "__main__":
    _main(sys.argv[1])
