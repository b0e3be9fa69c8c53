"""Many chatty agents for a long time: the dashboard's memory stays flat, and its keys as quick as they were.

FLEET_SOAK_SECONDS says how long; ten minutes are what is promised, two what a machine for tests has time for.
"""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path
from statistics import median

import pytest

from fleet_tui.fleet import Fleet
from fleet_tui.system.processes import descendants, snapshot
from tests import scripted
from tests.bench.proportional_memory import pss
from tests.tui.installed_dashboard import PROGRAM
from tests.tui.ptyapp import PtyApp

SECONDS = float(os.environ.get("FLEET_SOAK_SECONDS", "120"))
AGENTS_COUNT = 20
ROUNDS = 8
WARM_UP = 1 / 4
"""Of the whole time: caches and the scrollback of this size fill first."""
LIST_WIDTH = 52
GROWTH = 1.15
LAG_GROWTH = 2.0
LAG_FLOOR = 0.1
"""Seconds below which a machine that is busy with other tests tells nothing."""
CHATTY = """
e=$(printf '\\033')
while :; do
  seq -f "${e}[32mchatty line %g,${e}[0m as long as programs like to print them" 1 200
  sleep 0.2
done
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(SECONDS + 300),
    pytest.mark.skipif(not PROGRAM.exists(), reason="needs the installed program"),
]


def test_memory_stays_flat_and_keys_quick_among_twenty_chatty_agents(
    fleet: Fleet, repository: Path, tmp_path: Path
) -> None:
    record = tmp_path / "received"
    command = shlex.join(scripted.agent("record", str(record)))
    fleet.create("a", profile="shell", prompt=f"exec {command}")
    fleet.fanout(AGENTS_COUNT, "chatty", profile="shell", prompt=CHATTY)
    with PtyApp([], program=PROGRAM, cols=200, rows=50, cwd=repository) as app:
        app.wait_for_text(f"{AGENTS_COUNT + 1} agents", seconds=30)
        app.send(b"g\r")
        app.wait_for_text("TYPING → a")
        place = place_of_answers(app)
        take(app, SECONDS * WARM_UP)
        sizes, lags = [], []
        for _ in range(ROUNDS):
            take(app, SECONDS * (1 - WARM_UP) / ROUNDS)
            sizes.append(memory_of(app))
            lags.append(median(lag(app, record, place) for _ in range(9)))
            app.output.clear()
        app.send(b"\x11q")
        assert app.exit_code() == 0
    early, late = (median(sizes[: ROUNDS // 2]), median(sizes[ROUNDS // 2 :]))
    assert late < early * GROWTH, f"memory in MB: {[round(size / 1e6, 1) for size in sizes]}"
    assert median(lags[ROUNDS // 2 :]) < max(LAG_FLOOR, median(lags[: ROUNDS // 2]) * LAG_GROWTH), (
        f"lags: {lags}"
    )


def take(app: PtyApp, seconds: float) -> None:
    """Be a terminal for so long."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        app.step(left)


def memory_of(app: PtyApp) -> int:
    """Of the dashboard and its worker."""
    pid = app.process.pid
    return pss([pid, *(one.pid for one in descendants(snapshot(), pid))])


def place_of_answers(app: PtyApp) -> tuple[int, int]:
    """Where on the screen the typed-to agent says how many bytes it has received."""
    app.wait_for(lambda: any("ready" in row[LIST_WIDTH:] for row in app.screen.text()), "its pane")
    return next(
        (row.index("ready", LIST_WIDTH), y + 1)
        for y, row in enumerate(app.screen.text())
        if "ready" in row[LIST_WIDTH:]
    )


def lag(app: PtyApp, record: Path, place: tuple[int, int]) -> float:
    """Seconds from a key to the agent's answer on the screen."""
    x, y = place
    count = str(len(record.read_bytes()) + 1)
    begin = time.monotonic()
    app.send(b"x")
    app.wait_for(lambda: app.screen.text()[y][x:].split()[:1] == [count], f"the answer {count}")
    return time.monotonic() - begin
