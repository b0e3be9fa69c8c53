"""Duration of a cold `fleet list --json`, beside the start of an idle Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

from tests.bench.figures import Row, compared, interleaved
from tests.bench.workspace import Workspace, timed

AGENTS = 20


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    repository = workspace.small()
    with workspace.agents(repository, AGENTS, "waiter"):
        _, text = workspace.fleet(repository, "list", "--json")
        living = [agent for agent in json.loads(text) if agent["pid"]]
        if len(living) != AGENTS:
            raise RuntimeError(f"fleet list shows {len(living)} of {AGENTS} agents")
        lists, helps, bare = interleaved(
            10 if quick else 31,
            lambda: workspace.fleet(repository, "list", "--json")[0] * 1000,
            lambda: workspace.fleet(repository, "--version")[0] * 1000,
            lambda: timed([sys.executable, "-c", "pass"], repository)[0] * 1000,
        )
    against = "python -c pass"
    yield compared(f"fleet list --json, {AGENTS} agents", lists, against, bare, unit="ms", at_most=8)
    yield compared("fleet --version", helps, against, bare, unit="ms")
