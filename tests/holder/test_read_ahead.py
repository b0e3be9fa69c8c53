"""Output that is read and recorded while the emulator works."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleet_tui.holder.server.pty import READ_SIZE, Pty
from fleet_tui.holder.server.read_ahead import ReadAhead
from fleet_tui.holder.transcript.segments import Transcript, read
from tests.holder.holders import wait_until

FLOOD = b"".join(b"%06d\n" % n for n in range(2000))


class WatchedPty(Pty):
    """A real pseudo-terminal that notes how much was recorded whenever it is read, and how much it had handed out."""

    transcript: Transcript
    slave: int
    unprinted: bytes = b""
    handed_out = 0

    def read(self) -> bytes:
        # The buffer of a terminal holds less than a flood.
        with contextlib.suppress(BlockingIOError):
            self.unprinted = self.unprinted[os.write(self.slave, self.unprinted) :]
        assert self.transcript.end == self.handed_out
        data = super().read()
        self.handed_out += len(data)
        return data


@pytest.fixture
def pty() -> Iterator[WatchedPty]:
    master, slave = os.openpty()
    tty.setraw(slave)
    os.set_blocking(slave, False)
    with selectors.DefaultSelector() as selector:
        pty = WatchedPty(master, selector, fallback=(80, 24))
        pty.slave = slave
        pty.start()
        yield pty
    os.close(master)
    os.close(slave)


@pytest.fixture
def output(pty: WatchedPty, tmp_path: Path) -> ReadAhead:
    pty.transcript = Transcript(tmp_path)
    return ReadAhead(pty, pty.transcript)


def test_each_piece_is_recorded_before_the_next_is_read(
    output: ReadAhead, pty: WatchedPty, tmp_path: Path
) -> None:
    pty.unprinted = FLOOD
    printed = output.next()
    with output.reading_on(b"x" * READ_SIZE):
        wait_until(lambda: pty.handed_out == len(FLOOD), "reading the rest")

    assert printed + output.next() == FLOOD
    assert read(tmp_path, 0, len(FLOOD) + 1) == (0, FLOOD)


def test_without_a_thread_output_is_read_all_the_same(output: ReadAhead, pty: WatchedPty) -> None:
    pty.unprinted = b"as well"
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # Leaves no room for the stack of a thread, as a limit of processes leaves none for the thread.
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), limits[1]))
    try:
        with output.reading_on(b"x" * READ_SIZE):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)

    assert output.next() == b"as well"
    pty.unprinted = b"and later"
    with output.reading_on(b"x" * READ_SIZE):
        wait_until(lambda: pty.handed_out == len(b"as welland later"), "reading in the thread")
    assert output.next() == b"and later"
