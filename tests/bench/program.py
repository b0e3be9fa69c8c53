"""The command line of the bench: selects measures, repetitions and the output format."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from tests.bench import (
    ai_fleet,
    dashboard,
    ending,
    faults,
    latency,
    listing,
    memory,
    radar,
    reviewing,
    starting,
    throughput,
    usage,
)
from tests.bench.figures import Figures, Row
from tests.bench.workspace import Workspace

Measure = Callable[..., Iterator[Row]]

MEASURES: dict[str, Measure] = {
    "starting": starting.measure,
    "ending": ending.measure,
    "listing": listing.measure,
    "throughput": throughput.measure,
    "latency": latency.measure,
    "dashboard": dashboard.measure,
    "memory": memory.measure,
    "usage": usage.measure,
    "reviewing": reviewing.measure,
    "radar": radar.measure,
    "faults": faults.measure,
    "ai-fleet": ai_fleet.measure,
}
SLOW = {"ai-fleet"}
"""Skipped in a quick run unless named."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Times a fixed amount of work repeatedly: what exceeds the best time is load from elsewhere."""

    milliseconds: tuple[float, ...]

    @classmethod
    def now(cls) -> Noise:
        return cls(tuple(_work() for _ in range(25)))

    def __str__(self) -> str:
        figures = Figures(self.milliseconds)
        return f"fixed work {figures.median:.1f} ms ({figures.low:.1f}–{figures.high:.1f}), load {os.getloadavg()[0]:.1f}"


def _work() -> float:
    begin = time.perf_counter()
    sum(number * number for number in range(60_000))
    return (time.perf_counter() - begin) * 1000


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    names = options.only or [name for name in MEASURES if not (options.quick and name in SLOW)]
    began = time.monotonic()
    workspace = Workspace()
    say = _nothing if options.json else print
    try:
        say(
            f"in {workspace.folder.parent}, package compiled, PYTHONDONTWRITEBYTECODE unset, {os.cpu_count()} cores"
        )
        results = [_run(name, workspace, quick=options.quick, say=say) for name in names]
    finally:
        workspace.close()
    if options.json:
        json.dump(results, sys.stdout, indent=2, ensure_ascii=False)
    say(f"\ntook {time.monotonic() - began:.0f} s")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure the promised numbers, each beside a reference.",
    )
    parser.add_argument(
        "--only", action="append", choices=list(MEASURES), help="run only this measure; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="run fewer rounds, under a minute")
    parser.add_argument("--json", action="store_true", help="print all measurements as JSON")
    return parser


def _nothing(_text: str) -> None:
    pass


def _run(name: str, workspace: Workspace, *, quick: bool, say: Callable[[str], None]) -> dict[str, object]:
    before = Noise.now()
    say(f"\n{name}   {before}")
    rows = []
    problem = ""
    try:
        for row in MEASURES[name](workspace, quick=quick):
            rows.append(row)
            say(_line(row))
    except (RuntimeError, OSError) as error:
        problem = str(error)
        say(f"  could not be measured: {problem}")
    after = Noise.now()
    say(f"  afterwards: {after}")
    return {
        "name": name,
        "noise": [asdict(before), asdict(after)],
        "rows": [row.as_json() for row in rows],
        "problem": problem,
    }


def _line(row: Row) -> str:
    verdict = {True: "✓", False: "✗", None: " "}[row.is_met]
    text = f"{verdict} {row.what:<44} {_shown(row.measured, row.unit):<26}"
    if row.reference is not None:
        text += f" {row.against + ' ' + _shown(row.reference, row.unit):<46} {row.ratio:>6.2f} ×"
    text += f"   {row.target}" if row.target else ""
    return text.rstrip() + (f"   ({row.note})" if row.note else "")


def _shown(figures: Figures, unit: str) -> str:
    digits = 0 if unit == "" else 3 if unit == "s" else 2 if figures.median < 10 else 1
    if len(figures.values) == 1:
        return f"{figures.median:.{digits}f} {unit}"
    return f"{figures.median:.{digits}f} {unit} ({figures.low:.{digits}f}–{figures.high:.{digits}f})"
