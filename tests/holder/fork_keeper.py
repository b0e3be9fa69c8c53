"""Forks a keeper, as the launcher does: fork_keeper.py SPEC LOCK, where SPEC is a RunSpec as JSON.

Run in a process of its own, so that no test forks inside pytest. Prints the keeper's report and ends at once, so that
init adopts the keeper, as after a real launch. With a user manager's socket in the environment, the keeper asks there
for a scope.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from fleet_tui.holder import forking, keeper
from fleet_tui.holder.lock import take_lock
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server.loop import serve

MANAGER = "FLEET_TESTS_MANAGER"


def report_of(spec: RunSpec, lock: Path) -> str:
    held = take_lock(lock, seconds=5.0)
    if held is None:
        return json.dumps({"error": "the lock is taken"})
    manager = os.environ.get(MANAGER)
    entry = [forking.entry_to(manager)] if manager else []
    return forking.fork_keeper(spec, held, [], keeper.keep, serve, *entry).decode()


if __name__ == "__main__":
    print(report_of(RunSpec.from_plain(json.loads(sys.argv[1])), Path(sys.argv[2])), flush=True)
    # What else ends with an interpreter takes time and is of no use here.
    os._exit(0)
