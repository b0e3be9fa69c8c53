"""The files by which a holder and everybody else know of each other: lock, records, events, requests.

A holder writes them in its run's folder, faces only read them; a face sends requests to stop, and writes that an
agent was killed. A request travels through a pipe, so that an agent which has filled the disk can still be ended.
Nothing here talks to a socket, a terminal or the store.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import stat
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from fleet_tui import bounded_files, processes
from fleet_tui.values import asdict, dataclass, field, known, replace

RECORD_SIZE = 4096
"""Bytes reserved on disk at the start, so that the end can be recorded on a full one."""

PIPE_BYTES = 4096
"""More than any request; POSIX writes this much to a pipe in one piece."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunSpec:
    """What a holder is to run. It is handed over in memory: an environment has secrets and is never written down."""

    agent: str
    run: int
    folder: str
    state_folder: str
    socket: str
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    cols: int = 100
    rows: int = 30
    setup: tuple[str, ...] = ()
    """Commands that run in the same terminal before the program."""
    prompt: str = ""
    """The first prompt; empty for none."""
    is_prompt_given: bool = False
    """It stands in the arguments; else it is to be typed."""
    signals: dict[str, Any] = field(default_factory=dict)
    """By which signs the status is known, as plain data."""
    stream: dict[str, Any] = field(default_factory=dict)
    """Where the program tells what it does: port, path, user, password, catch_up. Empty for nowhere."""
    policy: dict[str, Any] = field(default_factory=dict)
    """What the program may do without asking, as plain data."""
    scrollback: int = 10_000
    transcript_cap: int = 64 << 20
    name: str = ""
    """What people called the agent when the run began."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds an agent: written once its program has been started."""

    agent: str
    run: int
    keeper_pid: int
    keeper_started: int
    """Clock ticks since boot; with the pid it names one process for ever."""
    pid: int
    socket: str
    boot_id: str
    started_at: float
    version: str = ""
    terminal: tuple[int, ...] = ()
    """Of the program; see processes.terminal."""


@dataclass(frozen=True, slots=True)
class Strays:
    """strays.json: descendants without the agent's mark, as the keeper last saw them; should it be killed, only this
    tells whose they are."""

    processes: tuple[tuple[int, int], ...] = ()
    """Pid and start of each."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a run ended."""

    cause: str
    """exited: by itself; stop, kill: on request; shutdown: the keeper was told to end; failed: it never got going."""
    at: float
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    """For failed: in words."""
    lost_output: int = 0
    """Bytes of output that could not be written to the transcript."""
    survivors: tuple[int, ...] = ()
    """Processes that could not be ended."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """session.json of a headless run: its program's id of the conversation, to go on with."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Killed:
    """killed.json beside the copy of an agent's row, from its kill until that is undone: a lost store is made anew by it."""

    at: float


@dataclass(frozen=True, slots=True)
class StopRequest:
    """One command's request to end a run."""

    cause: str
    grace: float
    """Seconds the program gets to end by itself."""
    id: str = ""
    """Tells a request that was sent twice from a second request; empty from versions before pipes."""


# ── records ─────────────────────────────────────────────────────────────────────────────────────────────────────


def write_record(path: Path, record: Any) -> None:
    """The whole record or none of it, whoever is killed meanwhile.

    Not forced to the disk, which may take seconds on a busy one: after a power cut only the end of a run matters.
    """
    data = json.dumps(asdict(record)).encode()
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(descriptor)
    os.replace(temporary, path)  # noqa: PTH105 - a rename within one folder; pathlib adds nothing


def read_record(path: Path, kind: type[T]) -> T | None:
    """The record, or None when there is none or it is not readable as one."""
    try:
        values = json.loads(bounded_files.read(path))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    try:
        return kind(**known(kind, values))
    except TypeError:
        return None


def read_holder(folder: Path) -> Holder | None:
    found = read_record(folder / "holder.json", Holder)
    if found is None:
        return None
    # JSON knows no tuples, and a damaged file may have anything there.
    terminal: Any = found.terminal
    return replace(found, terminal=tuple(terminal) if isinstance(terminal, list) else ())


def read_strays(folder: Path) -> frozenset[tuple[int, int]]:
    found = read_record(folder / "strays.json", Strays)
    try:
        return (
            frozenset((int(pid), int(started)) for pid, started in found.processes) if found else frozenset()
        )
    except (TypeError, ValueError):
        return frozenset()


def read_exit(folder: Path) -> Exit | None:
    return read_record(folder / "exit.json", Exit)


class ExitRecord:
    """Space for the record of the end, taken while the disk still has some."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "exit.json"
        self._reserved = folder / "exit.reserved"
        self._descriptor = os.open(self._reserved, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(self._descriptor, b" " * RECORD_SIZE)

    def write(self, record: Exit) -> None:
        data = json.dumps(asdict(record)).encode()
        if len(data) > RECORD_SIZE:
            data = json.dumps(asdict(record) | {"reason": record.reason[:500], "survivors": ()}).encode()
        os.pwrite(self._descriptor, data.ljust(RECORD_SIZE), 0)
        os.fsync(self._descriptor)
        os.replace(self._reserved, self._path)  # noqa: PTH105 - a rename within one folder; pathlib adds nothing


# ── the lock ────────────────────────────────────────────────────────────────────────────────────────────────────


def take_lock(path: Path, *, seconds: float = 0.0) -> int | None:
    """The agent's lock as a descriptor to pass on, or None while somebody else has it.

    It is held by the open file, not by the process: whoever inherits the descriptor holds it too.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + seconds
    while not _flock(descriptor, fcntl.LOCK_EX):
        if time.monotonic() >= deadline:
            os.close(descriptor)
            return None
        time.sleep(0.002)
    return descriptor


def is_held(path: Path) -> bool:
    """Whether a holder or launcher has the agent's lock."""
    with trying_lock(path) as free:
        return not free


@contextlib.contextmanager
def trying_lock(path: Path) -> Iterator[bool]:
    """True inside when nobody holds the agent; nobody can start to before the block ends."""
    try:
        # Only to be looked at, which a read-only filesystem permits too; a pipe in its place must not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        # A link that leads nowhere in place of the lock is like no lock.
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            raise
        descriptor = -1
    if descriptor < 0:
        yield True
        return
    try:
        yield _flock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def _flock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            return False
        raise
    return True


# ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────


def request_pipe(lock: Path) -> Path:
    """The named pipe of one agent that takes requests to stop, beside its lock."""
    return lock.with_name("requests")


class Requests:
    """The receiving end of an agent's request pipe: for its keeper, or the launcher while there is none yet.

    Data in a pipe takes no space on the disk and is dropped when the last reader is gone.
    """

    def __init__(self, lock: Path, run: int) -> None:
        self._run = run
        self._buffer = b""
        self._descriptor = _open_pipe(request_pipe(lock))

    def fileno(self) -> int:
        """-1 where no pipe could be made; stop.json and a signal still work then."""
        return self._descriptor

    def take(self) -> list[StopRequest]:
        """The requests for this run that have arrived since the last call."""
        try:
            data = os.read(self._descriptor, PIPE_BYTES) if self._descriptor >= 0 else b""
        except OSError:
            data = b""
        *lines, rest = (self._buffer + data).split(b"\n")
        self._buffer = rest[-PIPE_BYTES:]
        return [request for line in lines if (request := self._parsed(line)) is not None]

    def _parsed(self, line: bytes) -> StopRequest | None:
        # The agent runs as the same user and may write anything here.
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
        # Open for writing too: a pipe without a writer reads as ended, and select() would never wait.
        descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return -1
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return -1
    return descriptor


def request_stop(folder: Path, lock: Path, request: StopRequest) -> bool:
    """Ask the holder of a run to end its program; False when the request did not reach it.

    The pipe needs no free disk space and works from other pid namespaces. Keepers of earlier versions have none: for
    them a file and a signal.
    """
    found = read_holder(folder)
    if _send_through_pipe(lock, int(folder.name) if folder.name.isdecimal() else 0, request):
        if found is not None:
            # A suspended keeper reads nothing.
            with contextlib.suppress(OSError):
                _signal_exactly(found, signal.SIGCONT, lock)
        return True
    # On a full disk the signal alone means an ordinary stop.
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
    # The first end of line is for the half of one that may be in the pipe.
    line = b"\n" + json.dumps(asdict(request) | {"run": run}).encode() + b"\n"
    try:
        # Without a reader this fails; so does a full pipe, which means that its reader hangs.
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
    """Whether a request still waits in the pipe: its reader is suspended or hangs."""
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
    """Signal the keeper and no other process that might have been given its pid."""
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


# ── events ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Events:
    """events.jsonl of one run: what the holder saw, numbered. A full disk delays an event, it does not end anything."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "events.jsonl"
        self._waiting: list[bytes] = []
        _, earlier = read_events(folder, 0)
        self._next = max((event["seq"] for event in earlier), default=0) + 1
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._heal()

    def _heal(self) -> None:
        """A writer that was killed may have left half a line: end it, so that the next one stands alone."""
        size = os.fstat(self._descriptor).st_size
        if size and self._path.read_bytes()[-1:] != b"\n":
            self._waiting.append(b"\n")

    def append(self, kind: str, at: float, **data: Any) -> None:
        line = json.dumps({"seq": self._next, "at": at, "kind": kind, "data": data}) + "\n"
        self._next += 1
        self._waiting.append(line.encode())
        self.flush()

    def flush(self) -> None:
        while self._waiting:
            line = self._waiting[0]
            try:
                written = os.write(self._descriptor, line)
            except OSError:
                del self._waiting[1000:]
                return
            if written < len(line):
                self._waiting[0] = b"\n" + line
                return
            self._waiting.pop(0)


def read_events(folder: Path, offset: int) -> tuple[int, list[dict[str, Any]]]:
    """Whole events from a byte offset on, and the offset to go on from. Lines that are no events are passed over."""
    try:
        descriptor = os.open(folder / "events.jsonl", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            raise
        return offset, []
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        # An agent may have put anything there: a pipe would block, a device never end.
        os.close(descriptor)
        return offset, []
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset)
        data = file.read()
    end = data.rfind(b"\n") + 1
    events = []
    for line in data[:end].splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _is_event(event):
            events.append(event)
    return offset + end, events


def _is_event(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and isinstance(event.get("seq"), int)
        and isinstance(event.get("at"), int | float)
        and isinstance(event.get("kind"), str)
        and isinstance(event.get("data"), dict)
    )
