"""Forks keepers, as the launcher does; run as a program, so that no test forks inside pytest.

Each line of standard input is JSON: the fields of a RunSpec, the path of the lock, and the environment of who asks.
For each, a line of standard output is the keeper's report. All is imported once, for all keepers; each is forked by
a process of its own that ends at once, so that keepers are nobody's children here, as after a real launch.
An environment with a user manager's socket has them ask there for a scope.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, cast

from fleet_tui import keeper, launch, screen_server
from fleet_tui.holder import RunSpec, take_lock

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
        sys.stdout.write(_forked(_spec(request["spec"]), Path(str(request["lock"]))))
        sys.stdout.flush()
    finally:
        os._exit(0)


def _spec(values: dict[str, object]) -> RunSpec:
    words: Any = {name: tuple(cast("list[str]", values[name])) for name in ("argv", "setup")}
    return RunSpec(**{**values, **words})


def _forked(spec: RunSpec, lock: Path) -> str:
    held = take_lock(lock, seconds=5.0)
    if held is None:
        return json.dumps({"error": "the lock is taken"}) + "\n"
    manager = os.environ.get(MANAGER)
    entry = [launch.entry_to(manager)] if manager else []
    return launch.fork_keeper(spec, held, [], keeper.keep, screen_server.serve, *entry).decode() + "\n"


if __name__ == "__main__":
    main()
