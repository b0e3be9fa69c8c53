"""What a program tells its hooks, on its way to the holder: a folder of events, and a bell that says there is one.

The program runs `hook.sh`, which leaves the event as a file and rings; a screen server that is just being replaced
misses nothing. A hook that waits for a decision reads it from a pipe of its own. Nothing here can delay a program
whose holder is gone: then there is no bell.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleet_tui import processes
from fleet_tui.values import dataclass

SCRIPT = "hook.sh"
MAX_BYTES = 4 << 20
"""Of one event; a larger one is passed over."""
MAX_EVENTS = 500
"""Taken at once."""


@dataclass(frozen=True, slots=True)
class Event:
    payload: Mapping[str, Any]
    verdict: Path | None = None
    """The pipe that a decision goes into; None when nobody waits for one."""


def prepare(folder: Path) -> None:
    """Make place for the events of a run, before its program starts."""
    hooks = folder / "hooks"
    hooks.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(hooks / "bell", 0o600)


class Hooks:
    """The holder's end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "hooks"
        self._bell = -1
        self._heard: list[Path] = []
        """Events that were taken and not yet told."""
        with contextlib.suppress(OSError):
            # For both directions, so that it never reads as closed when the last hook has gone.
            self._bell = os.open(self._folder / "bell", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        if self._untold():
            # What rang while nobody had the bell open was not kept by it.
            self._ring()

    @property
    def bell(self) -> int:
        """To be watched for reading; -1 when this run has no hooks."""
        return self._bell

    def take(self) -> Iterator[Event]:
        """All events that have come, oldest first. One that waits for a decision is kept until that is given, any other
        until `forget`: a screen server that is killed before it has told what it heard leaves it to the next."""
        with contextlib.suppress(OSError):
            os.read(self._bell, 4096)
        found = sorted(self._untold(), key=_changed)
        if len(found) > MAX_EVENTS:
            self._ring()
        for path in found[:MAX_EVENTS]:
            payload = _read(path)
            verdict = path.with_suffix(".verdict")
            waits = verdict.is_fifo()
            with contextlib.suppress(OSError):
                self._keep(path, waits=waits, is_event=payload is not None)
            if payload is not None or waits:
                yield Event(payload or {}, verdict if waits else None)

    def _untold(self) -> list[Path]:
        heard = (path for path in self._folder.glob("*.heard") if path not in self._heard)
        return [*self._folder.glob("*.json"), *heard]

    def _keep(self, path: Path, *, waits: bool, is_event: bool) -> None:
        if waits:
            path.rename(path.with_suffix(".open"))
        elif is_event and path.suffix == ".json":
            self._heard.append(path.rename(path.with_suffix(".heard")))
        else:
            # Twice heard is enough: what brings down whoever hears it must not do so for ever.
            path.unlink()

    def forget(self) -> None:
        """All that was taken has been told."""
        for path in self._heard:
            with contextlib.suppress(OSError):
                path.unlink()
        self._heard.clear()

    def _ring(self) -> None:
        """What is left for later must not wait for another hook."""
        with contextlib.suppress(OSError):
            os.write(self._bell, b"\n")

    def recall(self) -> None:
        """Questions that the screen server before this one had taken and not decided are taken anew."""
        for path in self._folder.glob("*.open"):
            with contextlib.suppress(OSError):
                if _is_running(path.stem):
                    path.rename(path.with_suffix(".json"))
                else:
                    path.unlink()
                    path.with_suffix(".verdict").unlink()


def decide(verdict: Path, text: str) -> bool:
    """Answer a hook that waits: with what it is to print, or with nothing, so that the program asks by itself."""
    try:
        # Without a reader the hook does not listen yet, or has gone.
        descriptor = os.open(verdict, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.write(descriptor, text.encode() + b"\n")
    except OSError:
        return False
    finally:
        os.close(descriptor)
    with contextlib.suppress(OSError):
        verdict.with_suffix(".open").unlink()
    return True


def _is_running(pid: str) -> bool:
    """An event has its hook's process id for a name; one that was killed has left its question behind."""
    process = processes.look_up(int(pid)) if pid.isdigit() else None
    return process is not None and process.is_alive


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        # A pipe of that name would be waited for.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            values = json.loads(_content(descriptor))
        finally:
            os.close(descriptor)
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _content(descriptor: int) -> bytes:
    """What is in a file up to the limit; nothing where it is no file."""
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return b""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(MAX_BYTES)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
