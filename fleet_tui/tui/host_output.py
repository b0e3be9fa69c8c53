"""Output to the host terminal, buffered and written without blocking."""

from __future__ import annotations

import asyncio
import os
import select
import time
from collections.abc import Callable


class HostOutput:
    """Buffers bytes for the host terminal and writes them without blocking. Used from the loop's thread only."""

    def __init__(self, descriptor: int, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._shared = descriptor
        self._descriptor = self._open(descriptor)
        self._pending = bytearray()
        self._is_waiting = False
        self._is_flush_due = False
        self._when_drained: list[Callable[[], None]] = []
        self.is_held = False
        """The frame is incomplete: hold the flush."""
        self.is_gone = False

    @staticmethod
    def _open(descriptor: int) -> int:
        """Open the terminal again: O_NONBLOCK belongs to the open file, which the shell shares."""
        try:
            return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError:
            os.set_blocking(descriptor, False)
            return descriptor

    @property
    def backlog(self) -> int:
        """Bytes that the host has not read."""
        return len(self._pending)

    def write(self, text: str) -> None:
        if self.is_gone:
            return
        self._pending += text.encode("utf-8", "replace")
        if not self._is_flush_due:
            self._is_flush_due = True
            self._loop.call_soon(self._flush_later)

    def _flush_later(self) -> None:
        self._is_flush_due = False
        self.flush()

    def flush(self) -> None:
        if self.is_held:
            return
        while self._pending and not self.is_gone:
            try:
                written = os.write(self._descriptor, self._pending)
            except BlockingIOError:
                break
            except OSError:
                self.is_gone = True
                self._pending.clear()
                break
            del self._pending[:written]
        self._wait_for_host(bool(self._pending))
        if not self._pending:
            due, self._when_drained = self._when_drained, []
            for callback in due:
                callback()

    def _wait_for_host(self, is_needed: bool) -> None:
        if is_needed == self._is_waiting:
            return
        self._is_waiting = is_needed
        if is_needed:
            self._loop.add_writer(self._descriptor, self.flush)
        else:
            self._loop.remove_writer(self._descriptor)

    def when_drained(self, callback: Callable[[], None]) -> None:
        if callback not in self._when_drained:
            self._when_drained.append(callback)

    def drop(self) -> None:
        """Drop the buffer; CAN ends a sequence that was cut."""
        if self._pending:
            self._pending[:] = b"\x18"

    def drain(self, seconds: float) -> None:
        """Wait for the host, at most this long."""
        deadline = time.monotonic() + seconds
        self.flush()
        while self._pending and (left := deadline - time.monotonic()) > 0:
            select.select([], [self._descriptor], [], left)
            self.flush()

    def close(self) -> None:
        self._wait_for_host(False)
        self._pending.clear()
        if self._descriptor == self._shared:
            os.set_blocking(self._descriptor, True)
        else:
            os.close(self._descriptor)
