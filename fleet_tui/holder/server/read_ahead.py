"""Read and record a program's output; under a flood, keep reading in a thread while the emulator works.

The kernel returns at most four kilobytes of a terminal per read, and gets the next ones only after that: reading takes as
long as emulating. The thread runs only inside `reading_on`; otherwise nothing runs concurrently. It does not come from
`threading`, which would cost each keeper and screen server a quarter of a megabyte.
"""

from __future__ import annotations

import _thread
import contextlib
import select
from collections.abc import Iterator

from fleet_tui.holder.server import complaints
from fleet_tui.holder.server.pty import READ_SIZE, Pty
from fleet_tui.holder.transcript.segments import Transcript

FLOOD_BYTES = READ_SIZE // 4
"""Output of at least this size is probably followed by more."""
PAUSE_SECONDS = 0.0002
"""How long the thread waits for more output before it checks whether to stop."""


class ReadAhead:
    """Returns output in order, all of it recorded; reads ahead by at most one piece."""

    def __init__(self, pty: Pty, transcript: Transcript) -> None:
        self._pty = pty
        self._transcript = transcript
        self._ahead = b""
        self._has_thread = False
        self._begin, self._end = _thread.allocate_lock(), _thread.allocate_lock()
        self._is_to_stop = False

    @property
    def has_more(self) -> bool:
        """Whether there is output that was read ahead and not returned yet."""
        return bool(self._ahead)

    @property
    def offset(self) -> int:
        """The offset in the transcript up to which output was returned."""
        return self._transcript.end - len(self._ahead)

    def next(self) -> bytes:
        """The next output; empty if there is none now."""
        data, self._ahead = self._ahead, b""
        return data or self._read()

    @contextlib.contextmanager
    def reading_on(self, data: bytes) -> Iterator[None]:
        """Read the next output while the block works on this one, if it looks like a flood."""
        if len(data) < FLOOD_BYTES:
            yield
            return
        if not self._has_thread:
            self._has_thread = True
            self._begin.acquire()
            self._end.acquire()
            _thread.start_new_thread(self._run, ())
        self._is_to_stop = False
        self._begin.release()
        try:
            yield
        finally:
            self._is_to_stop = True
            self._end.acquire()

    def _run(self) -> None:
        while True:
            self._begin.acquire()
            try:
                self._read_on()
            except Exception:  # noqa: BLE001 - the loop waits for the end of this, and a later read shows the problem
                complaints.log()
            finally:
                self._end.release()

    def _read_on(self) -> None:
        pieces: list[bytes] = []
        size = 0
        try:
            while size < READ_SIZE and not self._is_to_stop and self._pty.is_open:
                # One piece at a time: what is not recorded yet is lost if the emulator crashes.
                piece = self._read(1)
                if piece:
                    pieces.append(piece)
                    size += len(piece)
                else:
                    select.select([self._pty.master], [], [], PAUSE_SECONDS)
        finally:
            self._ahead = b"".join(pieces)

    def _read(self, limit: int = READ_SIZE) -> bytes:
        data = self._pty.read(limit)
        if data:
            self._transcript.write(data)
        return data
