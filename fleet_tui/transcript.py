"""What an agent printed: raw output in capped segments with permanent offsets, and readable lines.

Every byte of output has an offset that is never given to another byte, whatever was dropped or lost. One
process writes, any number read. No failure of the disk raises in a writer: the agent's screen must go on.
No emulator here: lines and screen rows come in as plain strings.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

MIB = 1024 * 1024
_CHUNK = 64 * 1024

LogPlace: TypeAlias = tuple[int, int]
"""The inode of a lines.log, which is moved away when it is full, and an offset in it."""
_SIZES_LIMIT = 64 * 1024
_SEGMENT = re.compile(r"out\.(\d{20})\.log")
_APPEND = os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


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
    """The writer's end of the raw output: `out.<offset>.log`, the oldest dropped beyond the cap.

    What cannot be written is counted in `lost` and leaves a gap: the next segment's name starts after it.
    """

    def __init__(
        self,
        folder: Path,
        *,
        cap: int = 64 * MIB,
        segment: int = 8 * MIB,
        retry: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._cap = cap
        self._limit = max(1, min(segment, cap // 2))
        self._retry = retry
        self._clock = clock
        self._next_try = float("-inf")
        self._handle = -1
        self._kept = segments(folder)
        last = self._kept[-1] if self._kept else None
        self.end = last.end if last else 0
        """The offset that the next byte will have."""
        self.lost = 0
        """Bytes that could not be written since this writer began."""
        self._shape = next((size[1:] for size in reversed(sizes(folder))), (0, 0))
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
        """Note the terminal's size from here on."""
        if self._shape == (cols, rows):
            return
        self._shape = (cols, rows)
        path = self._folder / "sizes.jsonl"
        try:
            if path.exists() and path.stat().st_size > _SIZES_LIMIT:
                self._shorten_sizes(path)
            # The line before may have been cut short by a full disk; an empty line means nothing.
            _put(path, _APPEND, b"\n" + _as_json(Size(self.end, cols, rows)))
        except OSError:
            return

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _write_some(self, data: memoryview) -> int:
        """How many bytes got into the segment that is open, or into a new one; 0 when it fails."""
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
        """Open a segment that starts at the end; not while an earlier failure is fresh."""
        if self._clock() < self._next_try:
            return False
        self._drop_oldest()
        path = self._folder / f"out.{self.end:020}.log"
        empty = self._kept[-1] if self._kept and self._kept[-1].size == 0 else None
        try:
            if empty is not None:
                # It was left by a failure and marks where a gap began to be known; it moves with the end.
                empty.path.rename(path)
                self._kept.pop()
            self._handle = os.open(path, os.O_WRONLY | _APPEND, 0o600)
        except OSError:
            self._fail()
            return False
        self._kept.append(Segment(self.end, path, 0))
        return True

    def _fail(self) -> None:
        self.close()
        self._next_try = self._clock() + self._retry

    def _reopen(self, last: Segment) -> None:
        try:
            self._handle = os.open(last.path, os.O_WRONLY | _APPEND, 0o600)
        except OSError:
            self._fail()

    def _drop_oldest(self) -> None:
        """Make room for a whole new segment."""
        total = sum(segment.size for segment in self._kept)
        while self._kept and total + self._limit > self._cap:
            oldest = self._kept.pop(0)
            total -= oldest.size
            try:
                oldest.path.unlink(missing_ok=True)
            except OSError:
                return

    def _shorten_sizes(self, path: Path) -> None:
        """Keep only what applies to output that is still there, and at most half of the limit."""
        oldest = self._kept[0].base if self._kept else self.end
        known = sizes(self._folder)
        first = max((i for i, size in enumerate(known) if size.offset <= oldest), default=0)
        kept = b"\n".join(_as_json(size) for size in known[first:])[-_SIZES_LIMIT // 2 :]
        new = path.with_suffix(".new")
        _put(new, os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, kept)
        new.rename(path)


def segments(folder: Path) -> list[Segment]:
    """The files of raw output that are there, oldest first."""
    return sorted(Segment(base, Path(path), size) for base, path, size in _segment_files(folder))


def sizes(folder: Path) -> list[Size]:
    """The terminal's sizes, oldest first; what was cut short by a full disk is left out."""
    try:
        lines = (folder / "sizes.jsonl").read_bytes().split(b"\n")
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
    """Bytes from an offset on, and the offset they really start at.

    That is the oldest kept one where the given one is gone, or the end of a gap that it lies in. What is
    returned has no gap inside; nothing at all means that the end was reached.
    """
    reader = Reader(folder, offset)
    try:
        return reader.read(limit)
    finally:
        reader.close()


def tail(folder: Path, limit: int) -> bytes:
    """The last bytes, at most so many; gaps are passed over."""
    parts: list[bytes] = []
    wanted = limit
    for segment in reversed(segments(folder)):
        if wanted <= 0:
            break
        try:
            with segment.path.open("rb") as file:
                file.seek(max(0, segment.size - wanted))
                parts.append(file.read(wanted))
        except OSError:
            break
        wanted -= len(parts[-1])
    return b"".join(reversed(parts))


class Reader:
    """Polls a transcript from an offset on, across segments; cheap while nothing is new."""

    def __init__(self, folder: Path, offset: int = 0) -> None:
        self.offset = offset
        """Where the next read starts, as far as is known."""
        self._folder = folder
        self._handle = -1
        self._base = 0

    def read(self, limit: int = _CHUNK) -> tuple[int, bytes]:
        """What there is from here on, up to a limit or a gap, and the offset that it starts at."""
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
        """Open the segment with the next byte to read and go there; False when there is none yet."""
        end = self.offset
        for base, path, size in sorted(_segment_files(self._folder)):
            end = base + size
            if end <= self.offset:
                continue
            if gapless and base > self.offset:
                return False
            try:
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:  # dropped meanwhile
                continue
            self.close()
            self._handle, self._base = handle, base
            self.offset = max(base, self.offset)
            return True
        self.offset = min(self.offset, end)
        return False


class Lines:
    """The writer's end of lines.log: readable text, one line each; moved to lines.1.log at half the cap."""

    def __init__(self, folder: Path, *, cap: int = 16 * MIB) -> None:
        self._path = folder / "lines.log"
        self._limit = max(1, cap // 2)
        self._handle = -1
        self._size = 0
        self._is_cut = False
        self.lost = 0
        """Lines that could not be written since this writer began."""
        self._untold = 0
        """Those of them that the log does not say so of yet."""

    def append(self, lines: Sequence[str]) -> None:
        for start in range(0, len(lines), 512):
            part = lines[start : start + 512]
            mark = (
                [f"[lines that could not be kept, no space was left: {self._untold}]"] if self._untold else []
            )
            try:
                self._append(_as_lines([*mark, *part]))
                self._untold = 0
            except OSError:
                self.close()
                self.lost += len(part)
                self._untold += len(part)

    @property
    def end(self) -> LogPlace:
        """Where the next line will be, as long as the file is not moved away before."""
        try:
            self._open()
        except OSError:
            return (0, 0)
        return (os.fstat(self._handle).st_ino, self._size)

    def close(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _append(self, data: bytes) -> None:
        self._open()
        if self._size and self._size + len(data) > self._limit:
            self._path.replace(self._path.with_name("lines.1.log"))
            self.close()
            self._open()
        if self._is_cut:
            data = b"\n" + data
        while data:
            written = os.write(self._handle, data)
            self._size += written
            data = data[written:]
            self._is_cut = bool(data)

    def _open(self) -> None:
        if self._handle >= 0:
            return
        self._handle = os.open(self._path, os.O_RDWR | _APPEND, 0o600)
        self._size = os.fstat(self._handle).st_size
        self._is_cut = self._size > 0 and os.pread(self._handle, 1, self._size - 1) != b"\n"


def last_lines(folder: Path, count: int, until: LogPlace | None = None) -> list[str]:
    """The last complete lines, at most so many, oldest first; with `until`, those before that place."""
    follower = Follower(folder, last=count, until=until)
    try:
        return follower.read(until)
    finally:
        follower.close()


class Follower:
    """Reads lines.log as it grows: first its last `last` lines, then what has been added."""

    def __init__(self, folder: Path, *, last: int = 0, until: LogPlace | None = None) -> None:
        self._path = folder / "lines.log"
        self._old_path = folder / "lines.1.log"
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
            lines += self._added(until)  # what was written just before it was rotated away
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
        # Caught in the middle of a rotation, or after one that came later than the place.
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
        """The file that goes on where the open one ends, opened; -1 while that is the newest."""
        newest = _open_to_read(self._path)
        if newest < 0 or _is_same(newest, self._handle):
            _close(newest)
            return -1
        old = _open_to_read(self._old_path)
        if old < 0 or _is_same(old, self._handle):
            _close(old)
            return newest
        _close(newest)  # rotated twice: the file in between comes first
        return old


class Shown:
    """What a follower has printed: a line of the screen comes again in the log when it scrolls away, and is passed over."""

    PATIENCE = 5
    """Looks at a screen that fits nothing that was printed, before it counts as redrawn."""

    def __init__(self) -> None:
        self._printed: list[str] = []
        """Rows that are still on the screen, below those that have left it and are not in the log yet."""
        self._strange = 0

    def on_screen(self, rows: Sequence[str]) -> list[str]:
        """The rows below those that were printed."""
        known = len(self._printed)
        # Without a common row, what lies between will come through the log.
        for gone in range(known or 1):
            kept = known - gone
            if self._printed[gone:] == list(rows[:kept]):
                self._strange = 0
                fresh = list(rows[kept:])
                self._printed += fresh
                return fresh
        self._strange += 1
        if self._strange < self.PATIENCE:
            return []
        self._strange = 0
        fresh = [row for row in rows if row not in self._printed]
        self._printed = list(rows)
        return fresh

    def logged(self, lines: Iterable[str]) -> list[str]:
        """Those lines of the log that were not on the screen before."""
        return [line for line in lines if not self._was_printed(line)]

    def _was_printed(self, line: str) -> bool:
        """The log has the rows of a wrapped line as one."""
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


class Settled:
    """Picks from an alternate screen each distinct line once it has stood still for `hold` seconds.

    A line is told by its text, wherever on the screen it is: one that scrolls has not changed. What was given
    is remembered, so that a redraw does not repeat it; what is on the screen is never forgotten.
    """

    def __init__(self, *, hold: float = 1.0, remember: int = 2000) -> None:
        self._hold = hold
        self._remember = remember
        self._given: dict[int, None] = {}
        self._waiting: dict[str, float] = {}

    def seen(self, rows: Iterable[str], now: float) -> list[str]:
        """The lines that have settled by now, top to bottom, given what the screen shows."""
        waiting: dict[str, float] = {}
        settled: list[str] = []
        for row in rows:
            line = row.rstrip()
            if not line or line in waiting:
                continue
            if self._is_given(line):
                self._note(line)
                continue
            since = self._waiting.get(line, now)
            if now - since >= self._hold:
                settled.append(line)
                self._note(line)
            else:
                waiting[line] = since
        self._waiting = waiting
        self._forget()
        return settled

    def rest(self) -> list[str]:
        """What has not settled yet; for the last screen of a program that ended."""
        lines = list(self._waiting)
        for line in lines:
            self._note(line)
        self._waiting = {}
        return lines

    @property
    def due(self) -> float | None:
        """When the next line settles if nothing changes; None when none waits."""
        return min(self._waiting.values()) + self._hold if self._waiting else None

    def _is_given(self, line: str) -> bool:
        return hash(line) in self._given

    def _note(self, line: str) -> None:
        """Remember as the newest; a hash, for a screen server has to stay small."""
        self._given.pop(hash(line), None)
        self._given[hash(line)] = None

    def _forget(self) -> None:
        while len(self._given) > self._remember:
            del self._given[next(iter(self._given))]


_ESCAPES = re.compile(
    r"\x1b[PX^_][^\x1b]*(?:\x1b\\|$)"  # strings: DCS, SOS, PM, APC
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC
    r"|\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"  # CSI
    r"|\x1b[ -/]*(?:[0-~]|$)"  # the rest
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_LATE_CONTROLS = re.compile(rb"\xc2[\x80-\x9f]")
_AS_BYTES = bytes(
    10 if byte == 0 else 32 if (byte < 32 and byte != 9) or byte == 127 else byte for byte in range(256)
)
"""Of lines with a zero after each: that ends the line, and all other controls but tabs become spaces."""


def plain(data: bytes) -> str:
    """Raw output as text without sequences and controls; no screen is emulated, so redraws repeat."""
    text = _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", "\n".join(lines))


def total_size(agents_folder: Path) -> int:
    """Bytes of all agents' raw output."""
    return sum(segment.size for agent in _agents(agents_folder) for segment in agent.segments)


def evict(agents_folder: Path, cap: int, keep: Collection[str]) -> list[Path]:
    """Delete segments of ended agents, those that ended first first, until all fit the cap.

    Agents whose id is in `keep` (the live ones) are left alone, and so is every file that is no segment.
    """
    agents = _agents(agents_folder)
    excess = sum(segment.size for agent in agents for segment in agent.segments) - cap
    deleted: list[Path] = []
    for agent in sorted(
        (agent for agent in agents if agent.id not in keep), key=lambda agent: agent.last_output
    ):
        for segment in agent.segments:
            if excess <= 0:
                return deleted
            try:
                segment.path.unlink()
            except OSError:
                continue
            excess -= segment.size
            deleted.append(segment.path)
    return deleted


class _Output(NamedTuple):
    """All raw output of one agent, oldest run first."""

    id: str
    segments: list[Segment]
    last_output: float


def _agents(agents_folder: Path) -> list[_Output]:
    found = []
    for agent_id, folder in _folders(agents_folder):
        runs = sorted(_folders(folder), key=lambda run: (len(run[0]), run[0]))
        output = [segment for _, run in runs for segment in segments(run)]
        if output:
            found.append(_Output(agent_id, output, max(_modified(segment.path) for segment in output)))
    return found


def _folders(parent: Path) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(parent) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield entry.name, Path(entry.path)
    except OSError:
        return


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


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


def _backwards(handle: int, count: int, end: int | None = None) -> tuple[list[bytes], int]:
    """The last complete lines of a file (before `end`), at most so many, and where the last of them ends."""
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


def _as_lines(lines: Sequence[str]) -> bytes:
    """Lines of the file: what would break one, or a terminal that shows it, becomes a space."""
    text = "\0".join((*lines, ""))
    if text.count("\0") > len(lines):
        text = "\0".join((*(line.replace("\0", " ") for line in lines), ""))
    data = text.encode("utf-8", "replace").translate(_AS_BYTES)
    return _LATE_CONTROLS.sub(b" ", data) if b"\xc2" in data else data


def _as_json(size: Size) -> bytes:
    return json.dumps(size, separators=(",", ":")).encode()


def _put(path: Path, flags: int, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | flags, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)


def _open_to_read(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
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
