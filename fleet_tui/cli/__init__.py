"""The command line: parse arguments, call one verb of `Fleet`, print the result.

No verb is implemented here, and nothing that another face needs as well: that belongs to `faces` or `fleet`.

An error is one line on standard error with a hint, and an exit code of errors.py; users never see a traceback.
Modules that only some commands need are imported inside them. Before any other import, `list` takes its first CPU
sample and the commands that start agents spawn the launcher, so that both feel instant.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

GC_THRESHOLD = 100_000
"""Importing modules allocates many objects and hardly any garbage; the default threshold costs a short command 10 %."""

STARTING = frozenset({"create", "fanout", "multi", "revive", "restart", "fork"})
"""Commands that start agents; their launcher loads while the command is parsed."""
HELP = frozenset({"-h", "--help"})


def main() -> None:
    """Entry point of `fleet` and `flt`."""
    if sys.argv[1:2] == ["ui"] or sys.argv[1:] == ["open"]:
        dashboard()
    if sys.argv[1:2] not in (["attach"], ["open"]):
        # attach keeps running, and a late full collection would make it stutter.
        gc.set_threshold(GC_THRESHOLD)
    code = run(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    # Tearing down the interpreter takes a tenth of a short command's time.
    os._exit(code)


def dashboard() -> None:
    """Entry point of `fleet-tui`."""
    # Collections take a fifth of the start-up time; once open, the dashboard schedules its own.
    gc.disable()
    own = sys.argv[2:] if sys.argv[1:2] in (["ui"], ["open"]) else sys.argv[1:]
    sys.exit(run(["ui", *own]))


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    if _samples_usage(arguments):
        from fleet_tui.cli.sampling import prime

        prime()
    if _starts_agents(arguments):
        from fleet_tui.lifecycle import launcher_client

        launcher_client.spawn()
        try:
            return _run(arguments)
        finally:
            launcher_client.dismiss()
    return _run(arguments)


def _samples_usage(arguments: list[str]) -> bool:
    """Whether the command shows CPU usage. The short form of `status` does not."""
    from fleet_tui.cli.other_words import ALIASES

    command = ALIASES.get(arguments[0], arguments[0]) if arguments else ""
    return command == "list" or (command == "status" and "--short" not in arguments)


def _starts_agents(arguments: list[str]) -> bool:
    """Whether to spawn the launcher early. Not with a closed standard stream: its pipe would take that descriptor."""
    if None in (sys.stdin, sys.stdout, sys.stderr) or not HELP.isdisjoint(arguments):
        return False
    return bool(arguments) and arguments[0] in STARTING


def _run(arguments: list[str]) -> int:
    from fleet_tui.cli import invocation

    return invocation.run(arguments)
