"""Make a checkpoint of an agent whose turn has ended: `python -P -m fleet_tui.fleet.turn_end AGENT_ID STORE`.

A holder starts it as a program of its own, because holders open neither the store nor a repository. Nobody reads what it
prints or how it ends, so it writes why it failed to a log. docs/decisions/0027-automatic-checkpoints.md has the reasons.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

FIRST_INHERITED = 3
"""The first descriptor after the standard streams."""
NICE = 10


def main(agent_id: str, store: str) -> None:
    # The holder's terminal and sockets must not stay open because of this process.
    os.closerange(FIRST_INHERITED, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")
    os.nice(NICE)
    # Opening a store that is gone would make a new one in a folder that was removed.
    if not Path(store).is_file():
        return
    from fleet_tui.errors import FleetError

    try:
        _save(agent_id)
    except (FleetError, OSError) as error:
        _log(agent_id, str(error))


def _save(agent_id: str) -> None:
    from fleet_tui.fleet import Fleet

    with contextlib.closing(Fleet(Path("/"))) as fleet:
        [agent] = fleet.with_ids([agent_id])
        fleet.checkpoints.make_after_turn(agent)


def _log(agent_id: str, problem: str) -> None:
    """Replace the last problem, so that the log does not grow."""
    from fleet_tui import paths
    from fleet_tui.system import files

    with contextlib.suppress(OSError):
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} {agent_id}: {problem}\n"
        files.replace(paths.log() / "checkpoint.log", line.encode(errors="replace"))


if __name__ == "__main__":
    main(*sys.argv[1:3])
