"""Cost of one sample of all agents' CPU and memory, beside psutil reading each process tree."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from statistics import median

import psutil

from fleet_tui.system.usage import Sampler
from tests.bench.figures import Row, alone, compared, interleaved
from tests.bench.workspace import Workspace

AGENTS = 50
PROCESSES = 5


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    with workspace.agents(workspace.repository("families", 5), AGENTS, "family") as (_, agents):
        roots = {agent.id: agent.keeper_pid or 0 for agent in agents}
        sampler = Sampler()
        _warm_up(sampler, roots)
        others = len(psutil.pids())
        work: list[float] = []
        ours, theirs = interleaved(
            5 if quick else 21,
            lambda: _sample(sampler, roots, work),
            lambda: _by_psutil(list(roots.values())),
        )
    what = f"usage of {AGENTS} agents × {PROCESSES} processes"
    note = f"{median(work):.1f} ms of processor time, {others} processes on the machine"
    yield alone(what, ours, "ms", at_most=15, note=note)
    yield compared("psutil children(recursive=True)", theirs, "ours", ours, unit="ms", at_least=30)


def _warm_up(sampler: Sampler, roots: Mapping[str, int]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if all(one.processes >= PROCESSES for one in sampler.sample(roots).values()):
            return
        time.sleep(0.05)
    raise RuntimeError("not all agents have their processes")


def _sample(sampler: Sampler, roots: Mapping[str, int], work: list[float]) -> float:
    """Milliseconds of wall time; the CPU time of this process goes into `work`."""
    begin, worked = time.perf_counter(), time.process_time()
    found = sampler.sample(roots)
    seconds = time.perf_counter() - begin
    work.append((time.process_time() - worked) * 1000)
    if len(found) != len(roots):
        raise RuntimeError("an agent has no usage")
    return seconds * 1000


def _by_psutil(keepers: list[int]) -> float:
    begin = time.perf_counter()
    for keeper in keepers:
        for process in psutil.Process(keeper).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                process.cpu_times()
                process.memory_info()
    return (time.perf_counter() - begin) * 1000
