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
from tests.bench.workspace import Workspace
from tests.watched_fleet import WatchedFleet


@dataclass(frozen=True, slots=True)
class FilePrinter:
    """The program `print_file` in a terminal, and its pipes."""

    requests: Path
    answers: Path

    @classmethod
    def make(cls, folder: Path, name: str) -> FilePrinter:
        pipes = cls(folder / f"{name}.requests", folder / f"{name}.answers")
        for pipe in (pipes.requests, pipes.answers):
            os.mkfifo(pipe)
        return pipes

    @property
    def command(self) -> list[str]:
        return [
            sys.executable,
            str(Path(__file__).with_name("print_file.py")),
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


def measure(workspace: Workspace, *, quick: bool) -> Iterator[Row]:
    rounds, times = (2, 1) if quick else (5, 3)
    kinds = streams.write_all(workspace.folder / "streams")
    with contextlib.ExitStack() as stack:
        terminals = [stack.enter_context(_holder(workspace))]
        if shutil.which("tmux"):
            terminals.append(stack.enter_context(_tmux(workspace, "alone")))
            terminals.append(stack.enter_context(_tmux(workspace, "watched", is_watched=True)))
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
def _holder(workspace: Workspace) -> Iterator[FilePrinter]:
    printer = FilePrinter.make(workspace.folder, "holder")
    program = workspace.program("file-printer", f"#!/bin/sh\nexec {' '.join(printer.command)}\n")
    repository = workspace.small()
    # As important as the program in tmux.
    settings = paths.user_config()
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[limits]\nnice = 0\n")
    fleet = WatchedFleet(repository, size=(streams.COLS, streams.ROWS))
    try:
        agent = fleet.create("file-printer", profile=str(program))
        with open_session(agent, rate=30) as session:
            threading.Thread(target=_watch, args=(session,), daemon=True).start()
            yield printer
            printer.end()
    finally:
        workspace.clear(repository)
        fleet.close()
        settings.unlink()


def _watch(session: Session) -> None:
    with contextlib.suppress(HolderGone, OSError, ValueError):
        for _ in session.messages(time.monotonic() + 3600):
            pass


# ── tmux ────────────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def _tmux(workspace: Workspace, name: str, *, is_watched: bool = False) -> Iterator[FilePrinter]:
    """The same program in a separate tmux server with the scrollback of a holder."""
    printer = FilePrinter.make(workspace.folder, name)
    settings = workspace.folder / "tmux.conf"
    settings.write_text("set -g history-limit 10000\nset -g status off\n")
    command = ["tmux", "-S", str(workspace.folder / f"{name}.tmux"), "-f", str(settings)]
    size = ["-x", str(streams.COLS), "-y", str(streams.ROWS)]
    subprocess.run([*command, "new-session", "-d", *size, " ".join(printer.command)], check=True)
    client = _control_client(command) if is_watched else None
    try:
        yield printer
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
