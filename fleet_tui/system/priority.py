"""Lower the priority of processes: of one process, or of a whole session.

Linux may group processes by session (autogroup) and share the processor between the groups first: a nice value then
counts only within its session, and the session has one of its own.
"""

from __future__ import annotations

import contextlib
import errno
import os

LOWEST = 19


def lower(nice: int) -> None:
    """Give this process and its future children at least this nice value; never raises their priority."""
    with contextlib.suppress(OSError):
        current = os.getpriority(os.PRIO_PROCESS, 0)
        if nice > current:
            os.setpriority(os.PRIO_PROCESS, 0, min(nice, LOWEST))


def lower_session(pid: int, nice: int) -> bool:
    """Give the session of a process this nice value; False if the system asks to try again later."""
    try:
        descriptor = os.open(f"/proc/{pid}/autogroup", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # no such system, or sessions are not grouped
        return True
    try:
        os.write(descriptor, str(min(nice, LOWEST)).encode())
    except OSError as error:
        # Linux accepts one such request per tenth of a second, counted over all processes.
        return error.errno != errno.EAGAIN
    finally:
        os.close(descriptor)
    return True
