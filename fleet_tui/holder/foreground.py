"""The terminal's foreground: which process group reported a status and whether it still runs, and CPU activity.

A status reported by a program in a shell holds only while that program runs. The agent's own program is different: its
end is the end of the run, and its last report stands. A silent program that computes is not idle.
"""

from __future__ import annotations

import contextlib
import os

from fleet_tui.system import processes

MOST_LOOKED_AT = 64
"""Most processes to examine; a program with more of them is assumed to be working."""
SETTLED_SECONDS = 0.5
"""A group that reports twice, this far apart, reports about itself. A single `printf` reports for another program, and
the group in the foreground when it is read may be the next one."""


class Foreground:
    """Tracks the foreground process group that made the last report."""

    def __init__(self, terminal: int, *, reporter: int = 0) -> None:
        self._terminal = terminal
        self._session = _session(terminal)
        """The program that the terminal was created for; 0 while unknown."""
        self._group = reporter
        self._since = 0.0
        self._reports_of_itself = bool(reporter)

    @property
    def reporter(self) -> int:
        """The group whose report ends with it; 0 for none. Passed on to the next screen server."""
        return self._group if self._reports_of_itself else 0

    def reported(self, now: float) -> None:
        """A report was read; the group in the foreground now made it."""
        group = self._guest()
        if group != self._group:
            self._group, self._since, self._reports_of_itself = group, now, False
        elif now >= self._since + SETTLED_SECONDS:
            self._reports_of_itself = True

    def has_left(self) -> bool:
        """Whether the reporting group has ended; True once."""
        if not self._group or _exists(self._group):
            return False
        had_reported, self._group = self._reports_of_itself, 0
        self._reports_of_itself = False
        return had_reported

    def is_computing(self) -> bool:
        """Whether any process of the program is running or waiting for a disk right now."""
        self._session = self._session or _session(self._terminal)
        waiting = [self._session] if self._session else []
        for _ in range(MOST_LOOKED_AT):
            if not waiting:
                return False
            pid = waiting.pop()
            found = processes.look_up(pid)
            if found is not None and found.state in _AT_WORK:
                return True
            waiting += _children(pid)
        return True

    def _guest(self) -> int:
        """The group in the foreground; 0 for the agent's own program, the session leader."""
        with contextlib.suppress(OSError):
            group = os.tcgetpgrp(self._terminal)
            with contextlib.suppress(ProcessLookupError):
                return 0 if os.getsid(group) == group else group
            return group
        return 0


def _session(terminal: int) -> int:
    """The session leader; 0 if unknown: the first process of a pipeline may have ended before the others."""
    with contextlib.suppress(OSError):
        return os.getsid(os.tcgetpgrp(terminal))
    return 0


_AT_WORK = frozenset({"R", "D"})


def _children(pid: int) -> list[int]:
    """Children of a process's first thread; none where the system does not list them."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:  # noqa: PTH123 - a path object costs more than the read
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
