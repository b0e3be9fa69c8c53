"""Bytes per second from a program's terminal into transcript, screen and one viewer, beside tmux with the same bytes.

The program itself measures: a stream is done when the terminal has answered a query that was sent after it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fleet_tui import paths
from fleet_tui.errors import HolderGone
from fleet_tui.holder.session import Session, open_session
from tests.bench import streams
from tests.bench.figures import Row, alone, compared, interleaved
from tests.bench.ground import Ground
from tests.watched_fleet import WatchedFleet


@dataclass(frozen=True, slots=True)
class Pourer:
    """The program `pour` in a terminal, and its pipes."""

    requests: Path
    answers: Path

    @classmethod
    def make(cls, folder: Path, name: str) -> Pourer:
        pipes = cls(folder / f"{name}.requests", folder / f"{name}.answers")
        for pipe in (pipes.requests, pipes.answers):
            os.mkfifo(pipe)
        return pipes

    @property
    def command(self) -> list[str]:
        return [
            sys.executable,
            str(Path(__file__).with_name("pour.py")),
            str(self.requests),
            str(self.answers),
        ]

    def speed(self, stream: Path, times: int) -> float:
        """MB/s."""
        self.requests.write_text(f"{stream} {times}\n")
        seconds = float(self.answers.read_text())
        return stream.stat().st_size * times / seconds / 1e6

    def end(self) -> None:
        self.requests.write_text("\n")


def measure(ground: Ground, *, quick: bool) -> Iterator[Row]:
    rounds, times = (2, 1) if quick else (5, 3)
    kinds = streams.write_all(ground.folder / "streams")
    with contextlib.ExitStack() as stack:
        terminals = [stack.enter_context(_holder(ground))]
        if shutil.which("tmux"):
            terminals.append(stack.enter_context(_tmux(ground, "alone")))
            terminals.append(stack.enter_context(_tmux(ground, "watched", is_watched=True)))
        for kind, stream in kinds.items():
            speeds = interleaved(rounds, *(partial(one.speed, stream, times) for one in terminals))
            yield from _rows(f"holder, viewer at 30 fps: {kind}", speeds)


def _rows(what: str, speeds: list[list[float]]) -> Iterator[Row]:
    if len(speeds) == 1:
        yield alone(what, speeds[0], "MB/s", note="tmux is not installed")
        return
    yield compared(what, speeds[0], "tmux, no client", speeds[1], unit="MB/s", at_least=1)
    yield compared(what, speeds[0], "tmux, control mode", speeds[2], unit="MB/s", at_least=3)


# ── a holder ────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _holder(ground: Ground) -> Iterator[Pourer]:
    pourer = Pourer.make(ground.folder, "holder")
    program = ground.program("pourer", f"#!/bin/sh\nexec {' '.join(pourer.command)}\n")
    repository = ground.small()
    # As important as the program in tmux.
    settings = paths.user_config()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[limits]\nnice = 0\n")
    fleet = WatchedFleet(repository, size=(streams.COLS, streams.ROWS))
    try:
        agent = fleet.create("pourer", profile=str(program))
        with open_session(agent, rate=30) as session:
            threading.Thread(target=_watch, args=(session,), daemon=True).start()
            yield pourer
            pourer.end()
    finally:
        ground.clear(repository)
        fleet.close()
        settings.unlink()


def _watch(session: Session) -> None:
    with contextlib.suppress(HolderGone, OSError, ValueError):
        for _ in session.messages(time.monotonic() + 3600):
            pass


# ── tmux ────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _tmux(ground: Ground, name: str, *, is_watched: bool = False) -> Iterator[Pourer]:
    """The same program in a separate tmux server with the scrollback of a holder."""
    pourer = Pourer.make(ground.folder, name)
    settings = ground.folder / "tmux.conf"
    settings.write_text("set -g history-limit 10000\nset -g status off\n")
    command = ["tmux", "-S", str(ground.folder / f"{name}.tmux"), "-f", str(settings)]
    size = ["-x", str(streams.COLS), "-y", str(streams.ROWS)]
    subprocess.run([*command, "new-session", "-d", *size, " ".join(pourer.command)], check=True)
    client = _control_client(command) if is_watched else None
    try:
        yield pourer
    finally:
        subprocess.run([*command, "kill-server"], check=False, capture_output=True)
        if client is not None:
            client.wait()


def _control_client(command: list[str]) -> subprocess.Popen[bytes]:
    client = subprocess.Popen(
        [*command, "-C", "attach"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    threading.Thread(target=_discard, args=(client,), daemon=True).start()
    return client


def _discard(client: subprocess.Popen[bytes]) -> None:
    if client.stdout is not None:
        while os.read(client.stdout.fileno(), 1 << 20):
            pass
