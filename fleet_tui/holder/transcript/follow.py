"""Following lines.log: read its last lines, then what is added, across rotations."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from fleet_tui.holder.transcript.lines import LINES_FILE, OLD_LINES_FILE, LogPlace
from fleet_tui.system import files

_CHUNK = 64 * 1024


def last_lines(folder: Path, count: int, until: LogPlace | None = None) -> list[str]:
    """The last `count` complete lines, oldest first; with `until`, those before that place."""
    follower = Follower(folder, last=count, until=until)
    try:
        return follower.read(until)
    finally:
        follower.close()


class Follower:
    """Reads lines.log as it grows: first the last `last` lines, then what is added."""

    def __init__(self, folder: Path, *, last: int = 0, until: LogPlace | None = None) -> None:
        self._path = folder / LINES_FILE
        self._old_path = folder / OLD_LINES_FILE
        self._handle = -1
        self._position = 0
        self._partial = b""
        self._first: list[bytes] = []
        self._begin(last, until)

    def read(self, until: LogPlace | None = None) -> list[str]:
        """The complete lines since the last call; with `until`, those before that place."""
        lines, self._first = self._first, []
        lines += self._added(until)
        while not self._is_at(until) and (successor := self._successor()) >= 0:
            lines += self._added(until)  # written just before the rotation
            self.close()
            self._handle, self._position, self._partial = successor, 0, b""
            lines += self._added(until)
        return [line.decode("utf-8", "replace") for line in lines]

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _begin(self, last: int, until: LogPlace | None) -> None:
        newest = _open_to_read(self._path)
        old = _open_to_read(self._old_path)
        # In the middle of a rotation, or after one that is later than `until`.
        if newest < 0 or _is_same(old, newest) or (until is not None and _inode(old) == until[0]):
            _close(newest)
            newest, old = old, -1
        self._handle = newest
        end = until[1] if until is not None and _inode(newest) == until[0] else None
        self._first, self._position = _backwards(newest, last, end)
        if len(self._first) < last:
            self._first[:0] = _backwards(old, last - len(self._first))[0]
        _close(old)

    def _is_at(self, until: LogPlace | None) -> bool:
        return until is not None and _inode(self._handle) == until[0]

    def _added(self, until: LogPlace | None) -> list[bytes]:
        lines: list[bytes] = []
        end = until[1] if until is not None and self._is_at(until) else sys.maxsize
        while self._handle >= 0:
            wanted = min(_CHUNK, max(0, end - self._position))
            data = os.pread(self._handle, wanted, self._position)
            if not data:
                break
            self._position += len(data)
            *complete, self._partial = (self._partial + data).split(b"\n")
            lines += complete
        return lines

    def _successor(self) -> int:
        """Open the file that continues the current one; -1 while the current one is the newest."""
        newest = _open_to_read(self._path)
        if newest < 0 or _is_same(newest, self._handle):
            _close(newest)
            return -1
        old = _open_to_read(self._old_path)
        if old < 0 or _is_same(old, self._handle):
            _close(old)
            return newest
        _close(newest)  # rotated twice: read the file in between first
        return old


class ShownLines:
    """Screen lines already printed, which are skipped when they scroll away and appear in the log."""

    REDRAWN_AFTER = 5
    """After this many reads of a screen with nothing in common, it counts as redrawn."""

    def __init__(self) -> None:
        self._printed: list[str] = []
        """Rows that have left the screen and are not in the log yet, then rows still on it."""
        self._unrelated = 0

    def on_screen(self, rows: Sequence[str]) -> list[str]:
        """The rows to print: those below the ones printed before."""
        known = len(self._printed)
        # Without a common row, the lines in between will come through the log.
        for gone in range(known or 1):
            kept = known - gone
            if self._printed[gone:] == list(rows[:kept]):
                self._unrelated = 0
                fresh = list(rows[kept:])
                self._printed += fresh
                return fresh
        self._unrelated += 1
        if self._unrelated < self.REDRAWN_AFTER:
            return []
        self._unrelated = 0
        fresh = [row for row in rows if row not in self._printed]
        self._printed = list(rows)
        return fresh

    def logged(self, lines: Iterable[str]) -> list[str]:
        """The lines of the log that were not printed from the screen."""
        return [line for line in lines if not self._was_printed(line)]

    def _was_printed(self, line: str) -> bool:
        """Whether rows of the screen make up this line; the log joins wrapped rows."""
        rest, used = line, 0
        for row in self._printed:
            if rest != row and not (row and rest.startswith(row)):
                break
            rest, used = rest[len(row) :], used + 1
            if not rest:
                break
        if rest:
            self._printed = []
            return False
        del self._printed[:used]
        return used > 0


def _backwards(handle: int, count: int, end: int | None = None) -> tuple[list[bytes], int]:
    """The last `count` complete lines of a file (before `end`), and where the last of them ends."""
    position = os.fstat(handle).st_size if handle >= 0 else 0
    position = position if end is None else min(end, position)
    chunks: list[bytes] = []
    complete = 0
    breaks = 0
    while position > 0 and (not complete or breaks <= count):
        start = max(0, position - _CHUNK)
        chunk = os.pread(handle, position - start, start)
        position = start
        if not complete:
            chunk = chunk[: chunk.rfind(b"\n") + 1]
            complete = start + len(chunk) if chunk else 0
        breaks += chunk.count(b"\n")
        chunks.append(chunk)
    lines = b"".join(reversed(chunks)).split(b"\n")[:-1]
    return (lines[-count:] if count > 0 else []), complete


def _open_to_read(path: Path) -> int:
    try:
        return files.open_regular(path, os.O_RDONLY)
    except OSError:
        return -1


def _is_same(one: int, other: int) -> bool:
    if one < 0 or other < 0:
        return False
    return os.path.samestat(os.fstat(one), os.fstat(other))


def _inode(handle: int) -> int:
    return os.fstat(handle).st_ino if handle >= 0 else -1


def _close(handle: int) -> None:
    if handle >= 0:
        os.close(handle)
