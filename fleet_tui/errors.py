"""Errors that a user can act on, and their exit codes.

FleetError                 1  something failed
├─ UsageError              2  the request itself is malformed
├─ NotFound                3  no agent, batch or file of that name
├─ Refused                 4  doing it could lose or overwrite work, or the project is not trusted
├─ NoRepository            5  not inside a usable git repository
├─ StoreError              6  the store is locked or newer than this program
│  ├─ StoreUnwritable      6  it can be read, but nothing can be recorded in it for now
│  └─ StoreDamaged         6  the store's file, or a row in it, is damaged
├─ LaunchFailed            7  an agent failed to start
├─ HolderGone              8  an agent's holder does not answer
├─ TimedOut                9  the operation timed out
├─ TurnFailed             10  a prompt was accepted, and its turn ended in an error
├─ TurnInterrupted        11  a prompt was accepted, and its turn was interrupted
├─ TurnUnknown            12  a prompt was delivered, and the end of its turn was not seen
├─ NeedsAnswer            13  an agent that was waited for waits for the user's answer
├─ MergeConflict          14  work does not merge with the branch that it would land on
├─ CheckFailed            15  the check of work that would land did not pass
└─ Interrupted           130  the user interrupted it

Each error is one line, and its hint says what to do next. The numbers are the exit codes of the command line.
"""

from __future__ import annotations


class FleetError(Exception):
    """A failure with a one-line message and a hint about what to do next."""

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


class Untrusted(Refused):
    """A project's files ask for something that the user has not trusted."""


class NoRepository(FleetError):
    exit_code = 5


class NothingToStartFrom(NoRepository):
    """There is no repository, or it has no commit. `Fleet.prepare_repository` creates both."""


class StoreError(FleetError):
    exit_code = 6


class StoreUnwritable(StoreError):
    """The disk is full or read-only, another process keeps the store locked, or a newer version wrote it."""


class StoreDamaged(StoreError):
    """The store's content is corrupt; `fleet list --repair` rebuilds it."""


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


class NeedsAnswer(FleetError):
    exit_code = 13


class MergeConflict(FleetError):
    exit_code = 14


class CheckFailed(FleetError):
    exit_code = 15


class Interrupted(FleetError):
    exit_code = 130


def from_kind(kind: str, message: str, *, hint: str, exit_code: int) -> FleetError:
    """An error that another process reported by the name of its class; one declared elsewhere keeps its exit code."""
    found = globals().get(kind)
    if isinstance(found, type) and issubclass(found, FleetError):
        return found(message, hint=hint)
    error = FleetError(message, hint=hint)
    error.exit_code = exit_code
    return error
