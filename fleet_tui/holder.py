"""The files by which a holder and everybody else know of each other: lock, records, events, requests.

A holder writes them in its run's folder, faces only read them; a face writes a request to stop, and that an agent was
killed.
Nothing here talks to a socket, a terminal or the store.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from fleet_tui import processes
from fleet_tui.values import asdict, dataclass, field, known

RECORD_SIZE = 4096
"""Bytes reserved on disk at the start, so that the end can be recorded on a full one."""

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
    cause: str
    grace: float


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
        values = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(values, dict):
        return None
    try:
        return kind(**known(kind, values))
    except TypeError:
        return None


def read_holder(folder: Path) -> Holder | None:
    return read_record(folder / "holder.json", Holder)


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
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
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


def request_stop(folder: Path, lock: Path, request: StopRequest) -> bool:
    """Ask a run's keeper to end its program; False when there is no keeper any more.

    A file and a signal, so that it works whatever state the screen server is in.
    """
    # A full disk takes no request; the signal alone means an ordinary stop.
    with contextlib.suppress(OSError):
        write_record(folder / "stop.json", request)
    found = read_holder(folder)
    if found is None or not is_held(lock):
        return False
    try:
        _signal_exactly(found, signal.SIGUSR1, lock)
    except (ProcessLookupError, PermissionError):
        return False
    return True


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
        with (folder / "events.jsonl").open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return offset, []
    end = data.rfind(b"\n") + 1
    events = []
    for line in data[:end].splitlines():
        try:
            event = json.loads(line)
        except ValueError:
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
