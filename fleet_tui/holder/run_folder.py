"""Records in a run's folder: who holds the agent, its stray processes, how the run ended, and what headless runs left.

A holder writes them, faces only read them. Nothing here talks to a socket, a terminal or the store.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, TypeVar

from fleet_tui.fast_dataclasses import asdict, dataclass, fields, known, replace
from fleet_tui.system import files

HOLDER_FILE = "holder.json"
EXIT_FILE = "exit.json"
STRAYS_FILE = "strays.json"
PROMPTS_FILE = "prompts.jsonl"
PROMPTS_MOST = 64 << 20
"""Bytes of prompts.jsonl that are read."""
FINAL_FRAME = "final.frame"
FINAL_FRAME_MOST = 64 << 20
"""Bytes of it that are read."""
SETUP_SCRIPT = "setup.sh"
SETUP_LOG = "setup.log"
"""Names of files in a run's folder."""
SESSION_FILE = "session.json"
SPENDING_FILE = "spending.json"
"""Names of what a headless run leaves there."""

TIMED_OUT = "timeout"
"""The cause of an exit at the time limit of a run."""
RECORD_SIZE = 4096
"""Bytes reserved at the start, so that the end can be recorded on a full disk."""

LARGEST = 1 << 63
"""What the store can keep is smaller."""
LATEST = 1e11
"""Seconds since 1970: some time in the year 5138."""
_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a character, which neither the store nor a path takes."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Holder:
    """holder.json: who holds an agent, written once its program has been started."""

    agent: str
    run: int
    keeper_pid: int
    keeper_started: int
    """Clock ticks since boot; with the pid it identifies one process."""
    pid: int
    socket: str
    boot_id: str
    started_at: float
    version: str = ""
    terminal: tuple[int, ...] = ()
    """Of the program; see `identity.terminal`."""


@dataclass(frozen=True, slots=True)
class Strays:
    """strays.json: descendants without the agent's mark; if the keeper is killed, only this says whose they are."""

    processes: tuple[tuple[int, int], ...] = ()
    """Pid and start time of each."""


@dataclass(frozen=True, slots=True)
class Exit:
    """exit.json: how a run ended."""

    cause: str
    """exited: by itself; stop, kill, cancel: on request; timeout: at its time limit; shutdown: the keeper was asked to
    end; failed: it never started."""
    at: float
    code: int | None = None
    signal: int | None = None
    reason: str = ""
    """For failed: what went wrong."""
    lost_output: int = 0
    """Bytes of output missing in the transcript."""
    survivors: tuple[int, ...] = ()
    """Processes that could not be ended."""


@dataclass(frozen=True, slots=True)
class HeadlessSession:
    """session.json of a headless run: its program's id of the conversation, for the next run."""

    session_id: str


@dataclass(frozen=True, slots=True)
class Killed:
    """killed.json: exists from the kill of an agent until it is undone, so that a lost store can be rebuilt."""

    at: float
    who: str = ""
    """As `TrashItem.who`."""
    why: str = ""


def write_record(path: Path, record: Any) -> None:
    """Write a record atomically.

    Without fsync, which may take seconds on a busy disk: after a power cut only the end of a run matters.
    """
    files.replace(path, json.dumps(asdict(record)).encode())


def read_record(path: Path, kind: type[T]) -> T | None:
    """The record, or None when it is missing or invalid."""
    try:
        values = json.loads(files.read(path))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    made: type[Any] = kind
    types = {one.name: str(one.type) for one in fields(made)}
    kept = known(kind, values)
    if not all(_fits(value, types[name]) for name, value in kept.items()):
        return None
    try:
        return kind(**kept)
    except TypeError:
        return None


def _fits(value: object, kind: str) -> bool:
    """Whether a value is of the type of its field: an agent runs as the same user, and may write anything there."""
    if value is None:
        return kind.endswith("| None")
    match kind.removesuffix(" | None"):
        case "int":
            return isinstance(value, int) and abs(value) < LARGEST
        case "float":
            return isinstance(value, int | float)
        case "str":
            return isinstance(value, str) and "\0" not in value and not _SURROGATE.search(value)
    return True


def _is_time(value: float) -> bool:
    return 0 <= value < LATEST


def read_holder(folder: Path) -> Holder | None:
    found = read_record(folder / HOLDER_FILE, Holder)
    if found is None or not _is_time(found.started_at):
        return None
    if not all(0 < pid < 1 << 31 for pid in (found.keeper_pid, found.pid)):
        return None
    # JSON has no tuples, and a damaged file may have anything there.
    terminal: Any = found.terminal
    return replace(found, terminal=tuple(terminal) if isinstance(terminal, list) else ())


def read_strays(folder: Path) -> frozenset[tuple[int, int]]:
    found = read_record(folder / STRAYS_FILE, Strays)
    try:
        return (
            frozenset((int(pid), int(started)) for pid, started in found.processes) if found else frozenset()
        )
    except (TypeError, ValueError):
        return frozenset()


def read_exit(folder: Path) -> Exit | None:
    found = read_record(folder / EXIT_FILE, Exit)
    return found if found is not None and _is_time(found.at) else None


class ExitRecord:
    """Reserves space for exit.json while the disk has some."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / EXIT_FILE
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
