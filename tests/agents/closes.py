"""Closes its terminal and keeps running: on SIGUSR1 it appends a line to the file named by its first argument."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main() -> None:
    with Path(sys.argv[1]).open("a", buffering=1) as file:
        print("going", flush=True)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGUSR1, lambda *_: None)
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        while True:
            file.write("alive\n")
            signal.pause()


if __name__ == "__main__":
    main()
