"""Warm-up before holders are forked: run the screen server's code, so that they share what Python builds at first use.

Codecs are loaded and bytecode is specialized when code first runs. After the fork, each holder pays for that in memory
of its own.
"""

from __future__ import annotations

import os
import socket

from fleet_tui.holder.frames import Frames, Viewer
from fleet_tui.holder.run_spec import RunSpec
from fleet_tui.holder.server.loop import Server
from fleet_tui.terminal.emulator import Screen

TURNS = 20
"""Python specializes code that has run about eight times."""
OUTPUT = "\x1b[1mwarm \u4e16\x1b[0m\r\n".encode() * 8


def warm_up() -> None:
    """Run a screen server for a few turns, without a program, files or clients."""
    master, slave = os.openpty()
    ours, theirs = socket.socketpair()
    server = Server(RunSpec("", 0, os.devnull, os.devnull, "", (), "/", {}), master, theirs, restarted=False)
    try:
        server.start()
        for _ in range(TURNS):
            os.write(slave, OUTPUT)
            server.turn()
    finally:
        server.close()
        ours.close()
        os.close(slave)
        os.close(master)
    _warm_frames()


def _warm_frames() -> None:
    screen = Screen(20, 5)
    screen.feed(OUTPUT)
    list(Frames(screen).full(Viewer(kind="reader")))
    screen.history(0, 1)
    screen.close()
