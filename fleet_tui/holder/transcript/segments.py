"""Segments of raw output: append every byte at a permanent offset, drop the oldest beyond a cap, read from any offset.

An offset is never given to another byte, whatever was dropped or lost, so that a reader and a restarted writer agree.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from fleet_tui.system import files

MIB = 1024 * 1024
RETRY_SECONDS = 1.0
"""Before another attempt to write after the disk has failed."""
_CHUNK = 64 * 1024
_SIZES_LIMIT = 64 * 1024
_SEGMENT = re.compile(r"out\.(\d{20})\.log")
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


class Segment(NamedTuple):
    """One file of raw output; its name says where it starts."""

    base: int
    path: Path
    size: int

    @property
    def end(self) -> int:
        return self.base + self.size


class Size(NamedTuple):
    """The terminal's size from an offset on."""

    offset: int
    cols: int
    rows: int


class Transcript:
    """Appends raw output to segments named `out.<offset>.log`, and drops the oldest beyond the cap.

    Bytes that cannot be written are counted in `lost` and leave a gap: the next segment's name starts after it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cap: int = 64 * MIB,
        segment: int = 8 * MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._cap = cap
        self._limit = max(1, min(segment, cap // 2))
        self._clock = clock
        self._next_try = float("-inf")
        self._handle = -1
        self._kept = list_segments(folder)
        last = self._kept[-1] if self._kept else None
        self.end = last.end if last else 0
        """The offset that the next byte will have."""
        self.lost = 0
        """Bytes that could not be written since this writer began."""
        self._shape = next((size[1:] for size in reversed(list_sizes(folder))), (0, 0))
        if last is not None and last.size < self._limit:
            self._reopen(last)

    def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = self._write_some(rest)
            if written == 0:
                self.lost += len(rest)
                self.end += len(rest)
                return
            self.end += written
            rest = rest[written:]

    def resized(self, cols: int, rows: int) -> None:
        """Record the terminal's size from this offset on."""
        if self._shape == (cols, rows):
            return
        self._shape = (cols, rows)
        path = self._folder / "sizes.jsonl"
        try:
            if path.exists() and path.stat().st_size > _SIZES_LIMIT:
                self._shorten_sizes(path)
            # A full disk may have cut the previous line short; empty lines are ignored.
            _append(path, b"\n" + _as_json(Size(self.end, cols, rows)))
        except OSError:
            return

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _write_some(self, data: memoryview) -> int:
        """Write to the open segment or a new one; the number of bytes written, 0 on failure."""
        if self._handle >= 0 and self._kept[-1].size >= self._limit:
            self.close()
        if self._handle < 0 and not self._begin():
            return 0
        current = self._kept[-1]
        try:
            written = os.write(self._handle, data[: self._limit - current.size])
        except OSError:
            written = 0
        self._kept[-1] = current._replace(size=current.size + written)
        if written == 0:
            self._fail()
        return written

    def _begin(self) -> bool:
        """Open a segment that starts at the end, unless a failure is recent."""
        if self._clock() < self._next_try:
            return False
        self._drop_oldest()
        path = self._folder / f"out.{self.end:020}.log"
        empty = self._kept[-1] if self._kept and self._kept[-1].size == 0 else None
        try:
            if empty is not None:
                # Left by a failure: it marks the start of a gap and moves with the end.
                empty.path.rename(path)
                self._kept.pop()
            self._handle = files.open_regular(path, _APPEND)
        except OSError:
            self._fail()
            return False
        self._kept.append(Segment(self.end, path, 0))
        return True

    def _fail(self) -> None:
        self.close()
        self._next_try = self._clock() + RETRY_SECONDS

    def _reopen(self, last: Segment) -> None:
        try:
            self._handle = files.open_regular(last.path, _APPEND)
        except OSError:
            self._fail()

    def _drop_oldest(self) -> None:
        """Make room for a new segment of full size."""
        total = sum(segment.size for segment in self._kept)
        while self._kept and total + self._limit > self._cap:
            oldest = self._kept.pop(0)
            total -= oldest.size
            try:
                oldest.path.unlink(missing_ok=True)
            except OSError:
                return

    def _shorten_sizes(self, path: Path) -> None:
        """Keep only sizes of output that still exists, and at most half of the limit."""
        oldest = self._kept[0].base if self._kept else self.end
        known = list_sizes(self._folder)
        first = max((i for i, size in enumerate(known) if size.offset <= oldest), default=0)
        kept = b"\n".join(_as_json(size) for size in known[first:])[-_SIZES_LIMIT // 2 :]
        files.replace(path, kept)


def list_segments(folder: Path) -> list[Segment]:
    """The existing segments, oldest first."""
    return sorted(Segment(base, Path(path), size) for base, path, size in _segment_files(folder))


def list_sizes(folder: Path) -> list[Size]:
    """The terminal's sizes, oldest first; lines that a full disk cut short are skipped."""
    try:
        lines = files.read(folder / "sizes.jsonl").split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            offset, cols, rows = json.loads(line)
        except (ValueError, TypeError):
            continue
        found.append(Size(offset, cols, rows))
    return found


def read(folder: Path, offset: int, limit: int) -> tuple[int, bytes]:
    """Read bytes from an offset on; returns the offset they really start at, and the bytes.

    If the offset was dropped or lies in a gap, reading starts at the next byte that exists. The result contains no gap;
    an empty one means that the end was reached.
    """
    reader = TranscriptReader(folder, offset)
    try:
        return reader.read(limit)
    finally:
        reader.close()


class TranscriptReader:
    """Reads a growing transcript across its segments; cheap while nothing is new."""

    def __init__(self, folder: Path, offset: int = 0) -> None:
        self.offset = offset
        """Where the next read starts, unless there is a gap."""
        self._folder = folder
        self._handle = -1
        self._base = 0

    def read(self, limit: int = _CHUNK) -> tuple[int, bytes]:
        """Read on, up to a limit or a gap; returns the offset the bytes start at, and the bytes."""
        data = self._read_open(limit)
        if not data:
            self._open_next()
            data = self._read_open(limit)
        start = self.offset
        self.offset += len(data)
        while data and len(data) < limit and self._open_next(gapless=True):
            more = self._read_open(limit - len(data))
            if not more:
                break
            data += more
            self.offset += len(more)
        return start, data

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _read_open(self, limit: int) -> bytes:
        if self._handle < 0:
            return b""
        try:
            return os.pread(self._handle, limit, self.offset - self._base)
        except OSError:
            return b""

    def _open_next(self, *, gapless: bool = False) -> bool:
        """Open the segment with the next byte to read; False when there is none yet."""
        end = self.offset
        for base, path, size in sorted(_segment_files(self._folder)):
            end = base + size
            if end <= self.offset:
                continue
            if gapless and base > self.offset:
                return False
            try:
                handle = files.open_regular(path, os.O_RDONLY)
            except OSError:  # dropped meanwhile
                continue
            self.close()
            self._handle, self._base = handle, base
            self.offset = max(base, self.offset)
            return True
        self.offset = min(self.offset, end)
        return False


def _segment_files(folder: Path) -> Iterator[tuple[int, str, int]]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = _SEGMENT.fullmatch(entry.name)
                if name is None or not entry.is_file(follow_symlinks=False):
                    continue
                try:
                    yield int(name[1]), entry.path, entry.stat(follow_symlinks=False).st_size
                except OSError:  # dropped meanwhile
                    continue
    except OSError:
        return


def _as_json(size: Size) -> bytes:
    return json.dumps(size, separators=(",", ":")).encode()


def _append(path: Path, data: bytes) -> None:
    handle = files.open_regular(path, _APPEND)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
