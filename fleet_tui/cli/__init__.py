"""The command line: parse, call one verb of the fleet, print.

Bad input is one line on standard error that says what to do next, and an exit code of errors.py. No traceback
reaches a user. What only some commands need is imported in them, and `list` takes its first look at the processes
before anything else is imported, as those that start agents call their launcher: both have to be instant.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

OBJECTS_BETWEEN_LOOKS = 100_000
"""Loading modules makes many objects and hardly any garbage; looking for it took a tenth of a short command's time."""

STARTING = frozenset({"create", "fanout", "multi", "revive", "fork"})
"""Commands that start agents: what makes those loads beside what reads the command."""
HELP = frozenset({"-h", "--help"})


def main() -> None:
    """`fleet` and `flt`."""
    if sys.argv[1:2] == ["ui"]:
        dashboard()
    if sys.argv[1:2] != ["attach"]:
        # That stays, and a long look for garbage would be felt in it.
        gc.set_threshold(OBJECTS_BETWEEN_LOOKS)
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Taking down all that was loaded would take a tenth of a short command's time.
    os._exit(code)


def dashboard() -> None:
    """`fleet-tui`."""
    # Until it is open, and looks for garbage itself: what is loaded stays, and three looks took a fifth of the time.
    gc.disable()
    own = sys.argv[2:] if sys.argv[1:2] == ["ui"] else sys.argv[1:]
    sys.exit(run(["ui", *own]))


def run(arguments: list[str]) -> int:
    """One command from its arguments to its exit code."""
    if arguments[:1] in (["list"], ["l"]):
        from fleet_tui.cli.sampling import prime

        prime()
    if _starts_agents(arguments):
        from fleet_tui import launcher

        launcher.call()
        try:
            return _run(arguments)
        finally:
            launcher.dismiss()
    return _run(arguments)


def _starts_agents(arguments: list[str]) -> bool:
    """Whether a launcher is wanted; where a standard stream is closed, it would be given its place."""
    if None in (sys.stdin, sys.stdout, sys.stderr) or not HELP.isdisjoint(arguments):
        return False
    return bool(arguments) and arguments[0] in STARTING


def _run(arguments: list[str]) -> int:
    from fleet_tui.cli import running

    return running.run(arguments)
