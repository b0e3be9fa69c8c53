"""Starts one process for each way to escape from a parent, and waits.

Appends "KIND PID" to the file named by its first argument. Each process runs until it is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path


def stay(kind: str) -> None:
    with Path(sys.argv[1]).open("a") as file:
        file.write(f"{kind} {os.getpid()}\n")
    while True:
        signal.pause()


def forked(do: Callable[[], None]) -> None:
    if os.fork() == 0:
        do()
        os._exit(0)


def own_group() -> None:
    os.setpgid(0, 0)
    stay("group")


def own_session() -> None:
    os.setsid()
    stay("setsid")


def immune() -> None:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    stay("nohup")


def double_forked() -> None:
    os.setsid()
    forked(lambda: stay("double"))


def main() -> None:
    for do in (lambda: stay("child"), own_group, own_session, immune, double_forked):
        forked(do)
    print("ready", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
