"""Hook events on their way to the holder: a folder of files, and a pipe (the bell) that announces them.

The program runs `hook.sh`, which leaves the event as a file and rings, so that a screen server being replaced misses
nothing. A hook that waits for a decision reads it from a pipe of its own. A program whose holder is gone is never
delayed: then there is no bell.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet_tui.fast_dataclasses import dataclass
from fleet_tui.system import processes

SCRIPT = "hook.sh"
MAX_BYTES = 4 << 20
"""Bytes of one event; a larger one is ignored."""
MAX_EVENTS = 500
"""Most events taken at once."""
_PIPE_SUFFIX = ".decision"
"""Of a reply pipe; `hook.sh` creates it under this name."""


@dataclass(frozen=True, slots=True)
class HookEvent:
    payload: Mapping[str, Any]
    reply_pipe: Path | None = None
    """The pipe that the hook reads its decision from; None when it does not wait."""


def prepare(folder: Path) -> None:
    """Create the folder and the bell, before the program starts."""
    hooks = folder / "hooks"
    hooks.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(hooks / "bell", 0o600)


class Hooks:
    """Reads the events of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "hooks"
        self._bell = -1
        self._taken: list[Path] = []
        """Events that were taken and not yet logged."""
        with contextlib.suppress(OSError):
            # Read and write, so that it does not read as closed when the last hook has ended.
            self._bell = os.open(self._folder / "bell", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if self._pending():
            # A pipe keeps nothing that was written while no process had it open.
            self._ring()

    @property
    def bell(self) -> int:
        """Descriptor to watch for reading; -1 when this run has no hooks."""
        return self._bell

    def take(self) -> Iterator[HookEvent]:
        """Take all events, oldest first.

        One that waits for a decision is kept until that is made, any other until `forget`: if this screen server is
        killed before it has logged what follows from them, the next one reads them again.
        """
        with contextlib.suppress(OSError):
            os.read(self._bell, 4096)
        found = sorted(self._pending(), key=_changed)
        if len(found) > MAX_EVENTS:
            self._ring()
        for path in found[:MAX_EVENTS]:
            payload = _read(path)
            reply_pipe = path.with_suffix(_PIPE_SUFFIX)
            waits = reply_pipe.is_fifo()
            with contextlib.suppress(OSError):
                self._keep(path, waits=waits, is_event=payload is not None)
            if payload is not None or waits:
                yield HookEvent(payload or {}, reply_pipe if waits else None)

    def _pending(self) -> list[Path]:
        heard = (path for path in self._folder.glob("*.heard") if path not in self._taken)
        return [*self._folder.glob("*.json"), *heard]

    def _keep(self, path: Path, *, waits: bool, is_event: bool) -> None:
        if waits:
            path.rename(path.with_suffix(".open"))
        elif is_event and path.suffix == ".json":
            self._taken.append(path.rename(path.with_suffix(".heard")))
        else:
            # Taken twice is enough: an event that crashes the screen server must not do so forever.
            path.unlink()

    def forget(self) -> None:
        """Delete the events taken so far: what follows from them has been logged."""
        for path in self._taken:
            with contextlib.suppress(OSError):
                path.unlink()
        self._taken.clear()

    def _ring(self) -> None:
        """Wake up again for events that are left, without another hook."""
        with contextlib.suppress(OSError):
            os.write(self._bell, b"\n")

    def recall(self) -> None:
        """Take again the questions that an earlier screen server had taken and not decided."""
        for path in self._folder.glob("*.open"):
            with contextlib.suppress(OSError):
                if _is_running(path.stem):
                    path.rename(path.with_suffix(".json"))
                else:
                    path.unlink()
                    path.with_suffix(_PIPE_SUFFIX).unlink()


def decide(reply_pipe: Path, text: str) -> bool:
    """Send a waiting hook what to print, or nothing, so that the program asks the user; False if it does not read."""
    try:
        # Fails without a reader: the hook does not read yet, or has ended.
        descriptor = os.open(reply_pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode() + b"\n")
    except OSError:
        return False
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        reply_pipe.with_suffix(".open").unlink()
    return True


def _is_running(pid: str) -> bool:
    """Whether the hook is alive: an event is named by its hook's process id."""
    process = processes.look_up(int(pid)) if pid.isdecimal() else None
    return process is not None and process.is_alive


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        # Non-blocking, in case it is a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            values = json.loads(_content(descriptor))
        finally:
            os.close(descriptor)
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _content(descriptor: int) -> bytes:
    """The content up to the limit; nothing if it is not a regular file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return b""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(MAX_BYTES)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
