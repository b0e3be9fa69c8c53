"""The dashboard in a real terminal of 200×50: latency of a key, frame rate, stalls, CPU.

A key counts as painted when the terminal receives the character it types, which occurs nowhere else. The output is not
rendered, so the measure contains the dashboard and the machine, but no second emulator.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import psutil

from tests.bench.figures import Figures, Row, alone, compared, interleaved
from tests.bench.proportional_memory import pss
from tests.bench.steal_time import StealTime
from tests.bench.workspace import SECONDS, Workspace
from tests.tui.ptyapp import PtyApp
from tests.watched_fleet import WatchedFleet

COLS, ROWS = 200, 50
PANES = 9
QUIET = 50
PROGRAM = Path(sys.executable).with_name("fleet-tui")
LETTERS = tuple(
    map(chr, chain(range(0x400, 0x482), range(0x48A, 0x530), range(0x391, 0x3A2), range(0x531, 0x557)))
)
"""One character per key, each absent from the screen and from frames caused by other keys."""
PAUSE = 0.03
SETTLED = 75.0
"""Seconds. Ages below a minute are shown in seconds, so fifty young agents are repainted every second."""
BUSY_BEFORE = 2.0
"""Seconds that the cores have been busy before the first key."""
TOKEN = re.compile(rb"pane(\d)#(\d{6});")
EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("painted")
Empty().run()
"""


class Host:
    """A terminal that reads its input and inspects the bytes."""

    def __init__(self, app: PtyApp) -> None:
        self.app = app

    def read(self, seconds: float) -> bytes:
        if not select.select([self.app.master], [], [], max(0.0, seconds))[0]:
            return b""
        try:
            return os.read(self.app.master, 1 << 16)
        except OSError:
            return b""

    def rest(self, seconds: float) -> bytes:
        """The bytes that arrive in this time."""
        deadline = time.monotonic() + seconds
        found = bytearray()
        while (left := deadline - time.monotonic()) > 0:
            found += self.read(left)
        return bytes(found)

    def press(self, letter: str) -> tuple[float, bytes]:
        """Milliseconds until the key was painted, and all bytes that arrived meanwhile."""
        wanted = letter.encode()
        found = bytearray()
        begin = time.perf_counter()
        os.write(self.app.master, wanted)
        while wanted not in found:
            if time.perf_counter() - begin > SECONDS:
                raise RuntimeError(f"{letter} was never painted")
            found += self.read(1.0)
        return (time.perf_counter() - begin) * 1000, bytes(found)

    def type(self, keys: int) -> tuple[list[float], bytes]:
        took, found = [], bytearray()
        for letter in LETTERS[:keys]:
            found += self.rest(PAUSE)
            milliseconds, came = self.press(letter)
            took.append(milliseconds)
            found += came
        return took, bytes(found)


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    keys = 40 if quick else 250
    yield from _idle(workspace, keys)
    yield from _beside_a_flood(workspace, keys)
    yield from _nine_panes(workspace, keys, 4.0 if quick else 15.0)
    yield from _many_quiet(workspace, quick=quick)


@contextlib.contextmanager
def _opened(project: Path, waits_for: str, argv: Sequence[str | Path] = ()) -> Iterator[Host]:
    """The dashboard, typing to the first agent of its list."""
    program = sys.executable if argv else PROGRAM
    with PtyApp(argv, program=program, cols=COLS, rows=ROWS, cwd=project) as app:
        app.wait_for_text(waits_for, seconds=SECONDS)
        app.send(b"\r")
        app.wait_for_text("TYPING →", seconds=SECONDS)
        host = Host(app)
        # Programs learn their size, and GC is scheduled, shortly after the first paint.
        host.rest(3.0)
        yield host


def _key_row(what: str, took: list[float], bare: list[float], at_most: float) -> Row:
    slow = f"p95 {Figures(tuple(took)).percentile(0.95):.1f} ms"
    return alone(what, took, "ms", at_most=at_most, against="a bare terminal", reference=bare, note=slow)


def _bare(keys: int) -> list[float]:
    """The same keys, sent to a program in a terminal of its own."""
    with PtyApp([], program="/bin/cat", cols=COLS, rows=ROWS) as app:
        return Host(app).type(keys)[0]


# ── keys ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _idle(workspace: Workspace, keys: int) -> Iterator[Row]:
    project = workspace.small()
    with workspace.agents(project, 1, "waiter"), _opened(project, "1 agent") as host:
        took, _ = host.type(keys)
        yield _key_row("key → painted, idle", took, _bare(keys), 8.0)


def _beside_a_flood(workspace: Workspace, keys: int) -> Iterator[Row]:
    project = workspace.repository("beside", 5)
    fleet = WatchedFleet(project)
    try:
        for name, program in (("a", "waiter"), ("b", "flood")):
            fleet.create(name, profile=str(workspace.programs / program))
        with _opened(project, "2 agents") as host:
            took, _ = host.type(keys)
        yield _key_row("key → painted, the pane beside it floods", took, _bare(keys), 30.0)
    finally:
        workspace.clear(project)
        fleet.close()


# ── nine panes ──────────────────────────────────────────────────────────────────────────────────────────────────


def _nine_panes(workspace: Workspace, keys: int, seconds: float) -> Iterator[Row]:
    stalls, steal_times = workspace.folder / "stalls", workspace.folder / "steal-times"
    with _redrawing(workspace) as project:
        with (
            _recording_steal_time(steal_times),
            _opened(project, f"{PANES} agents", ["-m", "tests.bench.stalls", stalls]) as host,
        ):
            began = time.monotonic()
            took, _ = host.type(keys)
            yield _key_row(f"key → painted, {PANES} panes redraw", took, _bare(keys), 30.0)
            begin = time.monotonic()
            seen = host.rest(seconds)
            rates = _rates(seen, time.monotonic() - begin)
            yield alone("frames of the typed-to pane", [rates[1]], "fps", at_least=25)
            others = [rates[number] for number in range(2, PANES + 1)]
            slowest = (
                f"{min(others):.1f} at the slowest; {len(seen) / seconds / 1e6:.2f} MB/s to the terminal"
            )
            yield alone("frames of the other eight", others, "fps", at_least=12, note=slowest)
            yield _stall_row(stalls, StealTime(steal_times), began)
        with _opened(project, f"{PANES} agents") as host, _busy_cores():
            host.rest(BUSY_BEFORE)
            took, _ = host.type(keys)
            yield _key_row(f"key → painted, {PANES} panes, busy cores", took, _bare(keys), 40.0)
            rates = _rates(host.rest(seconds), seconds)
            yield alone("frames of the typed-to pane", [rates[1]], "fps")
            yield alone("frames of the other eight", [rates[number] for number in range(2, PANES + 1)], "fps")


@contextlib.contextmanager
def _redrawing(workspace: Workspace) -> Iterator[Path]:
    """A project whose agents all redraw, shown in a grid."""
    project = workspace.repository("nine", 5)
    (project / ".aifleet").mkdir(exist_ok=True)
    (project / ".aifleet" / "config.toml").write_text(f"[ui]\nlayout = {PANES}\n")
    fleet = WatchedFleet(project)
    try:
        for number in range(1, PANES + 1):
            program = (
                f"#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name('redraws.py')} pane{number}\n"
            )
            fleet.create(f"pane{number}", profile=str(workspace.program(f"redraws{number}", program)))
        yield project
    finally:
        workspace.clear(project)
        fleet.close()


@contextlib.contextmanager
def _busy_cores() -> Iterator[None]:
    """Other programs that keep every core busy, each in a session of its own like a compiler in its terminal."""
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def _rates(seen: bytes, seconds: float) -> dict[int, float]:
    """Distinct frames per second, by pane."""
    frames: dict[int, set[bytes]] = {number: set() for number in range(1, PANES + 1)}
    for pane, number in TOKEN.findall(seen):
        frames[int(pane)].add(number)
    return {pane: len(numbers) / seconds for pane, numbers in frames.items()}


@contextlib.contextmanager
def _recording_steal_time(record: Path) -> Iterator[None]:
    watcher = subprocess.Popen([sys.executable, "-m", "tests.bench.steal_time", record])
    try:
        yield
    finally:
        watcher.kill()
        watcher.wait()


def _stall_row(record: Path, steal_time: StealTime, began: float) -> Row:
    """The longest that one callback blocked the loop since then, without time stolen by the host."""
    own = [(0.0, "nothing")]
    disturbed = [0.0]
    for line in record.read_text().splitlines():
        begin, wall, work, name = line.split(maxsplit=3)
        if float(begin) < began:
            continue
        if steal_time.was_any(float(begin), float(begin) + float(wall) / 1000):
            disturbed.append(float(work))
        else:
            own.append((float(work), name))
    longest, name = max(own)
    note = f"CPU time, in {name}, the longest of {len(own) - 1}"
    if disturbed[1:]:
        note += (
            f"; {max(disturbed):.1f} ms of {len(disturbed) - 1} while the host took time from this machine"
        )
    return alone("longest stall of the event loop", [longest], "ms", at_most=20, note=note)


# ── fifty quiet agents ──────────────────────────────────────────────────────────────────────────────────────────


def _many_quiet(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    rounds, seconds, age = (1, 9.0, 5.0) if quick else (5, 30.0, SETTLED)
    project = workspace.repository("quiet", 5)
    began = time.monotonic()
    with workspace.agents(project, QUIET, "waiter"):
        ours, empty = interleaved(
            rounds,
            lambda: _opening([], PROGRAM, f"{QUIET} agents", project),
            lambda: _opening(["-c", EMPTY_APP], sys.executable, "painted", project),
        )
        yield compared(
            f"opening on {QUIET} agents", ours, "an empty Textual app", empty, unit="ms", at_most=2.5
        )
        with PtyApp([], program=PROGRAM, cols=COLS, rows=ROWS, cwd=project) as app:
            app.wait_for_text(f"{QUIET} agents", seconds=SECONDS)
            host = Host(app)
            host.rest(max(5.0, began + age - time.monotonic()))
            family = [found := psutil.Process(app.process.pid), *found.children(recursive=True)]
            shares = [_processor_share(family, host, seconds / 3) for _ in range(3)]
            yield alone(f"CPU, {QUIET} quiet agents", shares, "%", at_most=3, note=f"{len(family)} processes")
            size = pss(one.pid for one in family) / 1e6
            yield alone(f"memory, {QUIET} quiet agents", [size], "MB", at_most=150)


def _opening(argv: Sequence[str], program: str | Path, waits_for: str, project: Path) -> float:
    """Milliseconds from the start of the program until the expected text is on the screen."""
    begin = time.perf_counter()
    with PtyApp(argv, program=program, cols=COLS, rows=ROWS, cwd=project) as app:
        app.wait_for_text(waits_for, seconds=SECONDS)
        return (time.perf_counter() - begin) * 1000


def _processor_share(family: list[psutil.Process], host: Host, seconds: float) -> float:
    """Per cent of one core."""
    before, begin = _processor_seconds(family), time.monotonic()
    host.rest(seconds)
    return (_processor_seconds(family) - before) / (time.monotonic() - begin) * 100


def _processor_seconds(family: list[psutil.Process]) -> float:
    return sum(sum(one.cpu_times()[:2]) for one in family)
