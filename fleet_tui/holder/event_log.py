"""The event log of one run, events.jsonl: what the holder observed, numbered, for reconciling and the next server."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

from fleet_tui.system import files

EVENTS_FILE = "events.jsonl"
WAITING_MOST = 1000
"""Events kept in memory while they cannot be written."""
READ_MOST = 16 << 20
"""Bytes read at once: an agent can make this file as large as it likes, with holes even on a small disk."""


class EventLog:
    """Appends numbered events to events.jsonl. A full disk delays events and stops nothing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / EVENTS_FILE
        self._waiting: list[bytes] = []
        earlier = read_last_events(folder)
        self._next = max((event["seq"] for event in earlier), default=0) + 1
        self._descriptor = -1
        self._open()

    def _open(self) -> bool:
        try:
            self._descriptor = files.open_regular(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        except OSError:
            return False
        self._heal()
        return True

    def _heal(self) -> None:
        """End a partial line that a killed writer may have left."""
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._waiting.insert(0, b"\n")

    def append(self, kind: str, at: float, **data: Any) -> None:
        line = json.dumps({"seq": self._next, "at": at, "kind": kind, "data": data}) + "\n"
        self._next += 1
        self._waiting.append(line.encode())
        self.flush()

    def flush(self) -> None:
        if self._descriptor < 0 and not self._open():
            del self._waiting[WAITING_MOST:]
            return
        while self._waiting:
            line = self._waiting[0]
            try:
                written = os.write(self._descriptor, line)
            except OSError:
                del self._waiting[WAITING_MOST:]
                return
            if written < len(line):
                self._waiting[0] = b"\n" + line
                return
            self._waiting.pop(0)


def read_events(folder: Path, offset: int) -> tuple[int, list[dict[str, Any]]]:
    """Read complete events from a byte offset on; returns the offset to continue from, and the events.

    Reads a limited amount: a caller that is further behind goes on from the returned offset.
    """
    try:
        descriptor = os.open(folder / EVENTS_FILE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO}:
            raise
        return offset, []
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        # An agent may have put a pipe there, which would block, or a device, which never ends.
        os.close(descriptor)
        return offset, []
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset)
        data = file.read(max(0, min(READ_MOST, found.st_size - offset)))
    end = data.rfind(b"\n") + 1
    if not end and len(data) == READ_MOST:
        end = READ_MOST  # no event is that long
    events = []
    for line in data[:end].splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if _is_event(event):
            events.append(event)
    return offset + end, events


def read_last_events(folder: Path) -> list[dict[str, Any]]:
    """The last events of a run, as far as `READ_MOST` bytes go back: all of them, unless an agent has written there."""
    try:
        size = os.stat(folder / EVENTS_FILE).st_size  # noqa: PTH116 - as in reconcile
    except OSError:
        return []
    return read_events(folder, max(0, size - READ_MOST))[1]


def _is_event(event: Any) -> bool:
    return (
        isinstance(event, dict)
        and isinstance(event.get("seq"), int)
        and isinstance(event.get("at"), int | float)
        and isinstance(event.get("kind"), str)
        and isinstance(event.get("data"), dict)
    )
