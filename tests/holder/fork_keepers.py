"""Forks keepers, as the launcher does; run as a program, so that no test forks inside pytest.

Each line of standard input is JSON: the fields of a RunSpec, the path of the lock, and the environment of who asks.
For each, a line of standard output is the keeper's report. All is imported once, for all keepers; each is forked by
a process of its own that ends at once, so that init adopts the keepers, as after a real launch.
An environment with a user manager's socket has them ask there for a scope.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from fleet_tui.holder import keeper
from fleet_tui.holder.lock import take_lock
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server.loop import serve
from fleet_tui.lifecycle.launcher import forker

MANAGER = "FLEET_TESTS_MANAGER"


def main() -> None:
    while line := sys.stdin.readline():
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _hold(json.loads(line))
        os.waitpid(child, 0)


def _hold(request: dict[str, dict[str, object]]) -> None:
    try:
        os.environ.clear()
        os.environ.update({name: str(value) for name, value in request["env"].items()})
        sys.stdout.write(_forked(RunSpec.from_plain(request["spec"]), Path(str(request["lock"]))))
        sys.stdout.flush()
    finally:
        os._exit(0)


def _forked(spec: RunSpec, lock: Path) -> str:
    held = take_lock(lock, seconds=5.0)
    if held is None:
        return json.dumps({"error": "the lock is taken"}) + "\n"
    manager = os.environ.get(MANAGER)
    entry = [forker.entry_to(manager)] if manager else []
    return forker.fork_keeper(spec, held, [], keeper.keep, serve, *entry).decode() + "\n"


if __name__ == "__main__":
    main()
