"""The lock that keeps a rebuilt store from replacing the file while another process opens or changes it.

Every connection takes it shared for that long; a rebuild takes it exclusively.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fleet_tui.store.failures import stayed_locked

POLL_SECONDS = 0.01


@contextmanager
def exclusive(path: Path, seconds: float) -> Iterator[None]:
    """Keep every other process from opening and changing the store until the block ends."""
    with _held(path, fcntl.LOCK_EX, seconds):
        yield


@contextmanager
def shared(path: Path, seconds: float) -> Iterator[None]:
    """Keep the store's file in place until the block ends."""
    with _held(path, fcntl.LOCK_SH, seconds):
        yield


@contextmanager
def _held(path: Path, operation: int, seconds: float) -> Iterator[None]:
    try:
        descriptor = os.open(path.with_name("store.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        # In a folder where no file can be created, none can replace the store either.
        yield
        return
    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise stayed_locked(path) from None
                time.sleep(POLL_SECONDS)
        yield
    finally:
        # A process forked meanwhile shares the descriptor: closing ours alone would not release the lock.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
