"""Run a program with a limit on its time and on how much of its output is kept.

It gets a session of its own, so that neither it nor what it starts can ask on the user's terminal, and all of that is
ended together. Arguments are passed as they are; no shell reads them.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from fleet_tui.fast_dataclasses import dataclass

GRACE_SECONDS = 1.0
"""Between SIGTERM and SIGKILL, and for output that comes after the program's end."""
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended, and what it printed."""

    code: int
    """Negative: the signal that ended it."""
    out: bytes
    err: bytes
    is_cut: bool = False
    """It printed more than was kept."""
    is_late: bool = False
    """It was ended because its time was over."""


def run_bounded(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    folder: Path,
    seconds: float,
    most: int,
    keep: Literal["start", "end"] = "start",
    stdin: bytes = b"",
) -> Finished:
    """Run a program to its end, or end it when its time is over; of each stream, at most so many bytes are kept.

    Raises OSError if it cannot be started.
    """
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    ) as started:
        reading = _Reading(started, stdin, most, keep)
        try:
            is_late = not reading.until_its_end(time.monotonic() + seconds)
        except BaseException:
            _end(started)
            raise
        if is_late:
            _end(started)
        return Finished(started.wait(), *reading.kept(), is_cut=reading.is_cut, is_late=is_late)


class _Reading:
    """Feeds one program its input, and collects its output."""

    def __init__(
        self, started: subprocess.Popen[bytes], stdin: bytes, most: int, keep: Literal["start", "end"]
    ) -> None:
        self._started = started
        self._unsent = memoryview(stdin)
        self._most = most
        self._keep = keep
        self.is_cut = False
        self._streams: list[IO[bytes]] = [
            stream for stream in (started.stdout, started.stderr) if stream is not None
        ]
        self._texts = {stream.fileno(): bytearray() for stream in self._streams}

    def kept(self) -> tuple[bytes, bytes]:
        out, err = (bytes(self._texts[number]) for number in self._texts)
        return out, err

    def until_its_end(self, deadline: float) -> bool:
        """Read until the program has ended; False if that is not before the deadline."""
        ended_at = 0.0
        with selectors.DefaultSelector() as selector:
            for stream in self._streams:
                os.set_blocking(stream.fileno(), False)
                selector.register(stream, selectors.EVENT_READ)
            self._register_input(selector)
            while selector.get_map():
                now = time.monotonic()
                if not ended_at and self._started.poll() is not None:
                    ended_at = now
                # What it left running, such as a credential cache, may hold its output open for good.
                if ended_at and now > ended_at + GRACE_SECONDS:
                    return True
                if now > deadline:
                    return bool(ended_at)
                for key, _ in selector.select(min(0.1, max(0.0, deadline - now))):
                    self._transfer(selector, key)
        while self._started.poll() is None:
            if time.monotonic() > deadline:
                return False
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._started.wait(0.1)
        return True

    def _register_input(self, selector: selectors.BaseSelector) -> None:
        stdin = self._started.stdin
        if stdin is not None and self._unsent:
            os.set_blocking(stdin.fileno(), False)
            selector.register(stdin, selectors.EVENT_WRITE)
        elif stdin is not None:
            stdin.close()

    def _transfer(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        if key.events & selectors.EVENT_WRITE:
            try:
                self._unsent = self._unsent[os.write(key.fd, self._unsent[:_PIECE]) :]
            except BrokenPipeError:
                self._unsent = memoryview(b"")
            if not self._unsent:
                selector.unregister(key.fileobj)
                with contextlib.suppress(BrokenPipeError):
                    key.fileobj.close()  # type: ignore[union-attr] # registered as a file
            return
        piece = os.read(key.fd, _PIECE)
        if not piece:
            selector.unregister(key.fileobj)
        self._take(self._texts[key.fd], piece)

    def _take(self, text: bytearray, piece: bytes) -> None:
        text += piece
        if len(text) > self._most:
            self.is_cut = True
            if self._keep == "start":
                del text[self._most :]
            else:
                del text[: -self._most]


def _end(started: subprocess.Popen[bytes]) -> None:
    """End the program with all that stayed in its group. Until it is reaped, its pid cannot name another group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        how = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while os.waitid(os.P_PID, started.pid, how) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        os.killpg(started.pid, signal.SIGKILL)
