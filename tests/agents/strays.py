"""Starts processes in sessions of their own with an empty environment, and waits.

Each argument after the first is a kind: "tty" keeps the terminal open, "silent" has no open files and does not use the
worktree, "inside" has the worktree as its folder. Appends "KIND PID" to the file named by the first argument.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def leave(kind: str) -> None:
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    if kind != "tty":
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
    if kind == "silent":
        os.chdir("/")
    with Path(sys.argv[1]).open("a") as file:
        file.write(f"{kind} {os.getpid()}\n")
    os.execve("/bin/sleep", ["sleep", "1000"], {})


def main() -> None:
    for kind in sys.argv[2:]:
        leave(kind)
    print("ready", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
