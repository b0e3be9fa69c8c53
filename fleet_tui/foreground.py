"""Who has the terminal: what a program in a shell reports of itself holds only as long as that program is there, and
what computes is not idle because it is silent.

The agent's own program is nobody who comes and goes: its end is the end of the run, and what it reported last stands.
"""

from __future__ import annotations

import contextlib
import os

from fleet_tui import processes

MOST_LOOKED_AT = 64
"""Processes; a program with more of them at work is hardly waiting for anybody."""
SETTLED_SECONDS = 0.5
"""Who has reported twice, so far apart, reports of itself; a single `printf` reports for somebody else, and what has
the terminal when that is heard may be the program after it."""


class Foreground:
    """The process group of a terminal's foreground that has made the last report."""

    def __init__(self, terminal: int, *, reporter: int = 0) -> None:
        self._terminal = terminal
        self._session = _session(terminal)
        """The program that the terminal was made for; 0 where that is not known yet."""
        self._group = reporter
        self._since = 0.0
        self._reports_of_itself = bool(reporter)

    @property
    def reporter(self) -> int:
        """The group whose end takes its report along; 0 where there is none. A screen server leaves it to the next."""
        return self._group if self._reports_of_itself else 0

    def reported(self, now: float) -> None:
        """Whoever has the terminal now has made a report."""
        group = self._guest()
        if group != self._group:
            self._group, self._since, self._reports_of_itself = group, now, False
        elif now >= self._since + SETTLED_SECONDS:
            self._reports_of_itself = True

    def has_left(self) -> bool:
        """Whether those who reported of themselves are gone; said once."""
        if not self._group or _exists(self._group):
            return False
        had_reported, self._group = self._reports_of_itself, 0
        self._reports_of_itself = False
        return had_reported

    def is_computing(self) -> bool:
        """Whether any process of the terminal's program runs on a processor or waits for a disk right now."""
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
        """The group in the foreground; 0 for the program that the terminal was made for, the first of its session."""
        with contextlib.suppress(OSError):
            group = os.tcgetpgrp(self._terminal)
            with contextlib.suppress(ProcessLookupError):
                return 0 if os.getsid(group) == group else group
            return group
        return 0


def _session(terminal: int) -> int:
    """Its first process. The first of a pipeline, by which that is known, may have ended before the others."""
    with contextlib.suppress(OSError):
        return os.getsid(os.tcgetpgrp(terminal))
    return 0


_AT_WORK = frozenset({"R", "D"})


def _children(pid: int) -> list[int]:
    """Those that its first thread has started; none where the system does not tell."""
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
