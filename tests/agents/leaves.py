"""Prints a last line and exits with code 7; a child keeps the terminal open."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    if os.fork() == 0:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pause()
    print("last word", flush=True)
    sys.exit(7)


if __name__ == "__main__":
    main()
