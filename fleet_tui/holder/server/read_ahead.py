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
        self._begin.acquire()
        self._end.acquire()
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
        if len(data) < FLOOD_BYTES or not self._is_thread_there():
            yield
            return
        self._is_to_stop = False
        self._begin.release()
        try:
            yield
        finally:
            self._is_to_stop = True
            self._end.acquire()

    def _is_thread_there(self) -> bool:
        """Start the thread, unless it runs; False if the system has none to give, as when a program forks without end."""
        if not self._has_thread:
            try:
                _thread.start_new_thread(self._run, ())
            except RuntimeError:
                return False
            self._has_thread = True
        return True

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
                piece = self._read_piece()
                if piece:
                    pieces.append(piece)
                    size += len(piece)
                else:
                    select.select([self._pty.master], [], [], PAUSE_SECONDS)
        finally:
            self._ahead = b"".join(pieces)

    def _read(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        while size < READ_SIZE and (piece := self._read_piece()):
            pieces.append(piece)
            size += len(piece)
        return b"".join(pieces)

    def _read_piece(self) -> bytes:
        """Read and record one piece: what is not recorded when this process is killed is lost."""
        piece = self._pty.read()
        if piece:
            self._transcript.write(piece)
        return piece
