"""Requests to stop a run: sent by a face through a pipe beside the agent's lock, taken by the keeper.

A pipe needs no free disk space, so an agent that has filled the disk can still be ended.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import stat
import termios
from pathlib import Path

from fleet_tui.fast_dataclasses import asdict, dataclass
from fleet_tui.holder.lock import is_held
from fleet_tui.holder.run_folder import Holder, read_holder, read_record, write_record
from fleet_tui.system import processes

PIPE_BYTES = 4096
"""Larger than any request; POSIX writes this much to a pipe atomically."""


@dataclass(frozen=True, slots=True)
class StopRequest:
    """One command's request to end a run."""

    cause: str
    grace: float
    """Seconds the program may take to end by itself."""
    id: str = ""
    """Tells a repeated request from a second one; empty from versions without the pipe."""


def request_pipe(lock: Path) -> Path:
    """The named pipe of one agent that takes requests to stop, beside its lock."""
    return lock.with_name("requests")


class StopRequests:
    """The reading end of the pipe: in the keeper, or in the launcher before there is a keeper.

    Data in a pipe takes no disk space and is dropped with the last reader.
    """

    def __init__(self, lock: Path, run: int) -> None:
        self._run = run
        self._buffer = b""
        self._descriptor = _open_pipe(request_pipe(lock))

    def fileno(self) -> int:
        """-1 if the pipe could not be created; stop.json and a signal still work then."""
        return self._descriptor

    def take(self) -> list[StopRequest]:
        """The requests for this run since the last call."""
        try:
            data = os.read(self._descriptor, PIPE_BYTES) if self._descriptor >= 0 else b""
        except OSError:
            data = b""
        *lines, rest = (self._buffer + data).split(b"\n")
        self._buffer = rest[-PIPE_BYTES:]
        return [request for line in lines if (request := self._parsed(line)) is not None]

    def _parsed(self, line: bytes) -> StopRequest | None:
        # The agent runs as the same user and may write anything into the pipe.
        try:
            values = json.loads(line)
            if values["run"] != self._run:
                return None
            return StopRequest(str(values["cause"]), float(values["grace"]), str(values["id"]))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _open_pipe(path: Path) -> int:
    with contextlib.suppress(FileExistsError, OSError):
        os.mkfifo(path, 0o600)
    try:
        # Read and write: a pipe without a writer is always readable, and select() would never wait.
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return -1
    return descriptor


def request_stop(folder: Path, lock: Path, request: StopRequest) -> bool:
    """Ask the holder of a run to end its program; False when the request did not reach it.

    The pipe needs no disk space and works across pid namespaces. Keepers of earlier versions have none and get a file
    and a signal.
    """
    found = read_holder(folder)
    if _send_through_pipe(lock, int(folder.name) if folder.name.isdecimal() else 0, request):
        if found is not None:
            # A suspended keeper does not read.
            with contextlib.suppress(OSError):
                _signal_exactly(found, signal.SIGCONT, lock)
        return True
    # If the disk is full, the signal alone means an ordinary stop.
    with contextlib.suppress(OSError):
        if read_stop(folder) != request:
            write_record(folder / "stop.json", request)
    if found is None or not is_held(lock):
        return False
    try:
        _signal_exactly(found, signal.SIGUSR1, lock)
        _signal_exactly(found, signal.SIGCONT, lock)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _send_through_pipe(lock: Path, run: int, request: StopRequest) -> bool:
    # The leading newline ends a partial line that may be in the pipe.
    line = b"\n" + json.dumps(asdict(request) | {"run": run}).encode() + b"\n"
    try:
        # Fails without a reader, and on a full pipe, whose reader hangs.
        descriptor = os.open(request_pipe(lock), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return stat.S_ISFIFO(os.fstat(descriptor).st_mode) and os.write(descriptor, line) == len(line)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def has_unread_requests(lock: Path) -> bool:
    """Whether a request is still in the pipe because its reader is suspended or hangs."""
    try:
        descriptor = os.open(request_pipe(lock), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        waiting = fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4))
        return any(waiting)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _signal_exactly(found: Holder, number: signal.Signals, lock: Path) -> None:
    """Signal the keeper, and never a process that has reused its pid."""
    if hasattr(os, "pidfd_open"):
        handle = os.pidfd_open(found.keeper_pid)
        try:
            if is_held(lock) and processes.is_running(found.keeper_pid, found.keeper_started):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)
    else:
        os.kill(found.keeper_pid, number)


def read_stop(folder: Path) -> StopRequest | None:
    return read_record(folder / "stop.json", StopRequest)
