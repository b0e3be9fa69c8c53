"""Everything that can go wrong in a way a user can act on.

FleetError                 1  something failed
├─ UsageError              2  the request itself is malformed
├─ NotFound                3  no agent, batch or file of that name
├─ Refused                 4  doing it could lose or overwrite work, or the project is not trusted
├─ NoRepository            5  not inside a usable git repository
├─ StoreError              6  the store is locked or newer than this program
│  ├─ StoreUnwritable      6  it can be read, but nothing can be recorded in it for now
│  └─ StoreDamaged         6  the store's file, or a row in it, is damaged
├─ LaunchFailed            7  an agent did not get going
├─ HolderGone              8  an agent's holder does not answer
├─ TimedOut                9  what was waited for did not come in time
├─ TurnFailed             10  a prompt was taken, and its turn ended in an error
├─ TurnInterrupted        11  a prompt was taken, and its turn was interrupted
├─ TurnUnknown            12  a prompt was delivered, and the end of its turn was not seen
└─ Interrupted           130  the user broke it off

Each error is one line, and its hint says what to do next. The numbers are the exit codes of the command line.
"""

from __future__ import annotations


class FleetError(Exception):
    """A failure with a message of one line and a hint of what to do next."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class UsageError(FleetError):
    exit_code = 2


class NotFound(FleetError):
    exit_code = 3


class Refused(FleetError):
    exit_code = 4


class NoRepository(FleetError):
    exit_code = 5


class NotBegun(NoRepository):
    """There is no repository, or no commit in it: what `Fleet.begin` makes."""


class StoreError(FleetError):
    exit_code = 6


class StoreUnwritable(StoreError):
    """The disk is full or read-only, or another process keeps the store locked."""


class StoreDamaged(StoreError):
    """What can be read of the store is not what was written; `fleet list --repair` rebuilds it."""


class LaunchFailed(FleetError):
    exit_code = 7


class HolderGone(FleetError):
    exit_code = 8


class TimedOut(FleetError):
    exit_code = 9


class TurnFailed(FleetError):
    exit_code = 10


class TurnInterrupted(FleetError):
    exit_code = 11


class TurnUnknown(FleetError):
    exit_code = 12


class Interrupted(FleetError):
    exit_code = 130
